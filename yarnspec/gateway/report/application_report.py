"""The page of one of yarnspec's applications, from the records that `status` and `events` are made of."""

from __future__ import annotations

import time
from importlib.metadata import version

import msgspec

from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.records import UnreadableRecordError
from yarnspec.observe.log.history import ApplicationRecord
from yarnspec.observe.page.page import Source, page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.options import Options


def application_report(application: Application) -> str:
    """The page of a running or ended application, complete in itself.

    Raises:
        NotFound: neither YARN nor the history knows it.
        ClusterUnreachable: they do not answer.
    """
    fold, notes = PageFold(), []
    try:
        for record in application.events():
            fold.apply(record)
    except (ClusterUnreachable, UnreadableRecordError) as error:
        said = error.message if isinstance(error, ClusterUnreachable) else str(error)
        notes.append(f"Not all records can be read, and what they tell is missing here: {said}")
    document = application.status()
    if not fold.records:
        notes.append("There are no records of it: the page shows what YARN alone says.")
    entry = application.cluster.history.application(application.id)
    source = Source(version=version("yarnspec"), notes=tuple(notes), options=different_options(entry))
    return page(fold, document, int(time.time() * 1000), source=source)


def different_options(entry: ApplicationRecord | None) -> tuple[tuple[str, str], ...]:
    """The options with which an application runs that are not the defaults, under their names."""
    if entry is None:
        return ()
    usual = msgspec.to_builtins(Options())
    return tuple(
        (f"{group}.{name}", str(value))
        for group, values in entry.options.items()
        for name, value in values.items()
        if usual.get(group, {}).get(name) != value
    )
