"""Finds the queue that a submission goes to, by the rules of the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yarnspec.errors import NotFound
from yarnspec.yarn.rm.rm_reports import Queue

_ROOT = "root"
_DEFAULT = "default"


def find_queue(queues: Sequence[Queue], name: str, *, below_root: bool) -> Queue:
    """The leaf queue that ``name`` means. NotFound names the queues there are.

    ``below_root``: a name is a path below the root, as for the fair scheduler. For the capacity scheduler it is a whole
    path, or the last part of one.

    A scheduler may create a queue for the submission, and its placement rules may say what ``default`` means. So YARN
    decides about names that may be right though no queue has them; the ``note`` of such a queue says so.
    """
    path = name if not below_root or name.partition(".")[0] == _ROOT else f"{_ROOT}.{name}"
    matching = [item for item in queues if path == item.path or (name == item.name and not below_root)]
    for item in matching:
        if item.leaf:
            return item
    leaves = ", ".join(item.path for item in queues if item.leaf) or "none"
    if matching:
        raise NotFound(f"Queue {name!r} has child queues: submit to one of {leaves}.")
    said = f"There is no queue {name!r}"
    parent = _may_create(queues, path, below_root=below_root) if all(path.split(".")) else None
    if parent is not None or name == _DEFAULT:
        decides = "YARN creates it, goes by its placement rules, or refuses the application"
        return Queue(
            name=path.rpartition(".")[2],
            path=path,
            leaf=True,
            state="RUNNING",
            default_label=parent.default_label if parent is not None else "",
            note=f"{said}: {decides}. The cluster's queues: {leaves}",
        )
    raise NotFound(f"{said}. The cluster's queues: {leaves}.")


def _may_create(queues: Sequence[Queue], path: str, *, below_root: bool) -> Queue | None:
    """The nearest ancestor, if it may create the queue.

    Where the scheduler does not say so, any parent may. Only the root of the capacity scheduler may not: a name below
    it is a mistake more often.
    """
    nearest = (item for ancestor in _ancestors(path) for item in queues if ancestor in {item.path, item.name})
    found = next(nearest, None)
    if found is None or (found.leaf and not found.creates):
        return None
    may = found.creates if found.creates is not None else below_root or found.path != _ROOT
    return found if may else None


def _ancestors(path: str) -> Iterator[str]:
    """From the nearest one up."""
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
