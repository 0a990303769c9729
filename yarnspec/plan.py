"""The plan that the gateway ships to the application master: one file (``PLAN_FILE``), read once by the negotiator.

Nothing in here is secret: the file is uploaded to the application's staging directory, and every container of the
application could read Skein's specification. Secrets travel in 0600 files of their own.

Files of yarnspec in a container's working directory have names that begin with ``OWN_NAMES``. Every other name is free
for the user's files.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.messages.settings import slots_of
from yarnspec.options import Options

OWN_NAMES = "yarnspec-"
PLAN_FILE = "yarnspec-plan.json"
PLACEMENT_FILE = "yarnspec-placement.json"
RM_EVENTS_FILE = "yarnspec-rm-events.jsonl"
PROGRAM_REPORT_FILE = "yarnspec-program-report.jsonl"
SPARK_PROPERTIES_FILE = "yarnspec-spark-properties.json"
SPARK_SECRET_FILE = "yarnspec-spark-secret"  # noqa: S105 - the name of a file, not a secret
EXECUTOR_VARIABLES_FILE = "yarnspec-executor-variables.sh"
JAR_FILE = "yarnspec.jar"
HADOOP_CONF_JAR_FILE = "yarnspec-hadoop-conf.jar"
HADOOP_CONF_DIRECTORY = "yarnspec-hadoop-conf"
USERS_HADOOP_CONF = "users"
"""Below both: the same files without our overrides, for Hadoop's commands that the program starts."""
ENVIRONMENT_LINK = "yarnspec-environment"
SPARK_JARS_LINK = "yarnspec-spark-jars"
EXECUTOR_SERVICE = "executor"


class ExecutorSize(msgspec.Struct, frozen=True, kw_only=True):
    """The needs of one executor: of YARN (``container_memory_mb``) and of its JVM (``heap_mb``).

    A task takes ``task_cpus`` of its ``cores``. ``resources``: how many it needs of each further resource type, by
    YARN's name. ``tasks_max``: so many tasks at once at most, as tasks need such resources; None: cores alone count.
    """

    heap_mb: int
    container_memory_mb: int
    cores: int
    task_cpus: float = 1
    label: str = ""
    resources: dict[str, int] = {}
    tasks_max: int | None = None

    @property
    def slots(self) -> int:
        """How many tasks it runs at once."""
        return slots_of(self.cores, self.task_cpus, self.tasks_max)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The user's PySpark program as spark-submit gets it inside the AM container.

    ``primary`` names a localized file by its link in the container's working directory, or is a remote URI.
    ``arguments`` are bytes, as the system passes them on: they need not be text. ``python_files`` are those of
    ``--py-files`` that are files in the container, or paths on its host. ``files`` are the links of ``--files`` and
    ``--archives``.
    """

    primary: str
    arguments: tuple[bytes, ...] = ()
    python_files: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that the negotiator needs to know and cannot ask anybody.

    ``python`` has yarnspec and pyspark and runs the negotiator, ``driver_python`` the user's program,
    ``worker_python`` Spark's Python workers; ``activate`` is a shell line that makes them findable. ``streams``: the
    submit waits and wants the driver's output. ``max_attempts``: as many as the ResourceManager grants.
    ``recovery_off``: why finished work is not kept although that was wanted. ``http_scheme``: of the NodeManagers'
    pages; ``cluster_id``: YARN's name of the cluster, if it has one. ``context_wait_ms``: a program
    that has made no SparkContext by then is ended; 0: never. ``decommissions``: Spark is told of the hosts that YARN
    decommissions. ``sized_properties``: what the program says of these comes too late. ``executor_properties``: the
    size of the executors, which the program may set itself. ``queue_label``: the queue's default node label, which
    holds for executors without a label. ``largest_container``: MiB and cores of the largest that YARN gives.
    It gives memory in steps of ``memory_step_mb``.
    """

    schema: int = 1
    name: str
    user: str
    queue: str
    queue_label: str = ""
    program: Program
    executors: ExecutorSize
    initial_executors: int
    registered_ratio: float = 0.8
    registered_wait_ms: int = 30_000
    dynamic_bounds: tuple[int, int] | None = None
    largest_container: tuple[int, int] | None = None
    memory_step_mb: int = 1
    decommissions: bool = False
    placement_mode: Literal["blacklist", "constraints"]
    host_attribute: str = "nm.yarn.io/host"
    excluded_hosts: tuple[str, ...] = ()
    force_excluded: bool = False
    python: str
    driver_python: str
    worker_python: str
    activate: str | None = None
    spark_jars: str | None = None
    driver_heap_mb: int
    driver_java_options: tuple[str, ...] = ()
    driver_class_path: tuple[str, ...] = ()
    driver_environment: dict[str, str] = {}
    executor_java_options: tuple[str, ...] = ()
    executor_class_path: tuple[str, ...] = ()
    owned_keys: tuple[str, ...] = ()
    sized_properties: tuple[str, ...] = ()
    executor_properties: tuple[str, ...] = ()
    history_directory: str
    options: Options
    max_executor_failures: int | None = None
    recovery_off: str = ""
    max_attempts: int = 2
    attempts_are_forgotten: bool = False
    streams: bool = False
    http_scheme: str = "http"
    cluster_id: str = ""
    context_wait_ms: int = 0
