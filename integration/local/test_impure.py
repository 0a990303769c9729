"""Functions of the program's that do not give the same each time: the next driver mixes nothing, without YARN."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from integration.local.test_resuming import any_on, whole
from integration.localshuffles import Shuffle
from integration.localspark import HOSTS, Life, LocalSpark
from integration.programs import impure


def command(case: str, directory: Path) -> list[str]:
    """Its command line."""
    (directory / "data").mkdir(exist_ok=True)
    return [impure.__file__, case, str(directory / "data")]


def second_stage_runs(_maps: int, shuffles: dict[int, Shuffle]) -> bool:
    """All maps of one shuffle are recorded, and some of the one above it; there are some on both hosts."""
    counts = {number: len(one.maps) for number, one in shuffles.items()}
    return impure.PARTS in counts.values() and sorted(counts.values())[0] >= 2 and any_on(HOSTS[1], shuffles)


def outcome(life: Life) -> object:
    """What the program said."""
    return json.loads(whole(life).result.removeprefix("RESULT "))


@pytest.mark.parametrize("case", ["salted", pytest.param("salted_rows", marks=pytest.mark.soak)])
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


OTHERS = [pytest.param(one, marks=pytest.mark.soak) for one in ("files", "written", "adaptive")]


@pytest.mark.parametrize("case", ["days", *OTHERS])
def test_what_looks_the_same_for_another_day_is_another(case: str, directory: Path) -> None:
    """The next life leaves out the days that are there, so that its first shuffle is the last one's third."""
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
