"""The results stay readable after an interruption, and the page says what they say."""

from __future__ import annotations

from pathlib import Path

import msgspec

from integration.soak.faults import Done
from integration.soak.table import PROSE, Run, append, last, markdown, read

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "soak.md"
FAULTS = [
    Done(kind="kill executor", due_s=3.0, at_s=3.4, target="127.0.0.4 (01_000002)"),
    Done(kind="kill AM", due_s=9.0, at_s=40.0, note="the application had ended"),
]
GOOD = Run(
    seed=7, program="shuffles", mode="blacklist", excluded=None, faults=FAULTS, application="application_1_0001",
    attempts=1, outcome="SUCCEEDED", exit_code=0, seconds=41.2, violations=[], day="2026-01-01", commit="abc",
)  # fmt: skip
BAD = msgspec.structs.replace(GOOD, seed=3, outcome="RUNNING", exit_code=None, violations=["did not | end"])


def test_the_last_result_of_a_seed_counts_and_a_torn_line_does_not(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    append(results, msgspec.structs.replace(BAD, seed=7))
    append(results, GOOD)
    with results.open("ab") as stream:
        stream.write(b'{"seed": 9, "pro')
    assert last(read(results)) == {7: GOOD}
    append(results, BAD)
    assert list(last(read(results))) == [3, 7]


def test_nothing_yet(tmp_path: Path) -> None:
    assert read(tmp_path / "results.jsonl") == []


def test_the_page_shows_every_run_and_what_did_not_hold() -> None:
    page = markdown([BAD, GOOD])
    assert "**2 runs, 1 passed, 1 failed**" in page
    assert "| 7 | shuffles | blacklist | 3.4 kill executor 127.0.0.4 (01_000002); [40.0 kill AM] | 1 |" in page
    assert "| SUCCEEDED (0) | 41 | yes |" in page
    assert "| RUNNING | 41 | **no** |" in page
    assert "* seed 3: did not \\| end" in page
    assert "before a change" not in page


def test_a_failure_before_a_good_run_stays_on_the_page() -> None:
    page = markdown([BAD, msgspec.structs.replace(GOOD, seed=3)])
    assert "**1 runs, 1 passed, 0 failed**" in page
    assert page.index("before a change") < page.index("* seed 3: did not \\| end")


def test_the_page_begins_with_the_prose_that_the_next_run_writes() -> None:
    assert PAGE.read_text().startswith(PROSE)
