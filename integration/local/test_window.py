"""yarnspec.window in plain local Spark, without YARN."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import doctest
import importlib
import json
import math
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import RDD, shuffle
from pyspark.errors import PythonException
from pyspark.serializers import MarshalSerializer, UTF8Deserializer
from pyspark.sql import Row, SparkSession, functions

import yarnspec.window
from integration.localsession import local_session
from integration.submitting import PROGRAMS, base_environment
from integration.waiting import PATIENCE
from yarnspec.errors import UsageError
from yarnspec.window import AggregateFunction, Order, full_window_partition

NAN = math.nan
BOTH = pytest.mark.parametrize("order", Order)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for all tests."""
    yield from local_session(tmp_path_factory.mktemp("local"))


@pytest.mark.parametrize("name", ["", ".dataframe", ".folds", ".order", ".rdd", ".sort", ".spill"])
def test_the_examples(name: str, spark: SparkSession) -> None:
    module = importlib.import_module(f"yarnspec.window{name}")
    told = {name: getattr(yarnspec.window, name) for name in yarnspec.window.__all__} | {"spark": spark}
    found = doctest.testmod(module, extraglobs=told)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_examples_of_the_page(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "window.md").read_text(encoding="utf-8")
    examples = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    assert examples
    for example in examples:
        # A module of its own, as the program that a reader makes of it.
        exec(compile(example, "window.md", "exec"), {"__name__": "example"})  # noqa: S102
    shown = capsys.readouterr().out
    assert "2.5" in shown
    assert spark.range(1).count() == 1


# map_partition


