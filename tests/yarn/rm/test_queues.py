"""Which queue a name means, by the scheduler's rules, and which names are left to YARN."""

from __future__ import annotations

import msgspec
import pytest

from yarnspec.errors import NotFound
from yarnspec.yarn.rm.queues import find_queue
from yarnspec.yarn.rm.rm_reports import Queue

LEAVES = ("root.etl", "root.users.ada")
QUEUES = tuple(
    Queue(name=path.rpartition(".")[2], path=path, leaf=path in LEAVES, state="RUNNING")
    for path in ("root", "root.users", *LEAVES)
)


@pytest.mark.parametrize(
    ("below_root", "name", "path"),
    [
        (False, "etl", "root.etl"),
        (False, "ada", "root.users.ada"),
        (False, "root.users.ada", "root.users.ada"),
        (True, "etl", "root.etl"),
        (True, "users.ada", "root.users.ada"),
        (True, "root.users.ada", "root.users.ada"),
    ],
)
def test_a_queue_that_is_there(below_root: bool, name: str, path: str) -> None:
    found = find_queue(QUEUES, name, below_root=below_root)
    assert (found.path, found.note) == (path, "")


@pytest.mark.parametrize(
    ("below_root", "name", "path"),
    [
        (False, "default", "default"),
        (False, "root.users.bob", "root.users.bob"),
        (False, "users.bob", "users.bob"),
        (False, "root.users.bob.dev", "root.users.bob.dev"),
        (True, "default", "root.default"),
        (True, "bob", "root.bob"),
        (True, "ada", "root.ada"),
        (True, "users.bob.dev", "root.users.bob.dev"),
    ],
)
def test_a_queue_that_the_scheduler_may_create_or_choose_is_left_to_yarn(
    below_root: bool, name: str, path: str
) -> None:
    found = find_queue(QUEUES, name, below_root=below_root)
    assert (found.path, found.leaf) == (path, True)
    assert f"There is no queue {name!r}" in found.note
    assert "root.etl, root.users.ada" in found.note


@pytest.mark.parametrize(
    ("below_root", "name"),
    [
        (False, "bob"),
        (False, "root.elt"),
        (False, "root.etl.bob"),
        (False, "root.users."),
        (True, "etl.bob"),
        (True, ".users"),
    ],
)
def test_a_name_that_can_be_no_queue_is_an_error_that_names_the_queues(below_root: bool, name: str) -> None:
    with pytest.raises(NotFound, match=r"no queue .*root\.etl, root\.users\.ada"):
        find_queue(QUEUES, name, below_root=below_root)


@pytest.mark.parametrize(("below_root", "name"), [(False, "users"), (False, "root"), (True, "root"), (True, "users")])
def test_a_queue_with_children_takes_no_application(below_root: bool, name: str) -> None:
    with pytest.raises(NotFound, match="has child queues"):
        find_queue(QUEUES, name, below_root=below_root)


@pytest.mark.parametrize("parent", ["root", "root.users"])
def test_where_the_scheduler_says_which_queues_create_others_that_counts(parent: str) -> None:
    told = [
        msgspec.structs.replace(queue, creates=queue.path == parent, default_label=f"label of {queue.path}")
        for queue in QUEUES
    ]
    found = find_queue(told, f"{parent}.bob", below_root=False)
    assert (found.path, found.default_label) == (f"{parent}.bob", f"label of {parent}")
    other = "root.users.bob" if parent == "root" else "root.bob"
    with pytest.raises(NotFound, match="no queue"):
        find_queue(told, other, below_root=False)
