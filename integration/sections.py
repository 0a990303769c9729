"""What the sections of a page tell, and whether a later page of the same application tells all of it still."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

import html5lib

SECTIONS = (
    "words", "timeline", "hosts", "stages", "attempts", "copies", "recovery", "executors", "resources", "events",
)  # fmt: skip
_NEW_AT_THE_END = ("Warning: ", "The page no longer has ")


def differences(last_live: str, report: str) -> list[str]:
    """What the last live page told and the report does not, section by section.

    Nothing ran when the live page was drawn. What the end itself changes is not compared: who runs, what is blocked,
    and what the decisions about copies come to.
    """
    live, told = _sections(last_live), _sections(report)
    found = [f"there is no section {name}" for name in SECTIONS if name not in live or name not in told]
    if found:
        return found
    for name in SECTIONS:
        before, after = _LASTING[name](live[name]), _LASTING[name](told[name])
        # The list of events has the newest first, and so many at most.
        if name == "events" and before and before[0] in after:
            after = after[after.index(before[0]) :]
            before = before[: len(after)]
        found += [f"{name}: {one}" for one in before if one not in after]
        if name in ("stages", "attempts", "copies"):
            found += [f"{name}, in the report only: {one}" for one in after if one not in before]
    return found


def _sections(page: str) -> dict[str, Element]:
    root = html5lib.parse(page, namespaceHTMLElements=False)
    return {one.get("id", ""): one for one in root.iter("section")}


def _text(one: Element) -> str:
    return " ".join("".join(one.itertext()).split())


def _rows(section: Element, *columns: int) -> list[str]:
    """The rows of its tables, of those that have so many columns: some of their cells."""
    found = []
    for row in section.iter("tr"):
        cells = [_text(one) for one in row if one.tag in ("td", "th")]
        if row.find("td") is not None and len(cells) > max(columns):
            found.append(" | ".join(cells[column] for column in columns))
    return found


def _items(section: Element, kind: str) -> list[str]:
    """The items of its lists of a kind, without the time since the beginning, which YARN knows better after the end."""
    for time in section.iter("time"):
        for since in time.findall("small"):
            time.remove(since)
    lists = [one for tag in ("ul", "ol") for one in section.iter(tag) if kind in (one.get("class") or "").split()]
    return [_text(item) for one in lists for item in one.iter("li")]


def _titles(section: Element) -> list[str]:
    """What its rectangles of task attempts say."""
    titles = [_text(one) for one in section.iter() if one.tag.rpartition("}")[2] == "title"]
    return [one for one in titles if one.startswith("task ")]


def _task_texts(section: Element) -> list[str]:
    return [_text(one) for one in section.iter("div") if one.get("class") == "task"]


def _notes(section: Element) -> list[str]:
    return [one for one in _items(section, "notes") if not one.startswith(_NEW_AT_THE_END)]


_LASTING: dict[str, Callable[[Element], list[str]]] = {
    "words": _notes,
    "timeline": lambda one: [*_titles(one), *_items(one, "moments")],
    # Host, done, failed, ended early, lost with the driver, copied away.
    "hosts": lambda one: _rows(one, 0, 6, 7, 8, 9, 10),
    # Stage, tasks, failed, took, median, 95 %, longest, slow now, copies, gained and wasted.
    "stages": lambda one: _rows(one, 0, 1, 2, 3, 4, 5, 6, 9, 10, 11),
    "attempts": _task_texts,
    # Task, original, copy, first.
    "copies": lambda one: _rows(one, 0, 1, 2, 3),
    "recovery": lambda one: _items(one, "moments"),
    # The deaths: at, who, host, ran, exit code, why.
    "executors": lambda one: _rows(one, 0, 1, 2, 3, 4, 5),
    # The containers: id, what, host, attempt, allocated, started.
    "resources": lambda one: _rows(one, 0, 1, 2, 3, 4, 5),
    "events": lambda one: _rows(one, 0, 1, 2, 3),
}
"""Of each section what the end of the application leaves as it was."""
