"""The options ``placement.…``, ``resources.…`` and ``executor.…``: where containers go, and how they are replaced."""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.options.types import MsOrZero, Share


class PlacementSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How containers are kept off blocked hosts, and how many hosts may be blocked."""

    mode: Literal["auto", "blacklist", "constraints"] = "auto"
    """How containers are kept off blocked hosts. `constraints`: by YARN placement constraints on host_attribute. The
    ResourceManager must take them, and the hosts must publish the attribute. `blacklist`: by YARN's blacklist, which
    works on every cluster. `auto`: constraints where they work, else the blacklist."""

    max_blocked_share: Share = 0.33
    """Largest share of the cluster's hosts that may be blocked at once without `--force`. One host may always be
    blocked, all hosts never."""

    host_attribute: str = "nm.yarn.io/host"
    """Name of the node attribute in which the hosts publish their own name, for the mode `constraints`."""

    hosts_wait_ms: int = 15_000
    """How long yarnspec waits at the start for the ResourceManager's list of hosts. Without the list nobody can tell
    how large the share of blocked hosts is."""


class ResourcesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long an application waits for what it asked for."""

    wait_timeout_ms: MsOrZero = 300_000
    """How long an application waits for its first containers. Then it ends with exit code 6, and with the reason that
    YARN gives for the delay. A submit that waits also counts the time until the application master of each attempt gets
    a container. It kills an application that got none. 0: wait for ever."""


class ExecutorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When dying executors are a sign that none can live, and how fast they are replaced."""

    young_age_ms: int = 30_000
    """An executor that dies below this age has died young: it was of no use. Too many young deaths end the application.
    Spark's setting spark.executor.maxNumFailures says how many (default: twice the executors, at least 3)."""

    failure_window_ms: int = 600_000
    """Period within which young deaths are counted together. spark.executor.failuresValidityInterval wins over
    this."""

    backoff_first_ms: int = 1_000
    """Time before the first replacement of an executor that died young. It doubles with each further one."""

    backoff_max_ms: int = 30_000
    """Longest time before the replacement of an executor that died young."""
