"""A driver is killed in the middle of each kind of program, and the next one goes on: on this machine, without YARN.

What is asserted each time: the result is that of an undisturbed run, and the second driver launches exactly the tasks
that the first one's recorded maps do not spare.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from integration.localshuffles import Shuffle
from integration.localspark import HOSTS, Life, LocalSpark
from integration.programs import keeps, resumes, writes

CASES = {
    # the program, adaptive execution, how many maps are recorded when the driver is killed
    "rdd": ("rdd", "true", 10),
    "lines": ("lines", "true", 5),
    "tables": ("tables", "true", 14),
    "tables-not-adaptive": ("tables", "false", 14),
    "udf": ("udf", "true", 9),
    "repartition": ("repartition", "true", 9),
    "order": ("order", "true", 9),
    "order-not-adaptive": ("order", "false", 9),
    "subquery": ("subquery", "true", 9),
    "few": ("few", "true", 10),
    "observed": ("observed", "true", 5),
    "observed-later": ("observed", "true", 12),
    "observed-not-adaptive": ("observed", "false", 10),
    "observed-sorted": ("observed", "true", 18),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the programs read."""
    directory = tmp_path_factory.mktemp("inputs") / "data"
    resumes.write_inputs(directory)
    return directory


def program(case: str, inputs: Path, adaptive: str) -> list[str]:
    """The command line of one of the programs."""
    return [resumes.__file__, case, str(inputs), adaptive]


def whole(life: Life) -> Life:
    """A life that came to its end."""
    assert life.exit_code == 0, life.log.read_text()[-4_000:]
    assert life.result
    return life


def any_on(host: str, shuffles: dict[int, Shuffle]) -> bool:
    """Whether any output that is recorded is there: an executor that is quicker may have run all the others."""
    return any(header["host"] == host for shuffle in shuffles.values() for header, _ in shuffle.maps.values())


@pytest.mark.one_a_day("the next driver goes on")
@pytest.mark.parametrize("name", CASES)
def test_the_next_driver_goes_on(name: str, inputs: Path, directory: Path) -> None:
    case, adaptive, kill_at = CASES[name]
    command = program(case, inputs, adaptive)
    undisturbed = whole(LocalSpark(directory / "undisturbed").run(command))
    application = LocalSpark(directory / "killed")
    killed = application.run(command, kill_when=lambda maps, _shuffles: maps >= kill_at)
    assert killed.exit_code == -9
    recorded = sum(len(one.maps) for one in application.shuffles.values())
    second = whole(application.run(command))
    assert second.result == undisturbed.result
    assert second.restored == recorded > 0
    # Each map that came back is one task less.
    assert second.tasks == undisturbed.tasks - second.restored


@pytest.mark.one_a_day("the next driver goes on")
def test_which_partitions_are_put_together_does_not_go_by_where_outputs_are(inputs: Path, directory: Path) -> None:
    """The next driver knows those of the shuffle below from the start; the first one put partitions together before."""
    command = program("repartition", inputs, "true")
    application = LocalSpark(directory / "killed")

    def last_shuffle_runs(_maps: int, shuffles: dict[int, Shuffle]) -> bool:
        return any("reduceByKey" in one.declared["description"] and one.maps for one in shuffles.values())

    assert application.run(command, kill_when=last_shuffle_runs).exit_code == -9
    recorded = sum(len(one.maps) for one in application.shuffles.values())
    assert whole(application.run(command)).restored == recorded


@pytest.mark.one_a_day("the next driver goes on")
@pytest.mark.parametrize(
    ("case", "at", "number", "adaptive"),
    [
        ("twice", "write_committing", "-2", "true"),
        ("twice", "write_committing", "-2", "false"),
        ("twice-kept", "write_declared", "-1", "true"),
    ],
)
def test_the_shuffles_of_a_second_output_of_the_same_frame_are_used_again(
    case: str, at: str, number: str, adaptive: str, directory: Path
) -> None:
    """The next driver leaves out the first output, and makes none of its shuffles.

    Those of the second one are there, or, where it has not begun, still those of the first.
    """
    data = directory / "data"
    writes.write_inputs(data)
    command = [writes.__file__, case, str(data)]
    application = LocalSpark(directory / "killed", conf={"spark.sql.adaptive.enabled": adaptive})
    assert application.run(command, kill_at=(at, 2, "asked")).exit_code == -9
    assert all(one.declared["signature"].endswith(number) for one in application.shuffles.values())
    recorded = sum(len(one.maps) for one in application.shuffles.values())
    second = whole(application.run(command))
    assert second.skipped == 1
    assert second.restored == recorded > 0
    one, other = json.loads(second.result.removeprefix("RESULT "))
    assert one == other


