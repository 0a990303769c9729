"""A program that by itself puts its output in the place of its input dies: no life applies the change once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.local.test_writes import begin, program, result
from integration.localwrites import Step

AFTER_THE_SWAP: tuple[str, int, Step] = ("write_committing", 2, "asked")


def visible(data: Path) -> dict[Path, bytes]:
    """All files that are not a write's that is under way."""
    files = (path for path in data.rglob("*") if path.is_file() and "_temporary" not in path.parts)
    return {path: path.read_bytes() for path in files}


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize("case", ["swapped", "swapped-lines", "swapped-files", "swapped-file"])
def test_it_is_stopped_before_it_reads_what_it_has_put_there(case: str, directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program(case, data), kill_at=AFTER_THE_SWAP)
    assert first.exit_code == -9
    assert not (data / "next").exists()
    before = visible(data)
    second = application.run(program(case, data))
    assert "has put what it had computed from that" in second.stopped
    assert visible(data) == before


@pytest.mark.one_a_day("nothing is mixed")
def test_so_it_is_when_the_journal_does_not_have_that_it_was_committed(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("swapped", data), kill_at=AFTER_THE_SWAP, lost_from=("write_finished", 1))
    assert first.exit_code == -9
    assert not (data / "next").exists()
    before = visible(data)
    second = application.run(program("swapped", data))
    assert [event["outcome"] for event in second.of("write_resolved")] == ["undone"]
    assert "has put what it had computed from that" in second.stopped
    assert visible(data) == before


@pytest.mark.one_a_day("nothing is mixed")
def test_so_is_the_third_life_when_the_journal_does_not_have_that_the_second_one_found_it_committed(
    directory: Path,
) -> None:
    application, data = begin(directory)
    assert application.run(program("swapped", data), kill_at=("write_finished", 1, "asked")).exit_code == -9
    after_the_swap: tuple[str, int, Step] = ("write_committing", 1, "asked")
    second = application.run(program("swapped", data), kill_at=after_the_swap, lost_from=("write_resolved", 1))
    assert (second.exit_code, second.skipped) == (-9, 1)
    before = visible(data)
    third = application.run(program("swapped", data))
    assert "has put what it had computed from that" in third.stopped
    assert visible(data) == before


@pytest.mark.one_a_day("nothing is mixed")
def test_so_is_the_third_life_where_the_second_one_took_over_a_shuffle_and_ran_no_stage_that_reads(
    directory: Path,
) -> None:
    application, data = begin(directory)
    first = application.run(program("swapped-lines", data), kill_at=("write_committing", 1, "asked"))
    assert first.exit_code == -9
    second = application.run(program("swapped-lines", data), kill_at=AFTER_THE_SWAP)
    assert (second.exit_code, second.restored > 0) == (-9, True)
    before = visible(data)
    third = application.run(program("swapped-lines", data))
    assert "has put what it had computed from that" in third.stopped
    assert visible(data) == before


@pytest.mark.one_a_day("nothing is mixed")
def test_so_is_the_third_life_where_the_second_one_did_not_do_the_write_again_that_reads(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("swapped-later", data), kill_at=("write_finished", 1, "recorded"))
    assert first.exit_code == -9
    second = application.run(program("swapped-later", data), kill_at=AFTER_THE_SWAP)
    assert (second.exit_code, second.skipped) == (-9, 1)
    before = visible(data / "text")
    third = application.run(program("swapped-later", data))
    assert "has put what it had computed from that" in third.stopped
    assert visible(data / "text") == before


@pytest.mark.soak
def test_what_was_not_shown_yet_is_written_again_and_put_there(directory: Path) -> None:
    whole, whole_data = begin(directory, "whole")
    application, data = begin(directory)
    first = application.run(program("swapped", data), kill_at=("write_committing", 1, "recorded"))
    assert first.exit_code == -9
    second = application.run(program("swapped", data))
    assert [event["outcome"] for event in second.of("write_resolved")] == ["undone"]
    assert result(second) == result(whole.run(program("swapped", whole_data)))


@pytest.mark.soak
def test_what_was_not_put_in_its_place_yet_is_put_there(directory: Path) -> None:
    whole, whole_data = begin(directory, "whole")
    application, data = begin(directory)
    first = application.run(program("swapped", data), kill_at=("write_finished", 1, "recorded"))
    assert first.exit_code == -9
    assert (data / "next").exists()
    second = application.run(program("swapped", data))
    assert second.skipped == 1
    assert result(second) == result(whole.run(program("swapped", whole_data)))


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize(
    ("case", "kill_at", "way"),
    [
        ("published", ("write_finished", 2, "recorded"), "next"),
        ("rotated", ("write_committing", 3, "asked"), "current"),
    ],
)
def test_what_is_saved_is_not_taken_for_what_was_saved_there_before(
    case: str, kill_at: tuple[str, int, Step], way: str, directory: Path
) -> None:
    """The files of both have the same names and lengths."""
    application, data = begin(directory)
    first = application.run(program(case, data), kill_at=kill_at)
    assert first.exit_code == -9
    before = visible(data)
    second = application.run(program(case, data))
    assert f"{way} is in the way" in second.log.read_text()
    assert (second.exit_code, second.skipped) == (1, 0)
    assert visible(data) == before
