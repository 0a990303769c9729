"""A driver is killed at each step of what it writes, and the next one neither loses nor doubles it: without YARN.

The negotiator's own decisions are played with: what it records is what the next driver is told.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integration.localspark import Life, LocalSpark
from integration.localwrites import Step
from integration.programs import writes

pytestmark = pytest.mark.soak
PROTOCOL = "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
"""Spark's own."""


def begin(directory: Path, name: str = "killed") -> tuple[LocalSpark, Path]:
    """An application, and the directory in which it reads and writes."""
    data = directory / f"data-{name}"
    writes.write_inputs(data)
    return LocalSpark(directory / name), data


def program(case: str, data: Path) -> list[str]:
    """The command line of one of the programs."""
    return [writes.__file__, case, str(data)]


def result(life: Life) -> list[object]:
    """What a program that came to its end printed."""
    assert life.exit_code == 0, life.log.read_text()[-4_000:]
    return list(json.loads(life.result.removeprefix("RESULT ")))


def shown(data: Path) -> dict[str, int]:
    """How many files each output has, hidden directories included."""
    outputs = ("sums", "doubled", "history", "days")
    return {
        name: sum(1 for path in (data / name).rglob("*") if path.is_file() and path.name.startswith("part-"))
        for name in outputs
        if (data / name).exists()
    }


def check(life: Life, data: Path, whole: Life, whole_data: Path) -> None:
    """The result is that of an undisturbed run, and so are the files."""
    assert result(life) == result(whole)
    assert shown(data) == shown(whole_data)
    assert not list(data.rglob("_temporary"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Life, Path]]:
    """The run that nothing happens to, and what it has written."""
    directory = tmp_path_factory.mktemp("undisturbed")
    application, data = begin(directory)
    life = application.run(program("steps", data))
    result(life)
    yield life, data
    shutil.rmtree(directory, ignore_errors=True)


