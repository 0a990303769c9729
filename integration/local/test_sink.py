"""yarnspec.sink in plain local Spark, without YARN."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import errno
import os
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.functions import rand

import yarnspec.sink.sink
from integration.localsession import local_session
from integration.smalldisk import small_disk
from integration.waiting import wait_for
from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink import OutputExists, PartitionFileSink, PathClaimed, Unfinished, published_files
from yarnspec.sink.claim import Owner
from yarnspec.sink.decision import Decision, OutputPlace
from yarnspec.sink.job import SinkJob
from yarnspec.sink.publication import Publication


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for all tests; each task may fail once."""
    yield from local_session(tmp_path_factory.mktemp("local"), "local[1,2]")


def lines(records: Iterator[Any], file: BinaryIO) -> None:
    for record in records:
        file.write(f"{record}\n".encode())


def batches(records: Iterator[pa.RecordBatch], file: BinaryIO) -> None:
    for batch in records:
        file.write(f"{batch.num_rows} rows\n".encode())


def unannotated(records, file):  # type: ignore[no-untyped-def]
    batches(records, file)


def read(directory: Path) -> list[str]:
    """The contents of the files, in the order of their partitions."""
    return [file.read_text() for file in sorted(directory.glob("part-*"))]


def test_the_examples(spark: SparkSession, tmp_path: Path) -> None:
    told = {"spark": spark, "directory": str(tmp_path), "PartitionFileSink": PartitionFileSink}
    assert doctest.testmod(yarnspec.sink.sink, extraglobs=told) == (0, 5)


def test_objects_rows_and_batches(spark: SparkSession, tmp_path: Path) -> None:
    context = spark.sparkContext
    data = spark.range(4, numPartitions=2)
    done = PartitionFileSink(str(tmp_path / "objects"), lines, suffix=".txt").save(context.parallelize([1, 2, 3], 4))
    assert read(tmp_path / "objects") == ["", "1\n", "2\n", "3\n"]
    assert (done.written, done.size_bytes, len(done.files)) == (4, 6, 4)
    assert all(file.endswith(".txt") for file in done.files)
    PartitionFileSink(str(tmp_path / "rows"), lines).save(data)
    assert read(tmp_path / "rows") == ["Row(id=0)\nRow(id=1)\n", "Row(id=2)\nRow(id=3)\n"]
    PartitionFileSink(str(tmp_path / "batches"), batches).save(data)
    PartitionFileSink(str(tmp_path / "told"), unannotated, records="arrow").save(data)
    assert read(tmp_path / "batches") == read(tmp_path / "told") == ["2 rows\n", "2 rows\n"]
    none = data.where("id > 99")
    PartitionFileSink(str(tmp_path / "none"), batches).save(none)
    PartitionFileSink(str(tmp_path / "none of them"), lines).save(none)
    assert read(tmp_path / "none") == read(tmp_path / "none of them") == ["", ""]


def test_more_than_one_piece_comes_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    whole = os.urandom(3_500_000)

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        file.write(whole)

    PartitionFileSink(str(tmp_path / "rdd"), write).save(spark.sparkContext.parallelize([1], 1))
    PartitionFileSink(str(tmp_path / "rows"), write).save(spark.range(1, numPartitions=1))
    PartitionFileSink(str(tmp_path / "arrow"), write, records="arrow").save(spark.range(1, numPartitions=1))
    for name in ("rdd", "rows", "arrow"):
        (file,) = (tmp_path / name).glob("part-*")
        assert file.read_bytes() == whole


NAMES = ("an output", "100%41", "a#b?c", "q'uo\"te$", "ünï", "{a,b}*[c]", "x=1&y")


