"""How large containers must be: memory as Spark on YARN sizes it, and what Skein and the negotiator need beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.flags.request import FLAGS
from yarnspec.gateway.translation import resource_types
from yarnspec.plan import ExecutorSize

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.options import Options

MINIMUM_HEAP_MB = 471
"""A Spark JVM with less ends at once: it reserves 300 MiB, wants half as much again, and sees less than ``-Xmx``."""

DEFAULT_EXECUTORS = 2

_INSTANCES = "spark.executor.instances"
_DEFAULT_OVERHEAD = "spark.yarnspec.executor.defaultMemoryOverhead"
_MORE_OF_EXECUTORS = (
    "spark.executor.pyspark.memory",
    "spark.memory.offHeap.enabled",
    "spark.memory.offHeap.size",
    # Of these the overhead of another memory follows (ProfileSizes in the driver's JVM).
    "spark.executor.memoryOverheadFactor",
    "spark.executor.minMemoryOverhead",
)
_MEBIBYTE = 1024**2
_LETTERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"([0-9]+)(b|[kmgtp](?:|i|b|ib))?", re.ASCII)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_TIME = re.compile(r"(-?[0-9]+)(us|ms|s|min|m|h|d)?", re.ASCII)
_TIME_US = {"us": 1, "ms": 10**3, "s": 10**6, "m": 6 * 10**7, "min": 6 * 10**7, "h": 36 * 10**8, "d": 864 * 10**8}

# The flag to name when a property's value is malformed.
_FLAGS = {flag.spark_property: flag.names[0] for flag in FLAGS}


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes that are asked of YARN.

    ``properties``: the Spark properties that belong to these sizes. The program may set those in
    ``of_executors`` itself. What it says of the others comes too late. ``warnings``: what it still has to set.
    """

    executor: ExecutorSize
    initial_executors: int
    driver_heap_mb: int
    am_memory_mb: int
    am_vcores: int
    am_resources: dict[str, int] = {}
    properties: dict[str, str]
    of_executors: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def memory_mb(text: str, name: str, default_unit: str = "m") -> int:
    """Read a size as Spark does (``512m``, ``1g``; whole numbers only), in MiB, rounded down."""
    match = _SIZE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{_named(name)}: '{text}' is not a size; write a whole number and a unit, like 512m or 2g")
    unit_bytes: int = 1024 ** _LETTERS[(match[2] or default_unit)[0]]
    return int(match[1]) * unit_bytes // _MEBIBYTE


def duration_ms(text: str, name: str) -> int:
    """Read a duration as Spark does (``30s``, ``10m``, ``1h``; without a unit: milliseconds), in milliseconds."""
    match = _TIME.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{_named(name)}: '{text}' is not a duration; write a whole number and a unit, like 30s or 1h")
    return int(match[1]) * _TIME_US[match[2] or "ms"] // 1000


def whole_number(text: str, name: str, least: int = 1) -> int:
    """Read a whole number that is not less than ``least``."""
    number = int(text.strip()) if _WHOLE_NUMBER.fullmatch(text.strip()) else least - 1
    if number < least:
        raise UsageError(f"{_named(name)}: '{text}' must be a whole number, {least} or more")
    return number


def truth(text: str, name: str) -> bool:
    """Read true or false as Spark does."""
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise UsageError(f"{_named(name)}: '{text}' is neither true nor false")
    return word == "true"


def plan_sizes(properties: Mapping[str, str], options: Options, executor_label: str = "") -> Sizes:
    """Work out all sizes from Spark's merged properties; raise UsageError, naming the flag or property at fault."""
    executor_heap_mb = _heap(properties, "spark.executor.memory")
    executor_overhead_mb = _overhead(properties, "spark.executor", executor_heap_mb)
    cores = whole_number(properties.get("spark.executor.cores", "1"), "spark.executor.cores")
    task_cores = _number(properties.get("spark.task.cpus", "1"), "spark.task.cpus")
    warnings: list[str] = []
    if task_cores > cores:
        said = f"--executor-cores: a task needs {task_cores:g} cores (spark.task.cpus), an executor has {cores}"
        _left_to_program(properties, "spark.executor.cores", said, warnings)
    python_mb = memory_mb(properties.get("spark.executor.pyspark.memory", "0"), "spark.executor.pyspark.memory")
    driver_heap_mb = _heap(properties, "spark.driver.memory")
    driver_overhead_mb = _overhead(properties, "spark.driver", driver_heap_mb)
    driver_cores = whole_number(properties.get("spark.driver.cores", "1"), "spark.driver.cores")
    am_cores = whole_number(properties.get("spark.yarn.am.cores", "1"), "spark.yarn.am.cores")
    executor_resources, am_resources = resource_types.of_containers(properties)
    of_executors = {
        "spark.executor.memory": properties.get("spark.executor.memory", "1g"),
        "spark.executor.memoryOverhead": f"{executor_overhead_mb}m",
        "spark.executor.cores": str(cores),
    } | {key: properties[key] for key in _MORE_OF_EXECUTORS if key in properties}
    if "spark.executor.memoryOverhead" not in properties:
        # Executors of another size get an overhead by their own memory (ProfileSizes in the driver's JVM).
        of_executors[_DEFAULT_OVERHEAD] = of_executors["spark.executor.memoryOverhead"]
    return Sizes(
        executor=ExecutorSize(
            heap_mb=executor_heap_mb,
            container_memory_mb=executor_heap_mb + executor_overhead_mb + python_mb + _off_heap(properties, warnings),
            cores=cores,
            task_cpus=task_cores,
            label=executor_label,
            resources=executor_resources,
            tasks_max=resource_types.tasks_at_once(properties),
        ),
        initial_executors=initial_executors(properties),
        driver_heap_mb=driver_heap_mb,
        am_memory_mb=driver_heap_mb + driver_overhead_mb + options.am.skein_memory_mb + options.am.negotiator_memory_mb,
        am_vcores=max(driver_cores, am_cores),
        am_resources=am_resources,
        properties={
            "spark.driver.memory": properties.get("spark.driver.memory", "1g"),
            "spark.driver.memoryOverhead": f"{driver_overhead_mb}m",
        }
        # Without bounds the number that the program sets in its code wins, as in Spark.
        | ({_INSTANCES: properties[_INSTANCES]} if options.resources.min_executors and _INSTANCES in properties else {})
        | of_executors,
        of_executors=tuple(of_executors),
        warnings=tuple(warnings),
    )


