"""The options ``speculation.…``: whether slow tasks are copied, and how many copies there may be."""

from __future__ import annotations

import msgspec

from yarnspec.core.options.types import Count, Share


class SpeculationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Finding slow tasks and running copies of them elsewhere; docs/speculation.md says how."""

    enabled: bool = True
    """Whether slow tasks are copied and slow hosts found at all. `false` leaves Spark's own speculation to
    spark.speculation. Only batch jobs have copies: if somebody sets this to `true`,
    a program that streams is refused."""

    max_concurrent_executions: Count = 2
    """How many attempts of one task may run at once, the first included: 2 means one copy, 1 none."""

    max_share_of_stage: Share = 0.5
    """Most copies of a stage's tasks that may run or wait for a slot. The limit is this share of the stage's tasks that
    run when a copy is asked for, rounded up. A task counts once, however many attempts of it run."""

    max_share_of_application: Share = 0.33
    """Most copies over all stages of the application, as a share of all its tasks that run."""

    min_copies: Count = 2
    """This many copies are allowed whatever the shares say. Near a stage's end few tasks run. Without this minimum they
    would be copied one by one."""

    max_copies_of_task: Count = 4
    """Most copies that one task may have in its life, so that a task whose copies fail is not copied for ever. If
    max_concurrent_executions allows more copies at once, that number counts."""

    copy_writers: bool = False
    """Whether tasks may be copied whose stage writes in another way than as files by Spark's commit. Such ways are
    foreachPartition, JDBC and data sources of others. Two attempts of such a task may both leave their output. Say
    `true` only where writing a record twice does no harm."""

    copy_readers: bool = False
    """Whether tasks may be copied whose stage reads a source that is no file. Such sources are JDBC, Python data
    sources, data sources of others, and the output of a command (`pipe`). Two attempts of such a task ask the source
    twice. Say `true` only where that does no harm."""

    copy_cached: bool = False
    """Whether tasks may be copied whose stage fills a cache (`cache`, `persist`, `localCheckpoint`). Each attempt
    leaves its records with its executor, and later tasks read those of either. Say `true` only if your functions and
    expressions always give the same records for the same input, in whatever order it comes."""

    slot_patience_ms: int = 2_000
    """How long a copy waits for a free slot before a container is asked for it."""

    container_idle_ms: int = 10_000
    """How long a container that was asked for to run copies may stand idle before it is given back."""

    log_interval_ms: int = 300_000
    """Time between two summaries of copies and blocks in the negotiator's log."""

    @property
    def copies_ever(self) -> int:
        """How many copies a task may have in its life."""
        return max(self.max_copies_of_task, self.max_concurrent_executions - 1)
