"""The options ``recovery.…``: which finished work is recorded, and how the next driver gets it back."""

from __future__ import annotations

from typing import Annotated

import msgspec

from yarnspec.core.options.types import MsOrZero

TASKS_PER_EPOCH = 50_000_000
EPOCH_MAX = 41
"""Task numbers begin at epoch times ``TASKS_PER_EPOCH``, and some of Spark's writers take them for 32-bit integers."""
_UNCOUNTED = 3
"""So many more attempts have their epochs: YARN does not count one that it preempted or whose host was lost."""


def restarts_in_each(attempts: int, wanted: int = EPOCH_MAX) -> int:
    """How often a driver may be started again in each of these attempts, so that all epochs have numbers."""
    return max(0, min(wanted, EPOCH_MAX // (attempts + _UNCOUNTED) - 1))


class RecoveryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Going on with the work that is left after the driver or the application master died; docs/recovery.md says how.
    Flink's names of these options are taken as well, with a warning: execution.batch.job-recovery.enabled and others,
    all in docs/options.md.
    """

    enabled: bool = True
    """Whether finished map outputs and written files are recorded, so that the next driver goes on from there.
    `false`: a driver that dies ends the attempt, and the next one runs the program from its first line, as in Spark.
    In two cases recovery is off by itself, with a warning. First, where this option is not set and
    spark.yarn.am.attemptFailuresValidityInterval is. Second, where recovery cannot work: with
    spark.io.encryption.enabled, spark.shuffle.service.fetch.rdd.enabled, spark.shuffle.push.enabled,
    spark.shuffle.useOldFetchProtocol, another spark.shuffle.manager or a spark.shuffle.sort.io.plugin.class. Nor can it
    work without spark.shuffle.checksum.enabled, unless verify_checksums is off as well."""

    window_ms: int = 30_000
    """How long the next driver waits for map outputs of the one before, counted from when executors can reach it. The
    driver goes on as soon as all are there. Until then containers are asked for only on the hosts that hold them. If an
    executor still takes over outputs on a host when this time ends, the driver waits on for that host. It gives up
    after one whole window without a new output, or after ten windows at most. Maps whose outputs come later run
    again."""

    journal_buffer_bytes: int = 1_048_576
    """Finished tasks are written to the journal as soon as their records take this much memory."""

    flush_interval_ms: int = 1_000
    """Finished tasks are written to the journal after this time at the latest. Tasks that ended within this time before
    a crash may run again."""

    journal_appends: bool = True
    """Whether the journal of a driver epoch is one file that grows. `false`: a new file is made each time records are
    written: once a flush_interval, and at each shuffle and step of a write. Set `false` where the file system cannot
    bring the content of an open file to the disk. The journal must be on HDFS, viewfs or local files."""

    repeatable: bool = False
    """Whether a map that runs again gives the same rows, or rows whose order makes no difference. Spark takes this for
    granted while a driver lives. Set `true` only for a program whose functions are deterministic: they use no random
    numbers, no clock and no outside service. The order of equal rows must not matter. Do not group, join or sort by a
    sum of floats: its last bits depend on the order of rows (`docs/internals/recovery.md`). This counts when some maps
    of a shuffle have to run again, for example after a lost host. With `true` the work that was computed from the
    shuffle is used again. With `false` it runs again too."""

    verify_checksums: bool = True
    """Whether a saved map output is read once and compared with its checksums before it is used again. Its size and its
    index are checked in any case."""

    keep_per_host_mb: int = 51_200
    """Most shuffle data of ended executors that an application keeps on one host. Beyond this the oldest data that is
    not needed is deleted first. Kept data lies below YARN's local directories and goes with the application."""

    keep_for_ms: MsOrZero = 300_000
    """How long the outputs of a driver's work wait on the hosts for the next driver. The time begins with the end of
    the driver or of its attempt. For a driver that begins later the outputs count as gone. Their maps run again, and
    executors delete the outputs that they find. Written files are still recognized. 0: as long as the application."""

    driver_restarts: Annotated[int, msgspec.Meta(ge=0, le=restarts_in_each(1))] = 4
    """How often a driver that was killed or ran out of memory is started again while its application master lives.
    After that the attempt is given up; am.max_attempts says how many attempts there are. The first restart comes at
    once, the others after 1 s, 2 s and so on, 30 s at most. Only with recovery on. 0: every such end gives up the
    attempt. All attempts, with three that YARN may not count, share 41 driver epochs: at most 9 restarts with
    max_attempts=1, 7 with 2, 5 with 3, 4 with 4. With am.max_attempts=1 this is 0 unless it is set: then max_attempts
    alone asks for a single run."""

    live_adoption: bool = True
    """Whether map outputs stay in use when their executor dies while the driver lives. They wait for a new executor on
    the same host, which takes them over as after the death of a driver. Until then no task starts that would read them.
    Only with recovery on, and not beside the cluster's shuffle service, where outputs outlive their executors
    anyway."""

    live_adoption_deadline_ms: Annotated[int, msgspec.Meta(ge=1)] = 15_000
    """How long the outputs of live_adoption wait. Then their maps run again, as without live_adoption. The maps run
    again at once when the host is lost or blocked."""

    @property
    def live_adoption_ms(self) -> int:
        """How long the map outputs of an executor that died while its driver lives wait for another; 0: not at all."""
        return self.live_adoption_deadline_ms if self.live_adoption else 0