@pytest.mark.soak
def test_a_driver_that_is_killed_twice(inputs: Path, directory: Path) -> None:
    command = program("rdd", inputs, "true")
    undisturbed = whole(LocalSpark(directory / "undisturbed").run(command))
    application = LocalSpark(directory / "killed")
    application.run(command, kill_when=lambda maps, _shuffles: maps >= 4)
    second = application.run(command, kill_when=lambda maps, _shuffles: maps >= 6)
    third = whole(application.run(command))
    assert third.result == undisturbed.result
    assert 0 < second.restored <= third.restored - 6
    assert third.tasks == undisturbed.tasks - third.restored


@pytest.mark.soak
def test_a_host_that_does_not_come_back(inputs: Path, directory: Path) -> None:
    command = program("rdd", inputs, "true")
    undisturbed = whole(LocalSpark(directory / "undisturbed").run(command))
    application = LocalSpark(directory / "killed")
    application.run(command, kill_when=lambda maps, shuffles: maps >= 8 and any_on(HOSTS[0], shuffles))
    second = whole(application.run(command, hosts=(HOSTS[0],), gone=(HOSTS[1],)))
    assert second.result == undisturbed.result
    assert 0 < second.restored < 8
    assert second.tasks == undisturbed.tasks - second.restored


@pytest.mark.one_a_day("the next driver goes on")
def test_fewer_executors_compute_the_same(inputs: Path, directory: Path) -> None:
    """Splits of files and merged partitions go by the number of cores: by those that are planned, not those there."""
    conf = {
        "spark.executor.cores": "2",
        "spark.sql.files.maxPartitionBytes": "128m",
        "spark.sql.files.openCostInBytes": "1",
    }
    command = program("tables", inputs, "true")
    undisturbed = whole(LocalSpark(directory / "undisturbed", conf=conf).run(command))
    application = LocalSpark(directory / "killed", conf=conf)
    application.run(command, kill_when=lambda maps, shuffles: maps >= 8 and any_on(HOSTS[0], shuffles))
    second = whole(application.run(command, hosts=(HOSTS[0],), gone=(HOSTS[1],)))
    assert second.result == undisturbed.result
    assert second.restored > 0
    assert second.tasks == undisturbed.tasks - second.restored


@pytest.mark.one_a_day("the next driver goes on")
def test_an_input_that_has_changed_is_read_again(inputs: Path, directory: Path) -> None:
    own = directory / "data"
    shutil.copytree(inputs, own)
    command = program("lines", own, "true")
    application = LocalSpark(directory / "killed")
    application.run(command, kill_when=lambda maps, _shuffles: maps >= 5)
    (own / "text" / "part-0.txt").write_text("word1\n" * 500)
    second = whole(application.run(command))
    assert second.restored == 0
    assert second.result == whole(LocalSpark(directory / "undisturbed").run(command)).result


@pytest.mark.one_a_day("the next driver goes on")
@pytest.mark.parametrize(
    ("case", "kind", "result"),
    [
        ("cached", "cached", "RESULT 10 10"),
        ("checkpoint", "cached", "RESULT 10 10"),
        ("stream", "stream", "RESULT 10 2"),
    ],
)
def test_what_no_next_driver_can_go_on_with_is_told_without_any_shuffle(
    case: str, kind: str, result: str, directory: Path
) -> None:
    life = whole(LocalSpark(directory / "keeps").run([keeps.__file__, case, str(directory / "data")]))
    assert life.result == result
    assert life.of("shuffle_declared") == []
    (told,) = life.of("unrecorded")
    assert told["kind"] == kind
    assert " at " in told["why"]


@pytest.mark.one_a_day("the next driver goes on")
@pytest.mark.parametrize("key", ["spark.shuffle.useOldFetchProtocol", "spark.io.encryption.enabled"])
def test_what_the_program_turns_on_by_itself_costs_the_recovery_and_nothing_else(
    key: str, inputs: Path, directory: Path
) -> None:
    """Not seen at the submit; what maps count comes to the program all the same."""
    command = program("rdd", inputs, "true")
    life = whole(LocalSpark(directory / "on", conf={key: "true"}).run(command))
    assert life.result == whole(LocalSpark(directory / "undisturbed").run(command)).result
    assert life.of("shuffle_declared") == []
    (told,) = life.of("adoption_off")
    assert told["why"].startswith(key)


@pytest.mark.soak
def test_without_recovery_nothing_is_installed(inputs: Path, directory: Path) -> None:
    life = whole(LocalSpark(directory / "off", recovery=False).run(program("rdd", inputs, "true")))
    assert life.of("shuffle_declared") == []
    assert life.of("outputs_reported") == []
    assert life.frames == 0
