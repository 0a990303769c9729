"""What the core is told once, before the first event: sizes, limits and periods."""

from __future__ import annotations

from typing import Literal

import msgspec

DetectorKind = Literal["progress", "execution-time", "input-weighted"]


class DetectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How slow tasks are found; the baseline's three numbers are seed 000's R, M and B.

    The rest is of the detector ``progress`` and of the speed of hosts. ``min_finished`` ended tasks on other hosts are
    enough to compare with; a copy takes ``copy_start_ms`` to start, and must gain as much; the first
    ``cold_start_ms`` of a task on an executor that has ended none yet are not held against it; less than ``noise_ms``
    is never late, and twice that is allowed for hiccups when hosts are compared. A late task is slow when its host is
    slow with the probability ``task_proof``, or after ``stuck_multiplier`` times its expected time and the lower bound.
    A host is slow with the probability ``host_proof`` and from ``host_slow_factor`` times the time of others; what was
    seen of it has half the weight after ``host_memory_ms``.
    """

    kind: DetectorKind = "progress"
    check_interval_ms: int = 500
    baseline_lower_bound_ms: int = 60_000
    baseline_ratio: float = 0.75
    baseline_multiplier: float = 1.5
    heartbeat_interval_ms: int = 1_000

    min_finished: int = 3
    copy_start_ms: int = 300
    cold_start_ms: int = 3_000
    noise_ms: int = 100
    stuck_multiplier: float = 20.0
    task_proof: float = 0.3
    host_proof: float = 0.85
    host_slow_factor: float = 1.5
    host_memory_ms: int = 300_000


class SpeculationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many copies of slow tasks there may be, and what is done for them.

    ``max_concurrent_executions`` counts the original too. The shares are of the tasks that run when a copy is asked
    for, in the stage or in the application, a task with copies being one; each allows at least ``min_copies``, as at
    the end of a stage nothing runs but its slow tasks. ``max_copies_of_task`` is over the task's whole life, so that a
    task whose copies fail is not copied for ever; where more may run at once, so many may be. ``slot_patience_ms``: how
    long a copy waits for a slot before a container is asked for; ``container_idle_ms``: how long such a container is
    kept without a task.
    """

    enabled: bool = True
    max_concurrent_executions: int = 2
    max_share_of_stage: float = 0.5
    max_share_of_application: float = 0.33
    min_copies: int = 2
    max_copies_of_task: int = 4
    copy_writers: bool = False
    slot_patience_ms: int = 2_000
    container_idle_ms: int = 10_000
    log_interval_ms: int = 300_000

    @property
    def copies_ever(self) -> int:
        """How many copies a task may have in its life."""
        return max(self.max_copies_of_task, self.max_concurrent_executions - 1)


class BlockSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long automatic blocks last: slow hosts always as long, faulty ones twice as long each time, up to a limit.

    ``faulty_tasks``: how many tasks must fail on a host and succeed elsewhere before it counts as faulty;
    ``faulty_deaths``: how many executors must die young there while others live. Not ``enabled``: only people block.
    """

    enabled: bool = True
    slow_duration_ms: int = 60_000
    faulty_duration_ms: int = 600_000
    faulty_duration_max_ms: int = 3_600_000
    faulty_tasks: int = 3
    faulty_deaths: int = 2


class RecoverySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether finished work is kept for a next driver, and how long that waits for it.

    ``off`` says why it is not kept although that was wanted, ``refused`` why a later epoch must not run without it.
    ``replay_wait_ms``: how long a driver with a past waits for the journal, ``question_wait_ms``: any driver with a
    question about a shuffle; ``recorded_maps``: how many maps the shuffles may have that are recorded at a time;
    ``fruitless_epochs``: how many in a row may end with nothing new finished, beside ``taken_away``: those of attempts
    that somebody outside ended; ``lives``: how many numbers of epochs each attempt has. ``driver_restarts``: how
    often a driver that died is started again in the same attempt; the first time at once, the second after
    ``restart_first_ms``, each further time after twice as long, at most ``restart_max_ms``. ``live_adoption_ms``: how
    long the map outputs of an executor that died while its driver lives wait for another on its host; 0: not at all.
    ``keep_for_ms``: how long what an epoch left waits for the next one to begin; 0: however long that takes.
    ``repeatable``: a map that runs again gives the same rows, or their order makes no difference: somebody says so.
    """

    enabled: bool = False
    off: str = ""
    refused: str = ""
    window_ms: int = 30_000
    replay_wait_ms: int = 90_000
    question_wait_ms: int = 25_000
    recorded_maps: int = 1_000_000
    fruitless_epochs: int = 2
    lives: int = 1
    taken_away: tuple[int, ...] = ()
    driver_restarts: int = 0
    restart_first_ms: int = 1_000
    restart_max_ms: int = 30_000
    live_adoption_ms: int = 0
    keep_for_ms: int = 300_000
    repeatable: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the core's decisions depend on; the shell fills it from the plan and the options file.

    ``excluded_hosts`` are blocked before the first container is asked for, so no container can slip onto one while
    the negotiator starts. ``max_executor_failures`` of None means max(3, 2 x target), Spark's own rule. ``task_cpus``
    is ``spark.task.cpus``: an executor has as many slots as that goes into its cores.
    """

    initial_executors: int
    executor_memory_mb: int
    executor_vcores: int = 1
    executor_label: str = ""
    task_cpus: int = 1

    excluded_hosts: tuple[str, ...] = ()
    force_excluded: bool = False
    hosts_wait_ms: int = 15_000
    blocked_share: float = 0.33

    resource_wait_ms: int = 300_000

    removed_wait_ms: int = 10_000

    young_ms: int = 30_000
    max_executor_failures: int | None = None
    failure_window_ms: int = 600_000
    backoff_first_ms: int = 1_000
    backoff_max_ms: int = 30_000

    speculation: SpeculationSettings = SpeculationSettings()
    detector: DetectorSettings = DetectorSettings()
    blocks: BlockSettings = BlockSettings()
    recovery: RecoverySettings = RecoverySettings()