@pytest.mark.parametrize("name", NAMES)
def test_names_that_need_quoting(spark: SparkSession, tmp_path: Path, name: str) -> None:
    data = spark.sparkContext.parallelize(["a"], 1)
    for mode in ("fail", "overwrite", "append"):
        PartitionFileSink(str(tmp_path / name), lines, mode=mode, suffix=".é %20#?").save(data)
    assert read(tmp_path / name) == ["a\n", "a\n"]
    found = published_files(spark, str(tmp_path / name))
    assert sorted(row.value for row in spark.read.text(found).collect()) == ["a", "a"]
    assert sorted(found) == sorted(
        "file://" + re.sub(r"[*?{}\[\]]", lambda found: "\\" + found[0], str(file))
        for file in (tmp_path / name).glob("part-*")
    )
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_names_that_are_patterns(spark: SparkSession, tmp_path: Path) -> None:
    """Somebody else's files, which the names would match, are not read."""
    other = tmp_path / "g1"
    other.mkdir()
    done = PartitionFileSink(str(tmp_path / "g[1]"), lines).save(spark.sparkContext.parallelize(["mine"], 1))
    (other / Path(done.files[0]).name).write_text("other\n")
    for names in (published_files(spark, str(tmp_path / "g[1]")), list(done.files), [done.path]):
        assert [row.value for row in spark.read.text(names).collect()] == ["mine"]
        assert spark.sparkContext.textFile(names[0]).collect() == ["mine"]


def test_local_files_where_others_are_the_default(spark: SparkSession, tmp_path: Path) -> None:
    """What is told says which file system it is in."""
    conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
    before = conf.get("fs.defaultFS")
    conf.set("fs.defaultFS", "hdfs://127.0.0.1:9")
    try:
        out = f"file://{tmp_path}/out"
        done = PartitionFileSink(out, lines).save(spark.sparkContext.parallelize(["mine"], 1))
        assert done.path == out
        for names in (published_files(spark, out), list(done.files), [done.path]):
            assert spark.sparkContext.textFile(names[0]).collect() == ["mine"]
    finally:
        conf.set("fs.defaultFS", before)


def test_published_files_of_nothing(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("nothing", "a file"):
        (tmp_path / "a file").touch()
        with pytest.raises(FileNotFoundError, match=name):
            published_files(spark, str(tmp_path / name))
    (tmp_path / "empty").mkdir()
    assert published_files(spark, str(tmp_path / "empty")) == []


def test_modes(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    data = spark.sparkContext.parallelize(["new"], 1)
    out.mkdir()
    (out / "part-theirs").write_text("old\n")
    with pytest.raises(OutputExists, match="exists"):
        PartitionFileSink(str(out), lines).save(data)
    PartitionFileSink(str(out), lines, mode="append").save(data)
    assert sorted(read(out)) == ["new\n", "old\n"]
    PartitionFileSink(f"file://{out}/", lines, mode="overwrite").save(data)
    assert read(out) == ["new\n"]
    assert {entry.name for entry in tmp_path.iterdir()} == {"out"}
    assert (out / "_SUCCESS").exists()


def test_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """Manifests are hidden from it."""
    PartitionFileSink(str(tmp_path / "out"), lines, suffix=".txt").save(spark.sparkContext.parallelize(range(5), 2))
    assert sorted(int(row.value) for row in spark.read.text(str(tmp_path / "out")).collect()) == list(range(5))
    assert spark.sparkContext.textFile(str(tmp_path / "out")).count() == 5


def fill_the_disk(_records: Iterator[Any], file: BinaryIO) -> None:
    file.write(b"something")
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"too much")


@pytest.mark.parametrize("mode", ["fail", "overwrite", "append"])
def test_an_error_of_the_writer_leaves_everything_as_it_was(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """A full disk, for example; the path can be written to afterwards."""
    out = tmp_path / "out"
    data = spark.sparkContext.parallelize(["new"], 2)
    if mode != "fail":
        PartitionFileSink(str(out), lines).save(spark.sparkContext.parallelize(["old"], 1))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PythonException, match=os.strerror(errno.ENOSPC)):
        PartitionFileSink(str(out), fill_the_disk, mode=mode).save(data)
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        PartitionFileSink(str(out), lambda _rows, _file: 1 / 0, mode=mode).save(spark.range(1))  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before
    PartitionFileSink(str(out), lines, mode=mode).save(data)
    assert read(out)[-1] == "new\n"


def test_a_full_disk_at_the_output(spark: SparkSession, tmp_path: Path) -> None:
    """The task's error is the disk's; nothing is published, and what was there stays."""
    small = tmp_path / "small"
    small.mkdir()
    with small_disk(small):
        data = spark.sparkContext.parallelize([1, 2], 2)
        out = small / "out"
        PartitionFileSink(str(out), lines).save(data)
        with pytest.raises(Py4JJavaError, match="No space left"):
            PartitionFileSink(str(out), lambda _some, file: file.write(bytes(200_000)), mode="overwrite").save(data)  # type: ignore[arg-type]
        assert read(out) == ["1\n", "2\n"]
        assert [entry.name for entry in small.iterdir()] == ["out"]


def test_a_worker_that_is_killed_in_the_midst_of_writing(spark: SparkSession, tmp_path: Path) -> None:
    """Some pieces of its file are at the output by then; the next attempt's file is the one that is published."""
    killed, whole = tmp_path / "killed", 3 << 20

    def write(_records: Iterator[Any], file: BinaryIO) -> None:
        task = TaskContext.get()
        assert task is not None
        if task.attemptNumber() > 0:
            file.write(b"whole")
            return
        # What the JVM gets comes through a pipe, which stays open: so the file cannot be finished.
        name = file.name
        Path(name).unlink()
        os.mkfifo(name)

        def feed() -> None:
            with Path(name).open("wb") as pipe:
                pipe.write(bytes(whole))
                pipe.flush()
                deadline = time.monotonic() + 60
                while (
                    not list(tmp_path.glob(".out.yarnspec-sink/*/attempts/*.writing")) and time.monotonic() < deadline
                ):
                    time.sleep(0.01)
                killed.write_text("".join(each.name for each in tmp_path.glob(".out.yarnspec-sink/*/attempts/*")))
                os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=feed, daemon=True).start()

    done = PartitionFileSink(str(tmp_path / "out"), write).save(spark.sparkContext.parallelize([1], 1))
    assert killed.read_text().endswith(".writing")
    assert read(tmp_path / "out") == ["whole"]
    assert len(done.attempts.all) == 2
    assert done.attempts.finished == done.attempts.all[1:]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["killed", "out"]


