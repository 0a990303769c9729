"""Functions of the program's that do not give the same each time: the next driver mixes nothing, without YARN."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.local.test_resuming import any_on, whole
from integration.localshuffles import Shuffle
from integration.localspark import HOSTS, Life, LocalSpark
from integration.localwrites import Step
from integration.programs import impure


def command(case: str, directory: Path) -> list[str]:
    """Its command line."""
    (directory / "data").mkdir(exist_ok=True)
    return [impure.__file__, case, str(directory / "data")]


def second_stage_runs(_maps: int, shuffles: dict[int, Shuffle]) -> bool:
    """All maps of one shuffle are recorded, and some of the one above it; there are some on both hosts."""
    counts = {number: len(one.maps) for number, one in shuffles.items()}
    first, above = sorted(counts.values(), reverse=True)[:2] if len(counts) > 1 else (0, 0)
    return first == impure.PARTS and above >= 2 and any_on(HOSTS[1], shuffles)


def outcome(life: Life) -> object:
    """What the program said."""
    return json.loads(whole(life).result.removeprefix("RESULT "))


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize("case", ["salted", "salted_rows"])
def test_what_runs_again_is_not_mixed_with_what_was_made_of_its_former_records(case: str, directory: Path) -> None:
    """A host is lost with the driver, and with it a part of the first shuffle; the second one stands on all of it."""
    application = LocalSpark(directory / "killed")
    killed = application.run(command(case, directory), kill_when=second_stage_runs)
    assert killed.exit_code == -9
    second = application.run(command(case, directory), hosts=HOSTS[:1], gone=HOSTS[1:])
    assert outcome(second) == impure.ROWS
    first, *above = sorted(second.of("shuffle_restored"), key=lambda event: int(event["shuffle"]))
    assert 0 < first["restored"] < impure.PARTS
    assert sum(event["restored"] for event in above) == 0


@pytest.mark.parametrize("case", ["salted", "salted_rows"])
@pytest.mark.soak
def test_all_of_it_is_used_again_where_nothing_is_lost(case: str, directory: Path) -> None:
    application = LocalSpark(directory / "killed")
    application.run(command(case, directory), kill_when=second_stage_runs)
    second = application.run(command(case, directory))
    assert outcome(second) == impure.ROWS
    assert second.restored >= impure.PARTS + 2


@pytest.mark.soak
def test_what_spark_itself_has_undone_stays_undone(directory: Path) -> None:
    """An executor dies, its maps run again and give others; Spark notices, and so must the next driver."""
    application = LocalSpark(directory / "killed")
    again: list[int] = []

    def after_the_death(maps: int, shuffles: dict[int, Shuffle]) -> bool:
        if not second_stage_runs(maps, shuffles):
            return False
        again.append(maps)
        return maps > impure.PARTS + 6  # some maps have run again

    application.run(
        command("salted_rows", directory),
        kill_when=after_the_death,
        executor_dies=lambda maps: maps >= impure.PARTS + 3,
    )
    assert outcome(application.run(command("salted_rows", directory))) == impure.ROWS


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize("case", ["counted", "counted_together"])
def test_nothing_is_mixed_with_what_ran_again_before_it_was_asked_for(case: str, directory: Path) -> None:
    """All of the first shuffle is back, then an executor dies; the second one stands on the former records."""
    application = LocalSpark(directory / "killed")
    killed = application.run(command(case, directory), kill_when=second_stage_runs)
    assert killed.exit_code == -9
    second = application.run(command(case, directory), executor_dies=lambda _frames: True)
    assert outcome(second) == impure.ROWS
    first, above = sorted(second.of("shuffle_restored"), key=lambda event: int(event["shuffle"]))
    assert (first["restored"], above["restored"]) == (impure.PARTS, 0)
    assert "run again in this epoch" in str(above["not_restored"])


@pytest.mark.one_a_day("nothing is mixed")
def test_what_came_back_and_waits_goes_when_what_it_was_made_of_changes(directory: Path) -> None:
    """An executor dies while a stage that came back in part waits for another one, and maps below it give other rows.

    Spark runs again what it has run above such maps. What came back of a stage that has not run it does not look for.
    """
    application = LocalSpark(directory / "killed")

    def some_of_the_last(_maps: int, shuffles: dict[int, Shuffle]) -> bool:
        *below, last = (shuffles[number].maps for number in sorted(shuffles))
        whole_below = [len(maps) for maps in below] == [impure.PARTS, 5 * impure.PARTS]
        return whole_below and any(header["host"] == HOSTS[1] for header, _ in last.values())

    killed = application.run(command("united_rows", directory), kill_when=some_of_the_last)
    assert killed.exit_code == -9
    salted, other, last = (application.shuffles[number] for number in sorted(application.shuffles))
    assert any(header["host"] == HOSTS[0] for header, _ in salted.maps.values())
    other.maps.clear()  # as if its last second had not been written yet
    kept = len(last.maps)
    restored: list[int] = []

    def all_is_back(frames: int) -> bool:
        restored.append(frames)
        return len(restored) == 2

    second = application.run(command("united_rows", directory), executor_dies=all_is_back)
    assert outcome(second) == 2 * impure.ROWS
    assert [event["restored"] for event in second.of("shuffle_restored")] == [impure.PARTS, kept]
    assert "ran again and gave other rows" in second.log.read_text()


SECOND_HALF: tuple[str, int, Step] = ("write_committing", 2, "asked")


@pytest.mark.soak
@pytest.mark.parametrize("case", ["split", "split_above"])
def test_what_was_written_goes_with_what_is_still_to_be_written(case: str, directory: Path) -> None:
    application = LocalSpark(directory / "killed")
    killed = application.run(command(case, directory), kill_at=SECOND_HALF)
    assert killed.exit_code == -9
    second = application.run(command(case, directory))
    assert second.skipped == 1
    assert outcome(second) == [impure.ROWS, impure.ROWS]


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize(
    ("case", "repeatable"),
    [
        ("split_cached", False),
        ("split_above", False),
        ("split", False),
        ("split", True),
    ],
)
def test_what_cannot_go_with_what_was_written_is_not_written(case: str, repeatable: bool, directory: Path) -> None:
    """A host is lost with the driver: the second half would be drawn again, and the first one is there."""
    conf = {"spark.yarnspec.recovery.repeatable": str(repeatable).lower()}
    application = LocalSpark(directory / "killed", conf=conf)
    killed = application.run(command(case, directory), kill_at=SECOND_HALF)
    assert killed.exit_code == -9
    second = application.run(command(case, directory), hosts=HOSTS[:1], gone=HOSTS[1:])
    assert second.skipped == 1
    said = second.log.read_text()
    if repeatable:
        assert outcome(second)
    else:
        assert second.exit_code == 1
        assert "half-0 was written by an earlier driver epoch and is kept" in said
        assert not (directory / "data" / "half-1" / "_SUCCESS").exists()


@pytest.mark.soak
def test_a_half_that_was_written_is_not_taken_for_that_of_another_draw(directory: Path) -> None:
    """The next driver leaves out the first day: its first draw is that day's, and one half of the other is there."""
    application = LocalSpark(directory / "killed")
    killed = application.run(command("looped", directory), kill_at=("write_committing", 4, "asked"))
    assert killed.exit_code == -9
    second = application.run(command("looped", directory))
    assert (second.skipped, second.exit_code) == (0, 1)
    assert "half-0 is in the way" in second.log.read_text()
    assert not (directory / "data" / "b" / "half-1" / "_SUCCESS").exists()


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize(
    ("case", "killed_in", "fails"),
    [
        ("remodeled", 2, False),  # The next driver leaves out the first output, and makes none of its shuffles.
        ("sunk", 2, False),
        ("remodeled", 2, True),
        ("remodeled", 1, True),  # The first output does not fail under the next driver.
        ("remodeled_records", 1, True),
        ("sunk_records", 1, True),
    ],
)
def test_what_looks_the_same_for_another_output_is_another(
    case: str, killed_in: int, fails: bool, directory: Path
) -> None:
    """The driver is killed while the output of that number is made, each of two maps: none must have another's rows.

    Where the first output ``fails`` it is tried again.
    """
    application = LocalSpark(directory / "killed")
    line = command(case, directory)
    if fails:
        (directory / "data" / impure.FAIL).touch()
    killed = application.run(line, kill_when=lambda maps, _shuffles: maps >= 2 * killed_in - 1)
    assert killed.exit_code == -9
    assert sum(bool(one.maps) for one in application.shuffles.values()) == killed_in
    assert outcome(application.run(line)) == [day for day in impure.DAYS for _ in range(2)]


OTHERS = ("files", "written", "rows", "adaptive")


@pytest.mark.one_a_day("nothing is mixed")
@pytest.mark.parametrize("case", ["days", *OTHERS])
def test_what_looks_the_same_for_another_day_is_another(case: str, directory: Path) -> None:
    """The next driver leaves out the days that are there, so that its first shuffle is the last one's third."""
    application = LocalSpark(directory / "killed")
    killed = application.run(command(case, directory), kill_when=lambda maps, _shuffles: maps >= 10)
    assert killed.exit_code == -9
    second = application.run(command(case, directory))
    assert outcome(second) == {day: [day] for day in impure.DAYS}
    assert second.restored > 0


@pytest.mark.soak
def test_an_append_for_another_day_is_not_taken_for_one_that_is_there(directory: Path) -> None:
    """Nobody knows whether its rows are there: the program ends and says so, and does not leave them out in silence."""
    application = LocalSpark(directory / "killed")
    killed = application.run(command("appended", directory), kill_when=lambda maps, _shuffles: maps >= 5)
    assert killed.exit_code == -9
    second = application.run(command("appended", directory))
    assert second.skipped == 0
    assert second.exit_code != 0
    assert "the program adds to" in second.stopped
