"""Map outputs of a driver that was killed, taken over by the executors of the next one: real JVMs, no YARN."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from integration.localshuffles import Shuffle
from integration.localspark import APPLICATION, HOSTS, Life, LocalSpark
from integration.programs.resumes import write_inputs

PROGRAM = str(Path(__file__).parents[1] / "programs" / "resumes.py")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the program reads."""
    directory = tmp_path_factory.mktemp("inputs") / "inputs"
    write_inputs(directory)
    return directory


@pytest.fixture
def application(tmp_path: Path) -> LocalSpark:
    """A local application; its hosts' directories are below its own."""
    return LocalSpark(tmp_path / "application")


@pytest.fixture(scope="module")
def undisturbed(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """How the program fares when nothing happens to it. It leaves nothing behind."""
    alone = LocalSpark(tmp_path_factory.mktemp("alone") / "application")
    life = alone.run(program(inputs))
    assert (life.exit_code, life.result != "", block_managers(alone)) == (0, True, [])
    return life


def shuffle_files(application: LocalSpark) -> list[Path]:
    return sorted(application.directory.glob("127.*/blockmgr-*/*/shuffle_*"))


def block_managers(application: LocalSpark) -> list[Path]:
    return sorted(application.directory.glob("127.*/blockmgr-*"))


def owner(directory: Path) -> dict[str, object]:
    record: dict[str, object] = json.loads((directory / "yarnspec-owner.json").read_text())
    return record


def program(inputs: Path) -> list[str]:
    return [PROGRAM, "lines", str(inputs)]


def after(maps: int) -> Callable[[int, dict[int, Shuffle]], bool]:
    """Kill the driver when it has told of so many finished maps."""
    return lambda frames, _shuffles: frames >= maps


def reported(life: Life, what: str) -> int:
    return sum(event[what] for event in life.of("outputs_reported"))


@pytest.mark.one_a_day("the next driver goes on")
def test_executors_keep_what_they_wrote_and_the_next_ones_take_it_over(
    application: LocalSpark, inputs: Path, undisturbed: Life
) -> None:
    killed = application.run(program(inputs), kill_when=after(5))
    assert killed.exit_code < 0
    assert {(owner(each)["application"], owner(each)["epoch"]) for each in block_managers(application)} == {
        (APPLICATION, 1)
    }
    assert len([each for each in shuffle_files(application) if each.suffix == ".index"]) >= 5

    resumed = application.run(program(inputs))
    assert resumed.result == undisturbed.result
    assert reported(resumed, "adopted") == 5 == resumed.restored
    assert reported(resumed, "bytes") > 0
    assert resumed.tasks == undisturbed.tasks - 5
    assert block_managers(application) == []


@pytest.mark.one_a_day("the next driver goes on")
def test_what_is_damaged_runs_again_and_nothing_else(application: LocalSpark, inputs: Path, undisturbed: Life) -> None:
    application.run(program(inputs), kill_when=after(6))
    (shuffle,) = application.shuffles.values()
    names = sorted(f"shuffle_{header['shuffle']}_{header['map_id']}_0" for header, _ in shuffle.maps.values())
    files = {each.name: each for each in shuffle_files(application)}
    flipped = files[f"{names[0]}.data"]
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    files[f"{names[1]}.data"].unlink()
    files[f"{names[2]}.index"].unlink()
    with files[f"{names[3]}.data"].open("r+b") as data:
        data.truncate(1)

    resumed = application.run(program(inputs))
    assert resumed.result == undisturbed.result
    refused: Counter[str] = Counter()
    for event in resumed.of("outputs_reported"):
        refused.update(event["refused"])
    assert refused == {"checksum differs": 1, "missing data": 1, "missing index": 1, "length differs": 1}
    assert resumed.restored == 2
    assert resumed.tasks == undisturbed.tasks - 2


@pytest.mark.soak
def test_a_driver_that_is_asked_to_end_deletes_nothing(
    application: LocalSpark, inputs: Path, undisturbed: Life
) -> None:
    application.run(program(inputs), kill_when=after(5), kill_by=signal.SIGTERM)
    resumed = application.run(program(inputs))
    assert resumed.result == undisturbed.result
    assert reported(resumed, "adopted") == 5 == resumed.restored
    assert block_managers(application) == []


@pytest.mark.soak
def test_what_no_journal_knows_is_deleted(application: LocalSpark, inputs: Path, undisturbed: Life) -> None:
    application.run(program(inputs), kill_when=after(5))
    (shuffle,) = application.shuffles.values()
    del shuffle.maps[min(shuffle.maps)]
    resumed = application.run(program(inputs))
    assert resumed.result == undisturbed.result
    assert reported(resumed, "garbage") >= 1
    assert reported(resumed, "adopted") == 4 == resumed.restored
    assert block_managers(application) == []


@pytest.mark.soak
def test_a_second_driver_that_dies_leaves_what_it_took_over_to_the_third(
    application: LocalSpark, inputs: Path, undisturbed: Life
) -> None:
    application.run(program(inputs), kill_when=after(3))
    second = application.run(program(inputs), kill_when=after(3))
    assert second.restored == 3
    third = application.run(program(inputs))
    assert third.result == undisturbed.result
    assert third.restored == 6
    assert third.tasks == undisturbed.tasks - 6
    assert block_managers(application) == []


@pytest.mark.soak
def test_executors_that_share_a_host_take_each_output_once(
    application: LocalSpark, inputs: Path, undisturbed: Life
) -> None:
    crowd = (HOSTS[0],) * 3
    application.run(program(inputs), hosts=crowd, kill_when=after(6))
    resumed = application.run(program(inputs), hosts=crowd)
    assert resumed.result == undisturbed.result
    assert reported(resumed, "adopted") == 6 == resumed.restored
    assert len(resumed.of("outputs_reported")) == len(crowd)
    assert block_managers(application) == []


# an executor that dies while the driver lives

LIVE = {"spark.yarnspec.recovery.live_adoption_ms": "60000", "spark.yarnspec.recovery.sweep_ms": "1000"}


@pytest.mark.soak
@pytest.mark.parametrize(("case", "frames"), [("rdd", 10), ("tables", 12), ("repartition", 9)])
def test_what_an_executor_had_finished_when_it_died_is_taken_over_and_does_not_run_again(
    case: str, frames: int, inputs: Path, tmp_path: Path
) -> None:
    """Without that it does; the result is the same. Tasks that ran at that moment may begin again in both."""
    arguments = [PROGRAM, case, str(inputs)]
    alone = LocalSpark(tmp_path / "alone", conf=LIVE).run(arguments)
    on = LocalSpark(tmp_path / "on", conf=LIVE).run(arguments, executor_dies=lambda done: done >= frames)
    off = LocalSpark(tmp_path / "off").run(arguments, executor_dies=lambda done: done >= frames)
    assert alone.result == on.result == off.result != ""
    (ended,) = on.of("live_adoption_ended")
    assert ended["adopted"] == ended["outputs"] > 0
    assert on.done_again == set()
    assert len(off.done_again) > 0
    print(f"{case}: {alone.tasks} tasks, {on.tasks} with a death, {off.tasks} where nothing is taken over")
    assert alone.tasks < on.tasks < off.tasks


@pytest.mark.soak
def test_what_nobody_takes_over_runs_again(inputs: Path, tmp_path: Path) -> None:
    alone = LocalSpark(tmp_path / "alone").run([PROGRAM, "rdd", str(inputs)])
    given_up = LocalSpark(tmp_path / "application", conf=LIVE).run(
        [PROGRAM, "rdd", str(inputs)], executor_dies=lambda frames: frames >= 10, replaced=False
    )
    assert given_up.result == alone.result
    (ended,) = given_up.of("live_adoption_ended")
    assert (ended["adopted"], ended["lost"]) == (0, ended["outputs"])
    assert len(given_up.done_again) > 0


@pytest.mark.soak
def test_an_executor_of_the_same_host_takes_over_what_another_one_had(inputs: Path, tmp_path: Path) -> None:
    life = LocalSpark(tmp_path / "application", conf=LIVE).run(
        [PROGRAM, "rdd", str(inputs)], hosts=(HOSTS[0],) * 3, executor_dies=lambda frames: frames >= 10
    )
    alone = LocalSpark(tmp_path / "alone").run([PROGRAM, "rdd", str(inputs)])
    assert life.result == alone.result
    (ended,) = life.of("live_adoption_ended")
    assert ended["adopted"] == ended["outputs"] > 0
    assert life.done_again == set()


@pytest.mark.soak
def test_what_was_taken_over_outlives_the_driver_too(inputs: Path, tmp_path: Path) -> None:
    application = LocalSpark(tmp_path / "application", conf=LIVE)
    arguments = [PROGRAM, "rdd", str(inputs)]
    first = application.run(
        arguments, executor_dies=lambda frames: frames >= 6, kill_when=lambda frames, _shuffles: frames >= 12
    )
    assert len(first.of("live_adoption_ended")) == 1
    second = application.run(arguments)
    assert second.restored == 12
    assert second.result == LocalSpark(tmp_path / "alone").run(arguments).result