def test_a_copy_is_noted_as_it_starts(spark: SparkSession, tmp_path: Path) -> None:
    """Beside the attempts, where the next driver finds it; local Spark makes none, so its event is one of ours."""
    context, may_end = spark.sparkContext, tmp_path / "may end"
    scheduler: Any = context._jvm.org.apache.spark.scheduler

    def wait(_records: Iterator[Any], _file: BinaryIO) -> None:
        deadline = time.monotonic() + 60
        while not may_end.exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    with ThreadPoolExecutor(1) as threads:
        saving = threads.submit(PartitionFileSink(str(tmp_path / "out"), wait).save, context.parallelize([1], 1))
        try:
            (stage,) = wait_for("the stage", context.statusTracker().getActiveStageIds, 60)
            anywhere = scheduler.TaskLocality.ANY()
            for number, speculative in ((77, True), (78, False)):
                task = scheduler.TaskInfo(number, 0, 1, 0, 0, "driver", "localhost", anywhere, speculative)
                context._jsc.sc().listenerBus().post(scheduler.SparkListenerTaskStart(stage, 0, task))
            notes = wait_for("a note", lambda: list(tmp_path.glob(".out.yarnspec-sink/*/attempts/*.copy")), 60)
        finally:
            may_end.touch()
        sets = saving.result(60).attempts
    assert [note.name for note in notes] == ["00000.e0.t77.copy"]
    assert (len(sets.fast), sets.finished) == (1, ())
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["may end", "out"]


def test_nothing_runs_for_a_save_that_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Not even what is below a DataFrame's last shuffle, which Spark runs before it knows the partitions."""
    out = str(tmp_path / "out")
    grouped = spark.range(10).groupBy("id").count()
    PartitionFileSink(out, lines).save(spark.range(1))
    spark.sparkContext.setJobGroup("refused", "a save that is refused")
    try:
        with pytest.raises(OutputExists):
            PartitionFileSink(out, lines).save(grouped)
        assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("refused")) == []
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description"):
            spark.sparkContext.setLocalProperty(name, None)


