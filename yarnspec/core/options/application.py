"""The options ``submit.…``, ``history.…``, ``am.…`` and ``cluster.…``. The core decides nothing by them."""

from __future__ import annotations

import msgspec

from yarnspec.core.options.types import Count


class SubmitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How `yarnspec submit` waits for the application."""

    wait: bool = True
    """Whether `yarnspec submit` stays until the application ends. `--wait`, `--no-wait` and
    spark.yarn.submit.waitAppCompletion win over this."""

    poll_interval_ms: int = 1_000
    """Time between two looks at the application's state while waiting."""


class HistorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where an application's events stay after its end, and how long."""

    directory: str = "~/.yarnspec/history"
    """Directory on the cluster's file system where each application's events and result stay after its end. `~` is the
    user's home there."""

    report: bool = False
    """Whether the application's page is written into its history directory at the end, as report.html. The end takes
    a second or two longer. Nobody writes it when the last application master dies, or after `yarn application -kill`.
    `yarnspec report` writes the same afterwards."""

    retention_ms: int = 604_800_000
    """How long events and results stay. A later submit of the same user deletes older ones."""


class ApplicationMasterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts and memory of the application master."""

    max_attempts: Count = 2
    """How often YARN may start the application master, the first time included. The cluster has a limit of its own
    (yarn.resourcemanager.am.max-attempts). spark.yarn.maxAppAttempts wins over this. With 1 no driver is started again
    either, unless recovery.driver_restarts is set."""

    skein_memory_mb: int = 256
    """Memory in the AM container for Skein's JVM. Its heap is 128m; a JVM needs the rest beside its heap."""

    negotiator_memory_mb: int = 256
    """Memory in the AM container for the negotiator, a Python process, and for the one that draws its page."""

    page: bool = True
    """Whether YARN's link to the application leads to yarnspec's own page. yarnspec's page links to Spark's. If false,
    YARN's link leads to Spark's. A process of its own draws the page, and runs from the first look at it on."""


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Patience with the ResourceManager and HDFS."""

    connect_timeout_ms: int = 25_000
    """How long yarnspec tries to reach the ResourceManager and HDFS before giving up with exit code 4."""
