"""The page of one of yarnspec's applications, from the records that `status` and `events` are made of."""

from __future__ import annotations

import time
from importlib.metadata import version

from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application.handle import Application
from yarnspec.observe.forms.records import UnreadableRecordError
from yarnspec.observe.page.page import Source, page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.options import different_options


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
    options = different_options(entry.options if entry is not None else {})
    source = Source(version=version("yarnspec"), notes=tuple(notes), options=options)
    return page(fold, document, int(time.time() * 1000), source=source)