def test_the_next_life_of_a_program_whose_save_was_interrupted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had gone on after the error, with a save that published the one before: each is there once."""
    owner, add = yarnspec.sink.sink._owner, Publication._add
    failed: list[Decision] = []

    def fail_once(publication: Publication, decision: Decision, place: OutputPlace) -> None:
        if not failed:
            failed.append(decision)
            raise OSError(errno.EIO, "once")
        add(publication, decision, place)

    def program() -> list[int]:
        written = []
        for text in ("first", "second", "third"):
            data = spark.sparkContext.parallelize([text], 1)
            with contextlib.suppress(Unfinished):
                written.append(PartitionFileSink(str(tmp_path / "out"), lines, mode="append").save(data).written)
        return written

    monkeypatch.setattr(Publication, "_add", fail_once)
    for epoch, written in ((1, [1, 1]), (2, [0, 0, 0])):

        def of_epoch(context: Any, epoch: int = epoch) -> Owner:
            return dataclasses.replace(owner(context), epoch=epoch, process=f"process {epoch}")

        monkeypatch.setattr(yarnspec.sink.sink, "_owner", of_epoch)
        monkeypatch.setattr(yarnspec.sink.sink, "_saved", Counter())
        assert program() == written
        assert sorted(read(tmp_path / "out")) == ["first\n", "second\n", "third\n"]


def test_a_helper_whose_first_save_failed_only_in_the_first_life(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The saves stand in one line, and are told apart by who calls there."""
    owner, out = yarnspec.sink.sink._owner, tmp_path / "out"

    def store(text: str, writer: Any) -> None:
        PartitionFileSink(str(out), writer, mode="append").save(spark.sparkContext.parallelize([text], 1))

    def life(epoch: int) -> None:
        monkeypatch.setattr(
            yarnspec.sink.sink,
            "_owner",
            lambda context: dataclasses.replace(owner(context), epoch=epoch, process=f"process {epoch}"),
        )
        monkeypatch.setattr(yarnspec.sink.sink, "_saved", Counter())

    def program(first_writer: Any) -> None:
        with contextlib.suppress(PythonException):
            store("a", first_writer)
        store("b", lines)

    life(1)
    program(lambda _records, _file: 1 / 0)
    assert read(out) == ["b\n"]
    life(2)
    with pytest.raises(YarnspecError, match=r"test_sink\.py:\d+ < .*the program has not gone the same way"):
        program(lines)
    assert read(out) == ["b\n"]


