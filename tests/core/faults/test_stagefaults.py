"""What the failures of a stage's tasks say of the hosts on which they happened."""

from __future__ import annotations

from collections import Counter

from yarnspec.core.faults.stagefaults import StageFaults


def test_only_what_failed_on_one_host_and_ended_well_on_another_is_proof() -> None:
    faults = StageFaults()
    for index in range(4):
        faults.failed(index, "a", "1")
    faults.failed(1, "b", "2")
    assert faults.ended_well(0, "b", "2") == ("a",)
    assert faults.ended_well(1, "c", "3") == ("a", "b")
    assert faults.ended_well(2, "a", "1") == ("a",)
    assert faults.ended_well(9, "a", "1") == ()
    against_a, against_b = (faults.against(host, several=False) for host in "ab")
    assert (against_a.proven, against_a.waiting, against_a.shared, against_a.others) == ({0}, {3}, 1, 1)
    assert (against_b.proven, against_b.waiting, against_b.shared, against_b.others) == (set(), set(), 1, 4)
    assert (faults.waiting("a"), faults.waiting("c")) == (1, 0)
    assert faults.by_host() == Counter(a=4, b=1)


def test_of_several_executors_on_a_host_the_only_one_in_which_tasks_failed_is_meant() -> None:
    faults = StageFaults()
    faults.failed(0, "a", "1")
    faults.ended_well(0, "a", "2")
    found = faults.against("a", several=True)
    assert (found.executor_id, found.proven) == ("1", {0})
    # Of the host nothing is proven by that.
    assert faults.against("a", several=False).proven == set()
    faults.failed(1, "a", "2")
    assert faults.against("a", several=True).executor_id == ""
    assert faults.by_executor() == Counter({"1": 1, "2": 1})


def test_what_failed_on_a_host_that_somebody_vouches_for_speaks_for_nothing_any_more() -> None:
    faults = StageFaults()
    for index in (0, 1):
        faults.failed(index, "a", "1")
    for index in (1, 2):
        faults.failed(index, "b", "2")
        faults.ended_well(index, "c", "3")
    faults.forget("a")
    assert faults.against("a", several=False)[1:] == (set(), set(), 0, 2)
    assert faults.against("b", several=False)[1:] == ({1, 2}, set(), 0, 0)
