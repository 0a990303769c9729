"""The process that writes the page of an application into its history when it ends; its order is on standard input."""

from __future__ import annotations

import sys

import msgspec

from yarnspec.livepage.page_follower import Follower
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http.page_order import PageOrder
from yarnspec.observe.log.history import History
from yarnspec.yarn.files.cluster_files import open_files, path_of
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf


class Ended:
    """The negotiator's last answer."""

    def __init__(self, document: StatusDocument) -> None:
        self._document = document

    def status(self) -> StatusDocument:
        """The last status."""
        return self._document


def write_report(order: PageOrder, history: History) -> None:
    """Draw what has happened, and write it."""
    assert order.last is not None  # noqa: S101 - it is what is drawn
    first = order.first_epoch

    follower = Follower(
        order,
        Ended(order.last),
        lambda: history.all_events(order.application_id, before=first) if first > 1 else iter(()),
    )
    history.write_report(order.application_id, follower.page().encode())


def main() -> None:
    """Entry point."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=PageOrder)
    write_report(order, History(open_files(HadoopConf.read()), path_of(order.history_directory)))


if __name__ == "__main__":
    main()