def initial_executors(properties: Mapping[str, str]) -> int:
    """Return how many executors to begin with: Spark's rule with dynamic allocation, else ``--num-executors``."""
    instances = properties.get("spark.executor.instances")
    if not dynamic_allocation(properties):
        return DEFAULT_EXECUTORS if instances is None else whole_number(instances, "spark.executor.instances")

    def count(name: str, default: int) -> int:
        return whole_number(properties.get(name, str(default)), name, least=0)

    least = count("spark.dynamicAllocation.minExecutors", 0)
    most = count("spark.dynamicAllocation.maxExecutors", 2**31 - 1)
    first = max(least, count("spark.dynamicAllocation.initialExecutors", least), count("spark.executor.instances", 0))
    if most == 0 or least > most:
        raise UsageError(
            f"spark.dynamicAllocation.maxExecutors: '{most}' must be above 0 and no less than minExecutors, {least}"
        )
    if first > most:
        raise UsageError(
            f"spark.dynamicAllocation.maxExecutors: '{most}' is less than the {first} executors to begin with: the "
            "largest of minExecutors, initialExecutors and --num-executors"
        )
    return first


def dynamic_allocation(properties: Mapping[str, str]) -> bool:
    """Tell whether the user turned Spark's dynamic allocation on."""
    name = "spark.dynamicAllocation.enabled"
    return truth(properties.get(name, "false"), name)


def _heap(properties: Mapping[str, str], name: str) -> int:
    heap_mb = memory_mb(properties.get(name, "1g"), name)
    if heap_mb < MINIMUM_HEAP_MB:
        raise UsageError(
            f"{_named(name)}: {heap_mb} MiB is less than the {MINIMUM_HEAP_MB} MiB that Spark needs at least"
        )
    return heap_mb


def _overhead(properties: Mapping[str, str], prefix: str, heap_mb: int) -> int:
    """Spark's rule: the overhead as given, else a share of the heap, but no less than a minimum."""
    if f"{prefix}.memoryOverhead" in properties:
        return memory_mb(properties[f"{prefix}.memoryOverhead"], f"{prefix}.memoryOverhead")
    least_mb = memory_mb(properties.get(f"{prefix}.minMemoryOverhead", "384m"), f"{prefix}.minMemoryOverhead")
    factor = _number(properties.get(f"{prefix}.memoryOverheadFactor", "0.1"), f"{prefix}.memoryOverheadFactor")
    return max(int(factor * heap_mb), least_mb)


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise UsageError(f"{name}: '{text}' must be a number above 0")
    return number


def _off_heap(properties: Mapping[str, str], warnings: list[str]) -> int:
    if not truth(properties.get("spark.memory.offHeap.enabled", "false"), "spark.memory.offHeap.enabled"):
        return 0
    key = "spark.memory.offHeap.size"
    size_mb = memory_mb(properties.get(key, "0"), key, default_unit="b")
    if size_mb == 0:
        said = f"{key}: it must be 1m or more when spark.memory.offHeap.enabled is true"
        _left_to_program(properties, key, said, warnings)
    return size_mb


def _left_to_program(properties: Mapping[str, str], key: str, said: str, warnings: list[str]) -> None:
    """Refuse a value that somebody gave. If nobody gave one, the program may still set it in its code."""
    if key in properties:
        raise UsageError(said)
    warnings.append(f"{said}; unless the program sets {key} in its code, it ends with Spark's error")


def _named(name: str) -> str:
    """Name a property together with the flag that sets it."""
    return f"{_FLAGS[name]} ({name})" if name in _FLAGS else name
