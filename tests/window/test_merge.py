from __future__ import annotations

from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.window.merge import merged

runs = st.lists(st.lists(st.integers(0, 5), max_size=40), max_size=6)


@pytest.mark.parametrize("reverse", [False, True])
@given(runs=runs, block=st.integers(1, 5))
def test_runs_become_one_and_equals_keep_the_order_of_the_runs(
    reverse: bool, runs: list[list[int]], block: int
) -> None:
    numbered = [[(key, place, number) for number, key in enumerate(run)] for place, run in enumerate(runs)]
    in_order = [sorted(run, key=itemgetter(0), reverse=reverse) for run in numbered]
    blocks = [iter([run[at : at + block] for at in range(0, len(run), block)]) for run in in_order]
    lists = list(merged(blocks, itemgetter(0), reverse=reverse))
    assert all(lists)
    everything = [record for run in in_order for record in run]
    assert [record for one in lists for record in one] == sorted(everything, key=itemgetter(0), reverse=reverse)


def test_a_block_is_read_when_the_one_before_it_is_used_up() -> None:
    read = []

    def run(name: str, *blocks: list[int]):  # type: ignore[no-untyped-def]
        for block in blocks:
            read.append((name, block[0]))
            yield block

    lists = merged([run("a", [1, 2], [3, 9]), run("b", [5, 6], [7, 8])], lambda record: record, reverse=False)
    assert next(lists) == [1, 2]
    assert read == [("a", 1), ("b", 5)]
    assert next(lists) == [3, 5, 6]
    assert list(lists) == [[7, 8], [9]]


@given(runs=runs, block=st.integers(1, 5))
def test_it_ends_also_where_a_run_is_in_no_order(runs: list[list[int]], block: int) -> None:
    blocks = [iter([run[at : at + block] for at in range(0, len(run), block)]) for run in runs]
    lists = list(merged(blocks, lambda record: record, reverse=False))
    assert sorted(record for one in lists for record in one) == sorted(record for run in runs for record in run)