# kind of question, which of them, how far its answer has come, how many writes are then there already
MOMENTS: dict[str, tuple[str, int, Step, int]] = {
    "before it begins": ("write_beginning", 3, "asked", 2),
    "begun": ("write_beginning", 1, "answered", 0),
    "tasks committed": ("write_committing", 1, "asked", 0),
    "about to commit": ("write_committing", 2, "recorded", 1),
    "committed, not recorded": ("write_finished", 1, "asked", 1),
    "committed, not recorded, added": ("write_finished", 3, "asked", 3),
    "recorded": ("write_finished", 2, "recorded", 2),
    "all recorded": ("write_finished", 3, "answered", 3),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_step_of_a_write(moment: str, directory: Path, undisturbed: tuple[Life, Path]) -> None:
    kind, which, step, there = MOMENTS[moment]
    application, data = begin(directory)
    killed = application.run(program("steps", data), kill_at=(kind, which, step))
    assert killed.exit_code == -9
    second = application.run(program("steps", data))
    check(second, data, *undisturbed)
    assert second.skipped == there
    assert len(second.of("write_beginning")) == 3 - there


def test_killed_while_its_files_are_moved(directory: Path, undisturbed: tuple[Life, Path]) -> None:
    application, data = begin(directory)
    application.run(program("steps", data), kill_at=("write_committing", 3, "recorded"))
    written = sorted((data / "history" / "_temporary" / "1").glob("task_*/part-*"))
    assert len(written) > 1
    written[0].rename(data / "history" / written[0].name)
    second = application.run(program("steps", data))
    check(second, data, *undisturbed)
    assert second.skipped == 2
    assert not (data / "history" / written[0].name).exists()


def test_killed_again_and_again(directory: Path, undisturbed: tuple[Life, Path]) -> None:
    application, data = begin(directory)
    for at in (("write_committing", 1, "recorded"), ("write_finished", 1, "asked"), ("write_finished", 2, "asked")):
        assert application.run(program("steps", data), kill_at=at).exit_code == -9
    last = application.run(program("steps", data))
    check(last, data, *undisturbed)
    assert last.skipped == 3


@pytest.mark.parametrize("case", ["by-day", "parts"])
def test_an_output_in_partitions_is_not_written_again(case: str, directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program(case, data), kill_at=("write_finished", 1, "asked"))
    assert first.exit_code == -9
    files = sorted((data / "days").rglob("part-*"))
    second = application.run(program(case, data))
    assert result(second) == sorted([f"d{number % 3}", number + 1] for number in range(30))
    assert second.skipped == 1
    assert sorted((data / "days").rglob("part-*")) == files
    # Somebody takes a file away: what is left is no output of the program's, and there is no way to tell what it is.
    files[0].unlink()
    third = application.run(program(case, data))
    if case == "parts":  # it overwrites whatever is in them
        assert (result(third), third.skipped) == (result(second), 0)
    else:
        assert "its files are not those that were committed" in third.stopped
    # Without any of it the program writes it anew.
    shutil.rmtree(data / "days")
    assert result(application.run(program(case, data))) == result(second)


@pytest.mark.parametrize("case", ["parts", "replaced"])
def test_what_was_about_to_be_overwritten_is_overwritten(case: str, directory: Path) -> None:
    application, data = begin(directory)
    # Somebody else's, of before the application.
    assert result(LocalSpark(directory / "former").run(program(case, data)))
    first = application.run(program(case, data), kill_at=("write_committing", 1, "answered"))
    assert first.exit_code == -9
    second = application.run(program(case, data))
    assert result(second) == sorted([f"d{number % 3}", number + 1] for number in range(30))
    assert {path.name for path in data.rglob("*") if path.name.startswith((".yarnspec", ".spark", "_temp"))} == set()


def test_what_is_computed_from_a_table_of_the_catalog_is_not_added_again(directory: Path) -> None:
    application, data = begin(directory)
    assert application.run(program("of-table", data), kill_at=("write_finished", 1, "recorded")).exit_code == -9
    second = application.run(program("of-table", data))
    assert len(result(second)) == 7
    assert second.skipped == 1


def overwrite_one(days: Path) -> None:
    """Go one step further than the driver that was killed: one partition is taken away, and another in its place."""
    (taken,) = days.glob(".yarnspec-overwritten-*")
    place = next(name for name in json.loads((taken / ".places").read_text()) if name.endswith("day=d1"))
    number = json.loads((taken / ".places").read_text()).index(place)
    (days / "day=d1").rename(taken / f".{number}")
    (days / "day=d1").mkdir()
    for own in list(days.glob(".spark-staging-*/_temporary/1/task_*/day=d1/part-*")):
        own.rename(days / "day=d1" / own.name)
    assert list((days / "day=d1").iterdir())


@pytest.mark.parametrize(("step", "further"), [("asked", False), ("recorded", False), ("recorded", True)])
def test_what_it_reads_and_overwrites_is_there_again(step: Step, further: bool, directory: Path) -> None:
    application, data = begin(directory)
    for number in range(3):
        day = data / "days" / f"day=d{number}"
        day.mkdir(parents=True)
        pq.write_table(pa.table({"n": pa.array([number], pa.int32())}), day / "before.parquet")
    killed = application.run(program("upserted", data), kill_at=("write_committing", 1, step))
    assert killed.exit_code == -9
    if further:
        overwrite_one(data / "days")
    second = application.run(program("upserted", data))
    assert result(second) == sorted([f"d{number}", n] for number in range(3) for n in (number, 100 + number))
    assert [event["outcome"] for event in second.of("write_resolved")] == ["restored"]
    assert {path.name for path in data.rglob("*") if path.name.startswith((".yarnspec", ".spark", "_temp"))} == set()


def overwrite_half(days: Path) -> None:
    """Go further than the driver that was killed: all that was there is taken away, and one of its files is shown."""
    (taken,) = days.glob(".yarnspec-overwritten-*")
    for number, place in enumerate(json.loads((taken / ".places").read_text())):
        Path(place.removeprefix("file:")).rename(taken / f".{number}")
    own = next(days.glob("_temporary/1/task_*/part-*"))
    own.rename(days / own.name)


@pytest.mark.parametrize(("step", "further"), [("asked", False), ("recorded", False), ("recorded", True)])
def test_all_that_it_reads_and_overwrites_is_there_again(step: Step, further: bool, directory: Path) -> None:
    application, data = begin(directory)
    (data / "days").mkdir()
    for number in range(3):
        pq.write_table(pa.table({"n": pa.array([number], pa.int32())}), data / "days" / f"before-{number}.parquet")
    killed = application.run(program("first-or-more", data), kill_at=("write_committing", 1, step))
    assert killed.exit_code == -9
    if further:
        overwrite_half(data / "days")
    second = application.run(program("first-or-more", data))
    assert result(second) == [0, 1, 2, 103]
    assert [event["outcome"] for event in second.of("write_resolved")] == ["restored"]
    assert {path.name for path in data.rglob("*") if path.name.startswith((".yarnspec", ".spark", "_temp"))} == set()


def test_what_has_not_come_to_its_commit_has_overwritten_nothing(directory: Path) -> None:
    _, data = begin(directory)
    # Else the first stage of a write runs before Spark has even begun it.
    application = LocalSpark(directory / "not-adaptive", conf={"spark.sql.adaptive.enabled": "false"})
    (data / "days").mkdir()
    pq.write_table(pa.table({"n": pa.array([0], pa.int32())}), data / "days" / "before.parquet")
    for _ in range(2):
        killed = application.run(program("first-or-more", data), kill_when=lambda maps, _shuffles: maps > 0)
        assert killed.exit_code == -9
    last = application.run(program("first-or-more", data))
    assert result(last) == [0, 101]
    assert [event["outcome"] for event in last.of("write_resolved")] == ["undone"]


@pytest.mark.parametrize("link", ["days", "days/link.parquet", "days/nowhere"])
def test_of_a_link_the_link_alone_is_overwritten(link: str, directory: Path) -> None:
    """As by Spark."""
    application, data = begin(directory)
    (data / "elsewhere").mkdir()
    pq.write_table(pa.table({"n": pa.array([0], pa.int32())}), data / "elsewhere" / "before.parquet")
    if link == "days":
        (data / link).symlink_to(data / "elsewhere")
    else:
        (data / "days").mkdir()
        shutil.copy(data / "elsewhere" / "before.parquet", data / "days")
        (data / link).symlink_to("../elsewhere/before.parquet" if link.endswith(".parquet") else "../nowhere")
    rows = [0, 0, 102] if link == "days/link.parquet" else [0, 101]
    assert result(application.run(program("first-or-more", data))) == rows
    assert not (data / link).is_symlink()
    assert [path.name for path in (data / "elsewhere").iterdir()] == ["before.parquet"]
    assert {path.name for path in data.rglob("*") if path.name.startswith((".yarnspec", ".spark", "_temp"))} == set()


def test_a_write_that_is_only_explained_takes_no_place(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("explained", data), kill_at=("write_finished", 2, "answered"))
    assert first.exit_code == -9
    second = application.run(program("explained", data))
    assert result(second) == [[number] for number in range(9)]
    assert second.skipped == 2


@pytest.mark.parametrize("case", ["own-input", "own-lines", "own-replaced"])
def test_a_program_that_adds_to_its_own_input_is_stopped(case: str, directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program(case, data), kill_at=("write_finished", 1, "recorded"))
    assert first.exit_code == -9
    before = sorted(path.name for path in data.rglob("*") if path.is_file())
    second = application.run(program(case, data))
    assert "which an earlier driver epoch has changed since" in second.stopped
    assert sorted(path.name for path in data.rglob("*") if path.is_file()) == before


def test_a_change_of_its_own_input_that_was_not_committed_is_made(directory: Path) -> None:
    application, data = begin(directory)
    application.run(program("own-input", data), kill_at=("write_committing", 1, "recorded"))
    second = application.run(program("own-input", data))
    assert second.exit_code == 0, second.log.read_text()[-4_000:]
    assert second.result == "RESULT 407"


def test_what_was_listed_before_an_addition_that_is_not_made_again_is_not_read(directory: Path) -> None:
    _, data = begin(directory, "whole")
    assert result(LocalSpark(directory / "first").run(program("listed-before", data)))[1] == 50
    application, data = begin(directory)
    first = application.run(program("listed-before", data), kill_at=("write_finished", 1, "answered"))
    assert first.exit_code == -9
    second = application.run(program("listed-before", data))
    assert second.skipped == 1
    assert second.exit_code > 0
    assert second.result == ""
    assert "was made before the addition" in second.log.read_text()


def test_what_a_write_counts_below_a_shuffle_is_counted(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("counted", data), kill_at=("write_finished", 1, "answered"))
    assert first.exit_code == -9
    second = application.run(program("counted", data))
    assert result(second) == [20]
    assert second.skipped == 0


def begin_with_hive(directory: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[LocalSpark, Path]:
    """The same with a metastore of its own."""
    data = directory / "data"
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dderby.stream.error.file={directory}/derby.log")
    writes.write_inputs(data)
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{data}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={data}/metastore;create=true",
    }
    return LocalSpark(directory / "hive", conf=conf), data


@pytest.mark.parametrize("step", ["asked", "answered"])
def test_rows_are_not_added_twice_to_a_table_of_hive(
    step: Step, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application, data = begin_with_hive(directory, monkeypatch)
    first = application.run(program("hive", data), kill_at=("write_finished", 1, step))
    assert first.exit_code == -9
    second = application.run(program("hive", data))
    if step == "answered":
        assert f"adds to file:{data}/numbers" in second.stopped
    else:
        assert result(second) == [5]


def test_one_statement_that_adds_to_two_tables_of_hive_is_two_writes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    application, data = begin_with_hive(directory, monkeypatch)
    first = application.run(program("hive-twice", data), kill_at=("write_finished", 2, "answered"))
    assert first.exit_code == -9
    told = [(event["path"], event["mode"]) for event in first.of("write_declared")]
    assert sorted(told) == [(f"file:{data}/{name}", "add") for name in ("numbers", "others")]
    for file in (data / "numbers").iterdir():
        file.unlink()  # so that only the second table has something
    (data / "numbers").rmdir()
    second = application.run(program("hive-twice", data))
    assert f"adds to file:{data}/others" in second.stopped


# kind of question, which of them, how far its answer has come
SAVES: dict[str, tuple[str, int, Step]] = {
    "before it begins": ("write_beginning", 1, "asked"),
    "begun": ("write_beginning", 1, "answered"),
    "tasks committed": ("write_committing", 1, "asked"),
    "about to commit": ("write_committing", 1, "recorded"),
}


@pytest.mark.parametrize("moment", SAVES)
def test_what_is_left_of_an_rdd_that_was_about_to_be_saved_is_not_in_its_way(moment: str, directory: Path) -> None:
    application, data = begin(directory)
    killed = application.run(program("saved", data), kill_at=SAVES[moment])
    assert killed.exit_code == -9
    # And once more, somewhere in its second save.
    again = application.run(program("saved", data), kill_at=("write_committing", 2, "recorded"))
    assert again.exit_code == -9
    third = application.run(program("saved", data))
    assert result(third) == sorted(f"{key} {30 + 4 * key}!" for key in range(5))
    assert third.skipped == 1
    for name in ("sums", "doubled"):
        names = {path.name for path in (data / name).iterdir() if not path.name.startswith((".", "part-"))}
        assert names == {"_SUCCESS"}


def files_in(*directories: Path) -> dict[Path, int]:
    """What was written, and when."""
    return {path: path.stat().st_mtime_ns for each in directories for path in each.glob("part-*")}


@pytest.mark.parametrize("step", ["asked", "answered"])
def test_an_rdd_is_not_saved_again(step: Step, directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("saved", data), kill_at=("write_finished", 1, step))
    assert first.exit_code == -9
    before = files_in(data / "sums")
    second = application.run(program("saved", data), kill_at=("write_finished", 1, "recorded"))
    assert (second.exit_code, second.skipped) == (-9, 1)
    third = application.run(program("saved", data))
    assert result(third) == sorted(f"{key} {30 + 4 * key}!" for key in range(5))
    assert third.skipped == 2
    assert files_in(data / "sums") == before


def test_nor_is_one_by_any_other_call(directory: Path) -> None:
    whole, whole_data = begin(directory, "whole")
    application, data = begin(directory)
    first = application.run(program("saved-otherwise", data), kill_at=("write_finished", 5, "answered"))
    assert first.exit_code == -9
    outputs = [data / name for name in ("pickled", "sequence", "lines", "numbers")]
    before = files_in(*outputs)
    assert len(before) == 10
    second = application.run(program("saved-otherwise", data))
    assert second.skipped == 5
    assert files_in(*outputs) == before
    assert result(second) == result(whole.run(program("saved-otherwise", whole_data)))


def test_another_rdd_where_one_was_saved_finds_that_in_its_way_as_ever(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("saved-or-not", data), kill_at=("write_finished", 1, "answered"))
    assert first.exit_code == -9
    before = files_in(data / "sums")
    second = application.run(program("saved-or-not", data))
    assert (second.exit_code, second.skipped) == (0, 0)
    assert "sums is in the way: an earlier driver epoch has written there" in second.log.read_text()
    assert files_in(data / "sums") == before


def test_so_does_the_same_one_when_somebody_has_changed_what_was_saved(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("saved", data), kill_at=("write_finished", 1, "answered"))
    assert first.exit_code == -9
    next((data / "sums").glob("part-*")).unlink()
    before = files_in(data / "sums")
    second = application.run(program("saved", data))
    assert second.exit_code > 0
    assert "sums is in the way" in second.log.read_text()
    assert "its files are not those that were committed" in second.log.read_text()
    assert "sums already exists" in second.log.with_name("stdout").read_text()
    assert files_in(data / "sums") == before


def test_an_rdd_is_not_taken_for_the_same_whose_records_others_may_have_read_otherwise(directory: Path) -> None:
    """It is computed from a shuffle that gives other records when it runs again, or its save makes a checkpoint."""
    application, data = begin(directory)
    first = application.run(program("saved-in-doubt", data), kill_at=("write_finished", 3, "answered"))
    assert first.exit_code == -9
    second = application.run(program("saved-in-doubt", data))
    assert (second.exit_code, second.skipped) == (0, 1)
    for why in ("may give other records", "checkpoint"):
        assert why in second.log.read_text()


def test_rows_are_not_added_twice_where_no_shuffle_is_kept(directory: Path) -> None:
    application, data = begin(directory)
    first = application.run(program("nothing-kept", data), kill_at=("write_finished", 1, "answered"))
    assert first.exit_code == -9
    assert [event["executor_id"] for event in first.of("adoption_off")] == [""]
    second = application.run(program("nothing-kept", data))
    assert "adds to" in second.stopped or (second.skipped, second.result) == (1, "RESULT 10")
    assert shown(data) == {"history": 3}


def test_a_commit_of_the_programs_own_is_left_alone(directory: Path) -> None:
    data = directory / "data"
    writes.write_inputs(data)
    own = {"spark.sql.sources.commitProtocolClass": PROTOCOL}
    life = LocalSpark(directory / "own", conf=own).run(program("steps", data))
    assert life.exit_code == 0
    (told,) = life.of("unrecorded")
    assert told["kind"] == "writes"
    assert life.of("write_beginning") == []