@pytest.fixture
def life(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Has what follows be another driver."""
    owner = yarnspec.sink.sink._owner

    def begin(epoch: int) -> None:
        def of_epoch(context: Any) -> Owner:
            return dataclasses.replace(owner(context), epoch=epoch, process=f"process {epoch}")

        monkeypatch.setattr(yarnspec.sink.sink, "_owner", of_epoch)
        monkeypatch.setattr(yarnspec.sink.sink, "_saved", Counter())

    return begin


def kinds_of_data(spark: SparkSession, directory: Path, number: int) -> dict[str, Callable[[], Any]]:
    """Data of many kinds; each of them is other data with another number."""
    context = spark.sparkContext

    def pairs() -> Any:
        return context.parallelize([("a", number), ("b", 1)], 2)

    def table() -> Any:
        return spark.createDataFrame([("a", number), ("b", 1)], "s string, n int")

    def view(rows: Any) -> Any:
        rows.createOrReplaceTempView("rows")
        return spark.sql("SELECT s, n + 1 FROM rows")

    return {
        "collection": lambda: context.parallelize([number], 1),
        "function": lambda: context.parallelize([1], 1).map(lambda one: one + number),
        "shuffles": lambda: pairs().reduceByKey(max).join(pairs()),
        "sorted": lambda: pairs().sortBy(lambda pair: pair[1]),
        "kept": lambda: pairs().filter(bool).cache(),
        "text": lambda: context.textFile(str(directory / f"{number}.txt")),
        "rows": table,
        "of shuffles": lambda: pairs().groupByKey().mapValues(len).toDF(["s", "n"]).where(f"n < {number + 10}"),
        "range": lambda: spark.range(number + 1),
        "query": lambda: table().groupBy("s").sum("n").join(table(), "s").orderBy("s"),
        "view": lambda: view(table()),
        "files": lambda: spark.read.text(str(directory / f"{number}.txt")).coalesce(1),
        "kept rows": lambda: table().cache(),
    }


def test_data_are_known_again_and_others_are_not(spark: SparkSession, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text("text\n")

    def origins(number: int) -> dict[str, str]:
        made = kinds_of_data(spark, tmp_path, number)
        return {kind: SinkJob(data(), lines, None).origin() for kind, data in made.items()}

    first, again, other = origins(1), origins(1), origins(2)
    assert [kind for kind, origin in first.items() if not origin] == []
    assert again == first
    assert [kind for kind, origin in other.items() if origin == first[kind]] == []
    # A file that has changed is another one.
    (tmp_path / "1.txt").write_text("other text\n")
    changed = origins(1)
    assert {kind for kind, origin in changed.items() if origin != first[kind]} == {"text", "files"}
    # Numbers that are drawn anew are not the same.
    drawn = [SinkJob(spark.range(3).select(rand()), lines, None).origin() for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_who_writes_and_how_times_are_read_belong_to_the_data(spark: SparkSession, tmp_path: Path) -> None:
    def writer(name: str, _records: Any, file: BinaryIO) -> None:
        file.write(name.encode())

    data: dict[str, Any] = {"rdd": spark.sparkContext.parallelize([1], 1), "rows": spark.range(1)}
    for each in data.values():
        first, again, other = (SinkJob(each, partial(writer, name), None).origin() for name in "aab")
        assert first == again != other
    (tmp_path / "1.txt").write_text("1\n")
    raw = [spark.sparkContext.textFile(str(tmp_path), use_unicode=text) for text in (True, False)]
    assert len({SinkJob(each, lines, None).origin() for each in raw}) == 2
    # How a format reads counts; what other inputs leave in the same configuration does not.
    conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
    raw = []
    for delimiter in (None, None, ";"):
        if delimiter:
            conf.set("textinputformat.record.delimiter", delimiter)
        raw.append(spark.sparkContext.textFile(str(tmp_path)))
        spark.sparkContext.textFile(str(tmp_path / "1.txt")).count()
    conf.unset("textinputformat.record.delimiter")
    first, again, other = (SinkJob(each, lines, None).origin() for each in raw)
    assert first == again != other
    zone = spark.conf.get("spark.sql.session.timeZone")
    assert zone is not None
    here = SinkJob(spark.range(1), lines, None).origin()
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo" if zone != "Asia/Tokyo" else "UTC")
    try:
        assert SinkJob(spark.range(1), lines, None).origin() != here
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize(
    "clock",
    ["now()", "current_date()", "unix_timestamp()", "localtimestamp()", "CAST(' Today' AS DATE)",
     "(SELECT max(current_timestamp()) FROM range(2))"],
)  # fmt: skip
def test_a_query_that_asks_what_time_it_is_is_not_known_again(spark: SparkSession, clock: str) -> None:
    assert SinkJob(spark.range(1).selectExpr("id", f"{clock} AS t"), lines, None).origin() == ""
    assert SinkJob(spark.range(1).where(f"{clock} IS NOT NULL"), lines, None).origin() == ""


def test_a_loop_with_a_progress_of_its_own(
    spark: SparkSession, tmp_path: Path, life: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    """What is new is not taken for what is there."""
    done: set[str] = set()

    def program(batches: str, *, keyed: bool) -> None:
        for batch in batches:
            if batch not in done:
                data = spark.createDataFrame([(batch,)], "s string").coalesce(1)
                sink = PartitionFileSink(str(tmp_path / f"keyed {keyed}"), lines, mode="append")
                sink.save(data, key=batch if keyed else None)
                done.add(batch)

    def lives(*each: tuple[str, str], keyed: bool) -> None:
        """What is done by then, as far as the program knows, and what there is to do."""
        for epoch, (there, batches) in enumerate(each, 1):
            life(epoch)
            done.clear()
            done.update(there)
            program(batches, keyed=keyed)

    with pytest.raises(YarnspecError, match=r"of other data.*a key for each save"):
        lives(("", "ab"), ("", "ab"), ("ab", "abc"), keyed=False)
    assert done == {"a", "b"}
    assert len(read(tmp_path / "keyed False")) == 2
    lives(("", "ab"), ("a", "abcd"), ("", "abcd"), keyed=True)
    assert sorted(read(tmp_path / "keyed True")) == [f"Row(s='{batch}')\n" for batch in "abcd"]
    assert [text for text in caplog.messages if "nothing runs for save 'b'" in text]


def test_a_stream_that_goes_on_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path, life: Callable[[int], None]
) -> None:
    source, written = tmp_path / "source", dict[int, int]()
    source.mkdir()

    def run(text: str, *, keyed: bool) -> None:
        (source / text).write_text(f"{text}\n")

        def save(batch: Any, number: int) -> None:
            sink = PartitionFileSink(str(tmp_path / "out"), lines, mode="append")
            written[number] = sink.save(batch.coalesce(1), **({"key": str(number)} if keyed else {})).written

        writer = spark.readStream.text(str(source)).writeStream.foreachBatch(save).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()

    life(1)
    with pytest.raises(StreamingQueryException, match="a save in foreachBatch needs a key"):
        run("a", keyed=False)
    run("b", keyed=True)
    run("c", keyed=True)
    life(2)
    run("d", keyed=True)
    assert sorted(read(tmp_path / "out")) == [f"Row(value='{text}')\n" for text in "abcd"]
    # Its last batch again, as it had not been noted.
    (tmp_path / "checkpoint" / "commits" / "3").unlink()
    (tmp_path / "checkpoint" / "commits" / ".3.crc").unlink(missing_ok=True)
    life(3)
    run("e", keyed=True)
    assert (written[3], written[4]) == (0, 1)
    assert sorted(read(tmp_path / "out")) == [f"Row(value='{text}')\n" for text in "abcde"]


def test_two_saves_to_one_path_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """The second is refused, whichever thread or application it comes from, and disturbs nothing."""
    out = str(tmp_path / "out")
    began, may_end = tmp_path / "began", tmp_path / "may end"

    def wait(_records: Iterator[Any], _file: BinaryIO) -> None:
        began.touch()
        for _ in range(600):
            if may_end.exists():
                return
            threading.Event().wait(0.1)

    data = spark.sparkContext.parallelize([1], 1)
    first = threading.Thread(target=lambda: PartitionFileSink(out, wait).save(data))
    first.start()
    try:
        for _ in range(600):
            if began.exists():
                break
            threading.Event().wait(0.1)
        (tmp_path / "link").symlink_to(out)
        for path in (out, str(tmp_path / "link")):
            with pytest.raises(PathClaimed, match=spark.sparkContext.applicationId):
                PartitionFileSink(path, lines, mode="append").save(data)
        # Another application's claim, as it would be found.
        claim = tmp_path / ".out.yarnspec-claim"
        other = tmp_path / ".elsewhere.yarnspec-claim"
        other.write_text(claim.read_text().replace('"process": "', '"process": "not '))
        with pytest.raises(PathClaimed):
            PartitionFileSink(str(tmp_path / "elsewhere"), lines).save(data)
        assert not (tmp_path / "elsewhere").exists()
    finally:
        may_end.touch()
        first.join(60)
    assert read(tmp_path / "out") == [""]
    PartitionFileSink(str(tmp_path / "elsewhere"), lines, take_over=True).save(data)
    assert read(tmp_path / "elsewhere") == ["1\n"]
    # The link stays one, and leads to the new output.
    PartitionFileSink(str(tmp_path / "link"), lines, mode="overwrite").save(data)
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "out") == ["1\n"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["began", "elsewhere", "link", "may end", "out"]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    data = spark.sparkContext.parallelize([1], 1)
    out = str(tmp_path / "out")
    for bad in ({"mode": "ignore"}, {"suffix": "/x"}, {"suffix": "csv"}, {"records": "pandas"}):
        with pytest.raises(UsageError):
            PartitionFileSink(out, lines, **bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a writer is a function"):
        PartitionFileSink(out, "lines")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="can be saved"):
        PartitionFileSink(out, lines).save([1])
    with pytest.raises(UsageError, match="records="):
        PartitionFileSink(out, lines, records="rows").save(data)
    for key in ("", 0, 7):
        with pytest.raises(UsageError, match="a key is a text"):
            PartitionFileSink(out, lines).save(data, key=key)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="foreachBatch"):
        PartitionFileSink(out, lines).save(spark.readStream.format("rate").load())
    with pytest.raises(UsageError, match="the root"):
        PartitionFileSink("file:///", lines).save(data)
    for path in ("s3a://bucket/out", "viewfs:///out", "webhdfs://localhost/out", "ftp://localhost/out"):
        with pytest.raises(UsageError, match="a rename is not atomic, or not known to be"):
            PartitionFileSink(path, lines).save(data)
    assert list(tmp_path.iterdir()) == []
