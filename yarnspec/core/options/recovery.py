"""The options ``recovery.…``: what is recorded of finished work, and how the next driver gets it back."""

from __future__ import annotations

from typing import Annotated

import msgspec

from yarnspec.core.options.types import MsOrZero


class RecoveryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Going on with what is left of the work after the driver or the application master died; docs/recovery.md says
    how. Flink's names of these options (execution.batch.job-recovery.enabled and others, all in docs/options.md) are
    taken as well, with a warning.
    """

    enabled: bool = True
    """Whether finished map outputs and written files are recorded, so that the next driver goes on from there.
    Off: a driver that dies ends the attempt, and the next one runs the program from its first line, as in Spark. Off by
    itself, with a warning, where spark.yarn.am.attemptFailuresValidityInterval is set and this is not, and where it
    cannot work: with spark.io.encryption.enabled, spark.shuffle.service.fetch.rdd.enabled, spark.shuffle.push.enabled,
    spark.shuffle.useOldFetchProtocol, another spark.shuffle.manager or a spark.shuffle.sort.io.plugin.class, and
    without spark.shuffle.checksum.enabled, unless verify_checksums is off as well."""

    window_ms: int = 30_000
    """How long the next driver waits for map outputs of the one before, from when it can be reached; it goes on as soon
    as all are there. Until then containers are asked for on the hosts that hold them and nowhere else. A host on which
    an executor still takes over outputs when this ends is waited for until nothing has come of it for as long again,
    ten times as long at most. Maps whose outputs come later run again."""

    journal_buffer_bytes: int = 1_048_576
    """Finished tasks are written to the journal as soon as their records take so much memory."""

    flush_interval_ms: int = 1_000
    """Finished tasks are written to the journal after this time at the latest: tasks that ended within this time before
    a crash run again."""

    journal_appends: bool = True
    """Whether the journal of a driver epoch is one file that grows. `false`: one file for each time that something is
    written (once a flush_interval, and at each shuffle and step of a write), where what is written to an open file
    cannot be brought to the disk. The journal must be on HDFS, viewfs or local files."""

    repeatable: bool = False
    """Whether a map that runs again gives the same rows, or rows whose order makes no difference. Spark takes this for
    granted while a driver lives. `true` only for a program whose functions are deterministic: no random numbers, no
    clock, nobody else asked. Nor may it matter which of two equal rows comes first. No sum or mean of fractions may
    decide where a row goes, as their last bits go by the order of rows (`docs/internals/recovery.md`). `true`: the work
    computed from a shuffle is used again although some of its maps have to run again, after a lost host for example.
    `false`: that work runs again as well."""

    verify_checksums: bool = True
    """Whether a kept map output is read once and compared with its checksums before it is used again. Its size and its
    index are checked in any case."""

    keep_per_host_mb: int = 51_200
    """Most shuffle data of ended executors that an application keeps on one host; beyond it the oldest that is not
    needed goes first. Kept data lies below YARN's local directories and goes with the application."""

    keep_for_ms: MsOrZero = 300_000
    """How long the work of a driver waits on the hosts for the next driver, from the driver's end or that of its
    attempt. For a driver that begins later it counts as gone: its maps run again, and executors delete what they find
    of it. Written files are recognized as ever. 0: as long as the application."""

    driver_restarts: Annotated[int, msgspec.Meta(ge=0, le=9)] = 4
    """How often a driver that was killed or ran out of memory is started again while its application master lives,
    before the attempt is given up (`am.max_attempts` says how many of those there are): the first time at once, then
    after 1 s, 2 s and so on, 30 s at most. Only with recovery on. 0: every such end gives up the attempt. At most 9,
    and at most 6 of three attempts, 4 of four, 3 of five: all of them together have room for 21 driver epochs. With
    am.max_attempts 1 it is 0 unless it is set: that is how one asks for a single run."""

    live_adoption: bool = False
    """Whether the map outputs of an executor that dies while the driver lives wait for a new executor on its host,
    which takes them over as after the death of a driver. Until then no task starts that would read them. Only with
    recovery on, and not beside the cluster's shuffle service, where they outlive their executors anyway."""

    live_adoption_deadline_ms: Annotated[int, msgspec.Meta(ge=1)] = 15_000
    """How long the outputs of live_adoption wait; then their maps run again, as without it. They run at once when the
    host is lost or blocked."""

    @property
    def live_adoption_ms(self) -> int:
        """How long the map outputs of an executor that died while its driver lives wait for another; 0: not at all."""
        return self.live_adoption_deadline_ms if self.live_adoption else 0