def test_arrow_by_annotation_by_argument_and_rows(spark: SparkSession) -> None:
    def annotated(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            assert isinstance(batch, pa.RecordBatch)
            yield batch

    def tables(batches):  # type: ignore[no-untyped-def]
        return [pa.Table.from_batches(list(batches))]

    def rows(records: Iterator[Row]) -> Iterator[Row]:
        for record in records:
            assert isinstance(record, Row)
            yield record

    data = spark.range(10, numPartitions=3)
    expected = data.rdd.glom().collect()
    view = full_window_partition(data)
    assert view.map_partition(annotated).rdd.glom().collect() == expected
    assert view.map_partition(tables, records="arrow").rdd.glom().collect() == expected
    assert view.map_partition(rows).rdd.glom().collect() == expected
    assert view.map_partition(rows, records="rows", queue_size=1).rdd.glom().collect() == expected


def test_rows_of_all_kinds_come_and_go_as_they_are(spark: SparkSession) -> None:
    schema = (
        "i int, l bigint, d double, s string, b binary, t boolean, day date, at timestamp, ntz timestamp_ntz, "
        "n decimal(12,3), a array<int>, m map<string,int>, r struct<x:int,y:struct<z:string>>, f float"
    )
    moment = datetime.datetime(2026, 3, 4, 5, 6, 7, 8)
    full = (
        1, 2**62, 0.1, "é", b"\0\1", True, moment.date(), moment, moment, decimal.Decimal("123.456"),
        [1, None], {"a": 1, "b": None}, Row(x=1, y=Row(z="deep")), 0.5,
    )  # fmt: skip
    data = spark.createDataFrame([full, (None,) * len(full)], schema).coalesce(1)
    same = full_window_partition(data).map_partition(lambda rows: rows)
    assert same.schema == data.schema
    assert same.collect() == data.collect()


def test_results_as_rows_tuples_lists_dicts_and_values(spark: SparkSession) -> None:
    def four(_rows: Iterator[Row]) -> list[Any]:
        return [Row(a=1, b="x"), (2, "y"), [3, "z"], {"b": "by name", "a": 4}]

    view = full_window_partition(spark.range(1, numPartitions=1))
    found = view.map_partition(four, "a int, b string").collect()
    assert found == [Row(a=1, b="x"), Row(a=2, b="y"), Row(a=3, b="z"), Row(a=4, b="by name")]
    values = view.map_partition(lambda _: [1.5, None], "double")
    assert values.collect() == [Row(value=1.5), Row(value=None)]


def test_objects_pass_through_an_rdd(spark: SparkSession) -> None:
    records = [1, "a", None, {"k": [1]}, (2, 3)] * 1000
    data = spark.sparkContext.parallelize(records, 3)
    view = full_window_partition(data)
    assert view.map_partition(lambda each: each).glom().collect() == data.glom().collect()
    assert view.map_partition(lambda each: [sum(1 for _ in each)], queue_size=1).sum() == 5000


def test_objects_in_whatever_way_spark_brings_them(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("one\ntwo\nthree\n")
    context = spark.sparkContext
    some = context.parallelize(range(1000), 3)
    for data in (
        some,
        context.parallelize([], 2),
        context.textFile(str(tmp_path / "text"), 2),
        spark.range(5000, numPartitions=2).rdd,
        some.map(str).cache(),
        some.map(lambda number: (number % 7, number)).partitionBy(3),
        some.zip(some.map(str)),
        context.parallelize(range(30), 2).cartesian(context.parallelize("ab", 1)),
        some.union(context.textFile(str(tmp_path / "text"))),
        some._reserialize(MarshalSerializer()),
        context.parallelize(range(9), 1).barrier().mapPartitions(lambda each: each).cache(),
    ):
        view: Any = full_window_partition(data)
        # The second time as few at a time as can be.
        assert view.map_partition(lambda each: each).glom().collect() == data.glom().collect()
        assert view.map_partition(lambda each: each, queue_size=1).glom().collect() == data.glom().collect()


def test_it_is_as_lazy_as_what_it_came_from(spark: SparkSession) -> None:
    def never(*_records: Any) -> Any:
        raise AssertionError("nobody asked for it")

    view = full_window_partition(spark.range(3))
    view.map_partition(never, "x int")
    view.sort_partition("id")
    view.reduce(never)
    full_window_partition(spark.range(3).rdd).map_partition(never)


def lines_of(spark: SparkSession, script: str) -> RDD[Any]:
    """What a shell script says, line by line, with nothing of Python between it and Spark."""
    lines = spark.sparkContext._jsc.parallelize([""], 1).pipe(["sh", "-c", script])
    return RDD(lines, spark.sparkContext, UTF8Deserializer())


def test_records_are_read_ahead_while_the_function_works(spark: SparkSession, tmp_path: Path) -> None:
    """More of them than what is between Spark and Python holds otherwise."""
    sign = tmp_path / "written"

    def use(lines: Iterator[str]) -> Iterator[int]:
        yield len(next(lines))
        deadline = time.monotonic() + 60
        while not sign.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield sum(1 for _ in lines)

    many = f"for n in $(seq 400); do head -c 100000 /dev/zero | tr '\\0' x; echo; done; touch {sign}"
    assert full_window_partition(lines_of(spark, many)).map_partition(use).collect() == [100_000, 399]


def test_functions_of_one_task_share_its_thread(spark: SparkSession) -> None:
    """What both use needs no lock: accumulators above all, of which additions would be lost."""
    counted = spark.sparkContext.accumulator(0)

    def before(_record: int) -> int:
        counted.add(1)
        return threading.get_ident()

    def use(records: Iterator[int]) -> Iterator[bool]:
        for record in records:
            counted.add(1)
            yield record == threading.get_ident()

    data = full_window_partition(spark.sparkContext.parallelize(range(100), 2).map(before)).map_partition(use)
    # Behind a window in the same task as well.
    again = full_window_partition(data.filter(bool)).map_partition(lambda records: [sum(records)], queue_size=3)
    assert again.collect() == [50, 50]
    assert counted.value == 200


@pytest.mark.parametrize("kind", ["rows", "arrow", "objects"])
def test_a_function_that_ends_early_leaves_a_worker_in_order(kind: str, spark: SparkSession) -> None:
    data = spark.range(300_000, numPartitions=2)
    if kind == "objects":
        view = full_window_partition(data.rdd.map(itemgetter(0)))
        assert view.map_partition(lambda records: [next(records)]).collect() == [0, 150_000]
    elif kind == "rows":
        found = full_window_partition(data).map_partition(lambda records: [next(records)]).collect()
        assert found == [Row(id=0), Row(id=150_000)]
    else:
        firsts = full_window_partition(data).map_partition(lambda batches: [next(batches).slice(0, 1)], records="arrow")
        assert firsts.collect() == [Row(id=0), Row(id=150_000)]
    assert readers_in_worker(spark) == []
    assert data.rdd.count() == 300_000


def test_a_function_that_ends_early_leaves_nothing_of_the_task_running(spark: SparkSession) -> None:
    """Spark uses the worker again, which reads no more of this task's records then."""
    slow = "head -c 100000 /dev/zero | tr '\\0' x; echo; sleep 2; echo y"
    firsts = full_window_partition(lines_of(spark, slow)).map_partition(lambda lines: [len(next(lines))])
    assert firsts.collect() == [100_000]
    assert readers_in_worker(spark) == []


def readers_in_worker(spark: SparkSession) -> list[str]:
    """The names of our threads that live in the worker process, which the next task gets as well."""

    def names(_records: Any) -> Iterator[str]:
        return (thread.name for thread in threading.enumerate() if thread.name.startswith("yarnspec"))

    return list(spark.sparkContext.parallelize([0], 1).mapPartitions(names).collect())


def test_whoever_wants_no_more_ends_it(spark: SparkSession) -> None:
    data = spark.range(300_000, numPartitions=2)
    assert full_window_partition(data).map_partition(lambda rows: rows).limit(2).collect() == [Row(id=0), Row(id=1)]
    objects = full_window_partition(data.rdd).map_partition(lambda records: records)
    assert objects.take(2) == [Row(id=0), Row(id=1)]
    # In one pipeline with a function that ends early.
    assert objects.mapPartitions(lambda records: [next(records)[0]]).collect() == [0, 150_000]
    assert readers_in_worker(spark) == []


@pytest.mark.parametrize("kind", ["rows", "objects"])
def test_an_error_of_either_side_is_the_tasks(kind: str, spark: SparkSession) -> None:
    def fails(records: Iterator[Any]) -> Iterator[Any]:
        yield next(records)
        raise LookupError("in the function")

    data = spark.range(10, numPartitions=1)
    upstream = data.select(functions.udf(lambda number: 1 // (number - 5), "bigint", useArrow=False)("id").alias("id"))
    if kind == "rows":
        with pytest.raises(PythonException, match="in the function"):
            full_window_partition(data).map_partition(fails).collect()
        with pytest.raises(PythonException, match="ZeroDivisionError"):
            full_window_partition(upstream).map_partition(lambda rows: rows).collect()
        return
    with pytest.raises(Exception, match="in the function"):
        full_window_partition(data.rdd).map_partition(fails).collect()
    # In the same Python process, and caught by the function: it is the task's error all the same.
    inverse = data.rdd.map(lambda row: 1 // (row.id - 5))

    def forgiving(records: Iterator[int]) -> Iterator[int]:
        with contextlib.suppress(ZeroDivisionError):
            yield from records

    with pytest.raises(Exception, match="ZeroDivisionError"):
        full_window_partition(inverse).map_partition(forgiving).collect()
    assert readers_in_worker(spark) == []


# sort_partition


def numbers(count: int = 2000) -> list[tuple[Any, int]]:
    chance = random.Random(7)  # noqa: S311
    some = [None, NAN, math.inf, -math.inf, 0.0]
    keys = [chance.choice(some) if chance.random() < 0.1 else float(chance.randrange(50)) for _ in range(count)]
    return list(zip(keys, range(count), strict=True))


def shown(records: Any) -> list[list[tuple[str, int]]]:
    """By partition, with a NaN that equals itself."""
    return [[(str(record[0]), record[1]) for record in part] for part in records.glom().collect()]


@BOTH
def test_a_dataframe_as_spark_sorts_it(order: Order, spark: SparkSession) -> None:
    data = spark.createDataFrame(numbers(), "key double, number bigint").repartition(3).cache()
    column = data["key"].desc() if order is Order.DESCENDING else data["key"].asc()
    expected = shown(data.sortWithinPartitions(column, "number").rdd)
    view = full_window_partition(data.sortWithinPartitions("number"))

    def by_function(row: Row) -> float | None:
        return row.key  # type: ignore[no-any-return]

    for key in ("key", 0, -2, functions.col("key") + 1, by_function):
        assert shown(view.sort_partition(key, order, stable=True).rdd) == expected
    # Not stable, the keys are in the same order still.
    found = shown(view.sort_partition("key", order).rdd)
    assert [[key for key, _ in part] for part in found] == [[key for key, _ in part] for part in expected]
    data.unpersist()


@BOTH
def test_objects_are_placed_as_spark_places_rows(order: Order, spark: SparkSession) -> None:
    """Nulls, NaN and all, and stable; in memory and from disk."""
    data = spark.createDataFrame(numbers(), "key double, number bigint").coalesce(1)
    view = full_window_partition(data.sortWithinPartitions("number"))
    expected = shown(view.sort_partition("key", order, stable=True).rdd)
    objects: Any = full_window_partition(spark.sparkContext.parallelize(numbers(), 1))
    assert shown(objects.sort_partition(0, order)) == expected
    assert shown(objects.sort_partition(itemgetter(0), order, memory="10k")) == expected
    rows = full_window_partition(data.sortWithinPartitions("number").rdd)
    assert shown(rows.sort_partition("key", order)) == expected


def test_a_sort_by_a_field_is_sparks_own_plan(spark: SparkSession) -> None:
    data = spark.range(10).select((functions.col("id") % 3).alias("key"), functions.col("id").alias("number")).cache()
    view = full_window_partition(data)

    def plan(of: Any) -> Any:
        return of._jdf.queryExecution().executedPlan()

    ascending, descending = data.sortWithinPartitions("key"), data.sortWithinPartitions(functions.desc("key"))
    for key in ("key", 0, data["key"]):
        assert plan(view.sort_partition(key)).sameResult(plan(ascending))
        assert plan(view.sort_partition(key, Order.DESCENDING)).sameResult(plan(descending))
    assert not plan(ascending).sameResult(plan(descending))
    data.unpersist()


def test_a_sort_on_disk_is_counted_and_leaves_nothing(spark: SparkSession) -> None:
    def watched(records: Iterator[Any]) -> Iterator[Any]:
        directories = [Path(each) for each in os.environ["SPARK_LOCAL_DIRS"].split(",")]

        def spilled() -> list[bool]:
            """Of each deleted file that is open still, whether it is where it should be."""
            links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
            deleted = [link for link in links if link.endswith("(deleted)")]
            return [any(link.startswith(f"{each}/") for each in directories) for link in deleted]

        found = [next(records)]
        during = spilled()
        found += records
        files = [str(path) for each in directories for path in each.rglob("yarnspec*") if path.is_file()]
        yield found, shuffle.MemoryBytesSpilled, shuffle.DiskBytesSpilled, files, during, spilled()

    count = 50_000
    data = spark.sparkContext.parallelize(range(count), 1).map(lambda number: (number * 7919 % count, str(number)))
    view: Any = full_window_partition(data)
    ordered = view.sort_partition(0, memory="1m")
    ((records, memory, disk, files, during, after),) = ordered.mapPartitions(watched).collect()
    assert [key for key, _ in records] == list(range(count))
    assert memory > disk > count
    assert files == []
    assert during
    assert all(during)
    assert after == []


def test_partitions_and_partitioner_stay(spark: SparkSession) -> None:
    data = spark.sparkContext.parallelize([(number % 7, number) for number in range(100)], 4).partitionBy(3)
    ordered = full_window_partition(data).sort_partition(1, Order.DESCENDING)
    assert ordered.partitioner == data.partitioner
    assert ordered.glom().collect() == [sorted(part, key=itemgetter(1), reverse=True) for part in data.glom().collect()]


def test_keys_of_a_function_that_do_not_fit_their_type(spark: SparkSession) -> None:
    """Spark would take them for nulls, and sort nothing."""
    view = full_window_partition(spark.createDataFrame([(3,), (1,), (2,)], "n bigint").coalesce(1))

    def whole(row: Row) -> float:
        return row.n  # type: ignore[no-any-return]

    def half(row: Row) -> int:
        return row.n / 2  # type: ignore[no-any-return]

    assert [row.n for row in view.sort_partition(whole).collect()] == [1, 2, 3]
    with pytest.raises(PythonException, match=r"the key function half returned 1\.5 \(float\), which does not fit"):
        view.sort_partition(half).collect()


def test_columns_of_the_users_with_our_names_stay(spark: SparkSession) -> None:
    data = spark.createDataFrame([(1, 9, 8), (2, 7, 6)], "a int, __YARNSPEC_row_number int, __yarnspec_key int")
    ordered = full_window_partition(data.coalesce(1)).sort_partition(lambda row: -row.a, stable=True, key_type="bigint")
    assert ordered.columns == data.columns
    assert [tuple(row) for row in ordered.collect()] == [(2, 7, 6), (1, 9, 8)]


def test_columns_of_one_name_are_told_apart_by_index(spark: SparkSession) -> None:
    data = spark.range(3).coalesce(1).select(functions.col("id"), (-functions.col("id")).alias("id"))
    ordered = full_window_partition(data).sort_partition(1, stable=True)
    assert ordered.columns == ["id", "id"]
    assert [tuple(row) for row in ordered.collect()] == [(2, -2), (1, -1), (0, 0)]


def test_names_that_differ_in_their_letters_case_alone(spark: SparkSession) -> None:
    data = spark.range(3).coalesce(1).select(functions.col("id").alias("a"), (-functions.col("id")).alias("A"))
    ordered = full_window_partition(data).sort_partition(1)
    assert ordered.columns == ["a", "A"]
    assert [tuple(row) for row in ordered.collect()] == [(2, -2), (1, -1), (0, 0)]


@pytest.mark.parametrize("other", ["id", "ID"])
def test_names_that_spark_cannot_tell_apart_are_told(other: str, spark: SparkSession) -> None:
    data = spark.range(3).select(functions.col("id"), functions.col("id").alias(other))
    view = full_window_partition(data)
    with pytest.raises(UsageError, match=f"more than one column of the name {other}: give them names of their own"):
        view.map_partition(lambda rows: rows)
    with pytest.raises(UsageError, match="more than one column of the name"):
        view.aggregate(Count(), "bigint")
    with pytest.raises(UsageError, match="more than one column of the name"):
        view.reduce(lambda one, _: one)
    with pytest.raises(UsageError, match="more than one column of the name Id: say its index"):
        view.sort_partition("Id")


def test_names_that_spark_can_tell_apart_do(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        data = spark.range(2).coalesce(1).select(functions.col("id"), (-functions.col("id")).alias("ID"))
        view = full_window_partition(data)
        assert view.map_partition(lambda rows: rows).collect() == [Row(id=0, ID=0), Row(id=1, ID=-1)]
        assert [row["ID"] for row in view.sort_partition("ID").collect()] == [-1, 0]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("ordered", [functions.desc, functions.asc_nulls_last])
def test_a_column_that_has_an_order_is_refused(ordered: Any, spark: SparkSession) -> None:
    with pytest.raises(UsageError, match="has an order already"):
        full_window_partition(spark.range(3)).sort_partition(ordered("id"))


def test_results_that_do_not_fit_are_the_tasks_error(spark: SparkSession) -> None:
    view = full_window_partition(spark.range(1, 4, numPartitions=1))
    with pytest.raises(PythonException, match=r"1\.5 \(float\) for the column n, which is int"):
        view.map_partition(lambda rows: ((row.id * 1.5,) for row in rows), "n int").collect()
    with pytest.raises(PythonException, match=r"'ab' \(str\), and no Row, tuple, list or dict"):
        view.map_partition(lambda _: ["ab"], "a string, b string").collect()
    with pytest.raises(PythonException, match=r"6\.0 \(float\) for the column id"):
        view.reduce(lambda one, other: ((one[0] + other[0]) / 2 * 2,)).where("id > 0").collect()
    with pytest.raises(PythonException, match="a batch of results has the columns"):
        view.map_partition(lambda batches: batches, "other bigint", records="arrow").collect()


def test_a_key_function_that_raises_stop_iteration_fails_the_task(spark: SparkSession) -> None:
    view: Any = full_window_partition(spark.sparkContext.parallelize([5, 1, 4, 2, 3], 1))
    with pytest.raises(Exception, match="StopIteration"):
        view.sort_partition(lambda number: next(each for each in (number,) if each != 4)).collect()


def test_a_column_with_an_odd_name_by_index(spark: SparkSession) -> None:
    data = spark.range(3).coalesce(1).select(functions.col("id").alias("a.`b"))
    view = full_window_partition(data)
    assert [row[0] for row in view.sort_partition(0, Order.DESCENDING).collect()] == [2, 1, 0]
    assert view.map_partition(lambda rows: rows).collect() == data.collect()


# aggregate and reduce


class Count(AggregateFunction[Any, int, Any]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, _value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, _one: int, _other: int) -> int:
        raise AssertionError


def test_each_partition_has_one_aggregate_also_an_empty_one(spark: SparkSession) -> None:
    data = spark.range(10, numPartitions=4).where("id < 5")
    objects: Any = full_window_partition(data.rdd)
    assert objects.aggregate(Count()).collect() == [2, 3, 0, 0]
    by_dataframe = full_window_partition(data).aggregate(Count(), "int")
    assert [row.value for row in by_dataframe.collect()] == [2, 3, 0, 0]


def test_a_partition_without_records_reduces_to_nothing(spark: SparkSession) -> None:
    data = spark.range(10, numPartitions=4).where("id < 5")

    def add(one: Any, other: Any) -> Any:
        return (one[0] + other[0],)

    assert full_window_partition(data).reduce(add).rdd.glom().collect() == [[Row(id=1)], [Row(id=9)], [], []]
    assert full_window_partition(data.rdd).reduce(add).glom().collect() == [[(1,)], [(9,)], [], []]


# What is refused


def test_a_stream_has_no_full_window(spark: SparkSession) -> None:
    with pytest.raises(UsageError, match="streaming DataFrame has no end"):
        full_window_partition(spark.readStream.format("rate").load())


@pytest.mark.parametrize("data", [None, [1, 2], pa.table({"a": [1]})])
def test_other_things_have_no_partitions(data: Any) -> None:
    with pytest.raises(TypeError, match="a DataFrame"):
        full_window_partition(data)


def test_wrong_arguments_are_told_at_once(spark: SparkSession) -> None:
    rows = full_window_partition(spark.range(1))
    objects: Any = full_window_partition(spark.range(1).rdd)
    with pytest.raises(UsageError, match="there is no field 1: the DataFrame has 1 column"):
        rows.sort_partition(1)
    with pytest.raises(UsageError, match="key_type"):
        rows.sort_partition(lambda row: row.id)
    with pytest.raises(UsageError, match="queue_size=0"):
        rows.map_partition(lambda records: records, queue_size=0)
    with pytest.raises(UsageError, match="queue_size=0"):
        objects.map_partition(lambda records: records, queue_size=0)
    with pytest.raises(UsageError, match="records='pandas'"):
        rows.map_partition(lambda records: records, records="pandas")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="without columns"):
        full_window_partition(spark.range(3).select()).map_partition(lambda records: records, "x int")
    with pytest.raises(UsageError, match="memory: '1 potato'"):
        objects.sort_partition(0, memory="1 potato")
    for view in (rows, objects):
        with pytest.raises(TypeError, match="a sort key is an index, a name"):
            view.sort_partition(True)
        with pytest.raises(TypeError, match="a sort key is an index, a name"):
            view.sort_partition(1.5)


# A Python that has no yarnspec


def test_workers_need_no_yarnspec(tmp_path: Path) -> None:
    """The driver has it, the workers' interpreter has not; own modules that import it come by --py-files."""
    python = python_without_yarnspec(tmp_path / "venv")
    environment = base_environment() | {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "windows.py"), "local[1,2]", str(PROGRAMS / "total_of_partition.py")],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120 * PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
    check_windows(json.loads(line), python)


def python_without_yarnspec(place: Path) -> Path:
    """A virtual environment that sees the packages of this one, without running what makes yarnspec one of them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60 * PATIENCE)
    packages = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "from-here.pth").write_text("\n".join(here) + "\n")
    python = place / "bin" / "python"
    found = subprocess.run(
        [str(python), "-E", "-c", "import pyarrow, yarnspec"], capture_output=True, text=True, check=False, cwd=place
    )
    assert "No module named 'yarnspec'" in found.stderr
    return python


def check_windows(found: dict[str, Any], python: Path) -> None:
    """What ``programs/windows.py`` printed."""
    assert found["python"] == [str(python)]
    assert found["yarnspec_from"] == ["yarnspec-tasks.zip"]
    assert found["sorted"] == [[0, 2, 4, 6, 8], [9, 7, 5, 3, 1]]
    # As if the task had not died at its first attempt.
    assert found["retried"] == [[0, 4, 8, 12, 16], [18, 14, 10, 6, 2]]
    assert found["spilled"]
    assert found["dataframe"] == list(range(9, -1, -1))
    assert found["doubled"] == [2 * number for number in range(10)]
    assert found["batches"] == 10
    assert found["aggregated"] == [5, 5]
    assert found["by_module"] == 10
    assert found["reduced"] == [20, 25]
