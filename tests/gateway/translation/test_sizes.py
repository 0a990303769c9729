"""Sizes of containers, as Spark on YARN works them out."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.sizes import duration_ms, initial_executors, memory_mb, plan_sizes
from yarnspec.options import default_options, load


def executor_mb(**properties: str) -> int:
    sizes = plan_sizes(
        {f"spark.{key.replace('_', '.')}": value for key, value in properties.items()}, default_options()
    )
    return sizes.executor.container_memory_mb


@pytest.mark.parametrize(
    ("properties", "expected_mb"),
    [
        ({}, 1024 + 384),
        ({"executor_memory": "10g"}, 10240 + 1024),
        ({"executor_memory": "10g", "executor_memoryOverheadFactor": "0.4"}, 10240 + 4096),
        ({"executor_memory": "2g", "executor_minMemoryOverhead": "1g"}, 2048 + 1024),
        ({"executor_memory": "2g", "executor_memoryOverhead": "100"}, 2048 + 100),
        ({"executor_minMemoryOverhead": "500", "executor_memoryOverhead": "100"}, 1024 + 100),
        ({"executor_memoryOverheadFactor": "0.5", "executor_memoryOverhead": "100"}, 1024 + 100),
        ({"executor_pyspark_memory": "512m"}, 1024 + 384 + 512),
        ({"memory_offHeap_size": "1g"}, 1024 + 384),
        ({"memory_offHeap_size": "1g", "memory_offHeap_enabled": "true"}, 1024 + 384 + 1024),
        ({"memory_offHeap_size": str(300 * 1024**2), "memory_offHeap_enabled": "TRUE"}, 1024 + 384 + 300),
        ({"executor_memory": "1500"}, 1500 + 384),
        ({"executor_memory": "3847m"}, 3847 + 384),
        ({"executor_memory": "3859m"}, 3859 + 385),
    ],
)
def test_an_executors_container_is_as_large_as_spark_makes_it(properties: dict[str, str], expected_mb: int) -> None:
    assert executor_mb(**properties) == expected_mb


def test_the_am_container_holds_skein_the_negotiator_and_the_driver() -> None:
    options = load(None, ["am.skein_memory=300m", "am.negotiator_memory=200m"], {}).options
    sizes = plan_sizes({"spark.driver.memory": "2g", "spark.driver.memoryOverhead": "500m"}, options)
    assert sizes.am_memory_mb == 2048 + 500 + 300 + 200
    assert sizes.driver_heap_mb == 2048
    assert sizes.am_vcores == 1
    least = plan_sizes({"spark.driver.minMemoryOverhead": "500"}, options)
    assert least.am_memory_mb == 1024 + 500 + 300 + 200
    assert plan_sizes({"spark.driver.cores": "2", "spark.yarn.am.cores": "3"}, options).am_vcores == 3


def test_the_sizes_are_told_to_spark_as_the_user_wrote_them() -> None:
    given = {"spark.executor.memory": "2g", "spark.executor.pyspark.memory": "1g", "spark.executor.cores": "4"}
    told = plan_sizes(given, default_options()).properties
    assert told["spark.executor.memory"] == "2g"
    assert told["spark.executor.cores"] == "4"
    assert told["spark.executor.memoryOverhead"] == "384m"
    assert told["spark.executor.pyspark.memory"] == "1g"
    assert told["spark.driver.memory"] == "1g"


@pytest.mark.parametrize(
    ("key", "value", "flag"),
    [
        ("spark.executor.memory", "1.5g", "--executor-memory"),
        ("spark.executor.memory", "lots", "--executor-memory"),
        ("spark.executor.memory", "1gg", "--executor-memory"),
        ("spark.executor.memory", "", "--executor-memory"),
        ("spark.executor.memory", "-1g", "--executor-memory"),
        ("spark.executor.memory", "470m", "--executor-memory"),
        ("spark.driver.memory", "300m", "--driver-memory"),
        ("spark.executor.cores", "0", "--executor-cores"),
        ("spark.executor.cores", "two", "--executor-cores"),
        ("spark.executor.instances", "0", "--num-executors"),
        ("spark.driver.cores", "-1", "--driver-cores"),
        ("spark.executor.memoryOverhead", "1,5g", "spark.executor.memoryOverhead"),
        ("spark.executor.memoryOverheadFactor", "none", "spark.executor.memoryOverheadFactor"),
        ("spark.executor.memoryOverheadFactor", "nan", "spark.executor.memoryOverheadFactor"),
        ("spark.memory.offHeap.enabled", "yes", "spark.memory.offHeap.enabled"),
        ("spark.task.cpus", "0", "spark.task.cpus"),
        ("spark.task.cpus", "half", "spark.task.cpus"),
    ],
)
def test_a_malformed_size_is_a_usage_error_with_the_flags_name(key: str, value: str, flag: str) -> None:
    with pytest.raises(UsageError, match=re.escape(flag)) as caught:
        plan_sizes({key: value}, default_options())
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("given", "too_little", "flag"),
    [
        ({"spark.task.cpus": "2"}, {"spark.executor.cores": "1"}, "--executor-cores"),
        ({"spark.memory.offHeap.enabled": "true"}, {"spark.memory.offHeap.size": "0"}, "spark.memory.offHeap.size"),
    ],
)
def test_a_size_that_the_program_may_still_set_is_a_warning(
    given: dict[str, str], too_little: dict[str, str], flag: str
) -> None:
    (warning,) = plan_sizes(given, default_options()).warnings
    assert warning.startswith(flag)
    assert "unless the program sets" in warning
    with pytest.raises(UsageError, match=re.escape(flag)):
        plan_sizes(given | too_little, default_options())


def test_the_rule_of_the_overhead_is_told_to_a_program_that_sets_another_memory() -> None:
    given = {"spark.executor.memoryOverheadFactor": "0.4", "spark.executor.minMemoryOverhead": "1g"}
    sizes = plan_sizes(given, default_options())
    assert given.keys() <= set(sizes.of_executors)
    assert given.items() <= sizes.properties.items()


def test_a_task_may_want_a_part_of_a_core() -> None:
    assert plan_sizes({}, default_options()).executor.task_cpus == 1
    assert plan_sizes({"spark.task.cpus": "0.5"}, default_options()).executor.task_cpus == 0.5


def test_the_least_heap_is_enough() -> None:
    assert plan_sizes({"spark.executor.memory": "471m"}, default_options()).executor.heap_mb == 471


def dynamic(**counts: int) -> dict[str, str]:
    properties = {
        f"spark.dynamicAllocation.{name}": str(count) for name, count in counts.items() if name != "instances"
    }
    if "instances" in counts:
        properties["spark.executor.instances"] = str(counts["instances"])
    return properties | {"spark.dynamicAllocation.enabled": "true"}


def test_executors_to_begin_with() -> None:
    assert initial_executors({}) == 2
    assert initial_executors({"spark.executor.instances": "5"}) == 5
    assert initial_executors(dynamic()) == 0
    assert initial_executors(dynamic(minExecutors=3)) == 3
    assert initial_executors(dynamic(minExecutors=3, initialExecutors=2)) == 3
    assert initial_executors(dynamic(minExecutors=1, initialExecutors=4, instances=6)) == 6
    assert initial_executors(dynamic(initialExecutors=4, maxExecutors=4)) == 4
    assert initial_executors(dynamic(instances=0)) == 0


@pytest.mark.parametrize(
    "counts", [{"minExecutors": 3, "maxExecutors": 2}, {"maxExecutors": 0}, {"initialExecutors": -1}]
)
def test_contradicting_counts_are_refused(counts: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=r"spark\.dynamicAllocation"):
        initial_executors(dynamic(**counts))


@given(st.integers(0, 10**6), st.sampled_from(["k", "kb", "ki", "kib", "m", "MB", "g", "GiB", "t", "p", "b", ""]))
def test_sizes_are_whole_mebibytes_rounded_down(number: int, unit: str) -> None:
    scale = {"b": -2, "k": -1, "m": 0, "": 0, "g": 1, "t": 2, "p": 3}[unit[:1].lower()]
    expected = number * 1024**scale if scale >= 0 else number // 1024**-scale
    assert memory_mb(f"{number}{unit}", "x") == expected


@given(st.text(max_size=8))
def test_any_text_is_a_size_and_a_duration_or_a_usage_error(text: str) -> None:
    for read in (memory_mb, duration_ms):
        with contextlib.suppress(UsageError):
            assert isinstance(read(text, "spark.x"), int)


@pytest.mark.parametrize(
    ("text", "expected_ms"), [("10", 10), ("1h", 3_600_000), ("2min", 120_000), ("-1", -1), ("900us", 0)]
)
def test_durations_are_read_as_spark_reads_them(text: str, expected_ms: int) -> None:
    assert duration_ms(text, "x") == expected_ms


@given(st.integers(471, 200_000), st.floats(0.01, 2))
def test_a_container_is_never_smaller_than_its_heap_and_spark_s_least_overhead(heap_mb: int, factor: float) -> None:
    properties = {"spark.executor.memory": f"{heap_mb}m", "spark.executor.memoryOverheadFactor": repr(factor)}
    container_mb = plan_sizes(properties, default_options()).executor.container_memory_mb
    assert container_mb == heap_mb + max(384, int(heap_mb * factor))
