"""The page of one of yarnspec's applications, from the records that `status` and `events` are made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.metadata import version

from yarnspec.errors import ClusterUnreachable
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record, UnreadableRecordError
from yarnspec.observe.log.history import ApplicationRecord
from yarnspec.observe.page.page import Source, page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.options import different_options


def application_report(
    records: Iterator[Record], status: Callable[[], StatusDocument], entry: ApplicationRecord | None
) -> str:
    """The page of a running or ended application, complete in itself. ``status`` is asked after the last record."""
    fold, notes = PageFold(), []
    try:
        for record in records:
            fold.apply(record)
    except (ClusterUnreachable, UnreadableRecordError) as error:
        said = error.message if isinstance(error, ClusterUnreachable) else str(error)
        notes.append(f"Not all records can be read, and what they tell is missing here: {said}")
    document = status()
    if not fold.records:
        notes.append("There are no records of it: the page shows what YARN alone says.")
    options = different_options(entry.options if entry is not None else {})
    source = Source(version=version("yarnspec"), notes=tuple(notes), options=options)
    return page(fold, document, int(time.time() * 1000), source=source)
