"""The core's settings, told once before the first event: the options it decides by, and facts of the attempt."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages.events import ExecutorProfile, PlacementInEffect
from yarnspec.core.options.blocklist import BlockSettings
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.options.placement import ExecutorSettings, PlacementSettings, ResourcesSettings
from yarnspec.core.options.recovery import RecoveryOptions
from yarnspec.core.options.speculation import SpeculationSettings

__all__ = [
    "BlockSettings",
    "CommonDetectorSettings",
    "ExecutorSettings",
    "PlacementSettings",
    "RecoverySettings",
    "ResourcesSettings",
    "Settings",
    "SpeculationSettings",
    "given_mb",
    "slots_of",
]

_ROUNDING = 1e-9


class RecoverySettings(RecoveryOptions, frozen=True, kw_only=True):
    """The options of recovery as an attempt has them, and what it adds to them.

    ``enabled`` and ``driver_restarts`` may be less than a user asked for. ``off`` says why finished work is not kept
    although that was wanted, ``refused`` why a later epoch must not run without it. ``replay_wait_ms``: how long the
    next driver waits for the journal. ``question_wait_ms``: how long any driver waits with a question about a shuffle.
    ``recorded_maps``: how many maps the shuffles may have that are recorded at a time. ``fruitless_epochs``: how many
    epochs in a row may end with nothing new finished. Epochs in ``taken_away`` do not count: somebody outside ended
    their attempts. ``epochs_per_attempt``: how many numbers of epochs each attempt has. A driver that died is started
    again at once the first time. The second start waits for ``restart_first_ms``, each further one twice as long, at
    most ``restart_max_ms``.
    """

    enabled: bool = False
    driver_restarts: int = 0
    off: str = ""
    refused: str = ""
    replay_wait_ms: int = 90_000
    question_wait_ms: int = 25_000
    recorded_maps: int = 1_000_000
    fruitless_epochs: int = 2
    epochs_per_attempt: int = 1
    taken_away: tuple[int, ...] = ()
    restart_first_ms: int = 1_000
    restart_max_ms: int = 30_000


def slots_of(cores: int, task_cpus: float, most: int | None = None) -> int:
    """How many tasks so many cores take at once, ``most`` at most; a task may want a part of a core, as 0.1."""
    by_cores = int(cores / task_cpus + _ROUNDING)
    return max(1, by_cores if most is None else min(by_cores, most))


def given_mb(asked_mb: int, step_mb: int, largest_mb: int | None = None) -> int:
    """How much memory YARN gives a container: a multiple of the step, but no more than its largest container has."""
    rounded_mb = -(-asked_mb // step_mb) * step_mb
    return rounded_mb if largest_mb is None else max(asked_mb, min(rounded_mb, largest_mb))


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the core's decisions depend on; the shell fills it from the plan and the options file.

    ``executor_memory_mb`` is the container's, ``executor_heap_mb`` that of the JVM in it.
    ``queue_label``: the node label of the hosts that YARN takes where executors have no ``executor_label``.
    ``executor_resources``: what an executor's container needs of further resource types, by YARN's name.
    ``executor_tasks_max``: so many tasks an executor runs at once at most, as they need such resources.
    ``executor_told``: the size of executors that the program told in an earlier attempt; it may set one in its code.
    ``earlier_rescales``: so many rescales there were in earlier attempts.

    ``excluded_hosts`` are blocked before the first container is asked for, so no container can slip onto one while
    the negotiator starts. ``max_executor_failures`` of None means max(3, 2 x target), Spark's own rule. ``task_cpus``
    is ``spark.task.cpus``: an executor has as many slots as that goes into its cores. ``registered_ratio`` and
    ``registered_wait_ms`` are Spark's rule for the start, ``spark.scheduler.minRegisteredResourcesRatio`` and
    ``spark.scheduler.maxRegisteredResourcesWaitingTime``. ``dynamic_bounds``: those of dynamic allocation, if it is on.
    ``largest_container``: MiB and cores of the largest that YARN gives. It gives memory in steps of ``memory_step_mb``.
    ``decommissions``: Spark is told of the hosts that YARN decommissions (``spark.decommission.enabled``).
    ``limited_by``: the option that ``placement.max_per_host`` comes from; a user's constraint may be such a limit, too.
    """

    initial_executors: int
    executor_memory_mb: int
    executor_heap_mb: int = 0
    executor_vcores: int = 1
    executor_label: str = ""
    queue_label: str = ""
    executor_resources: dict[str, int] = {}
    executor_tasks_max: int | None = None
    executor_told: ExecutorProfile | None = None
    earlier_rescales: int = 0
    task_cpus: float = 1
    registered_ratio: float = 0.8
    registered_wait_ms: int = 30_000
    dynamic_bounds: tuple[int, int] | None = None
    largest_container: tuple[int, int] | None = None
    memory_step_mb: int = 1
    decommissions: bool = False

    excluded_hosts: tuple[str, ...] = ()
    force_excluded: bool = False
    removed_wait_ms: int = 10_000
    max_executor_failures: int | None = None

    placement: PlacementSettings = PlacementSettings()
    limited_by: str = "placement.max_per_host"
    resources: ResourcesSettings = ResourcesSettings()
    executor: ExecutorSettings = ExecutorSettings()
    speculation: SpeculationSettings = SpeculationSettings()
    detector: CommonDetectorSettings = CommonDetectorSettings()
    blocks: BlockSettings = BlockSettings()
    recovery: RecoverySettings = RecoverySettings()

    @property
    def placement_in_effect(self) -> PlacementInEffect:
        """The options of placement as people are told of them."""
        return PlacementInEffect(
            spread=self.placement.spread,
            spread_wait_ms=self.placement.spread_wait_ms,
            max_per_host=self.placement.max_per_host,
            limited_by=self.limited_by,
            label=self.executor_label or self.queue_label,
        )
