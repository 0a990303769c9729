"""Which pages are rendered, and from what."""

from __future__ import annotations

from collections.abc import Callable

from yarnspec.reference import events, journal, metrics, options, spark_submit

PAGES: dict[str, Callable[[], str]] = {
    "conf/yarnspec.yaml": options.yaml_text,
    "docs/options.md": options.page_text,
    "docs/events.md": events.page_text,
    "docs/internals/speculation.md": metrics.page_text,
    "docs/journal-format.md": journal.page_text,
    "docs/spark-submit.md": spark_submit.page_text,
}
