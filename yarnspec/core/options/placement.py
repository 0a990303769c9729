"""The options ``placement.…``, ``resources.…`` and ``executor.…``: where containers go, and how they are replaced."""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.core.options.types import CountOrZero, FactorOrZero, MsOrOff, MsOrZero, Share, TextOrNone


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

    spread: bool = True
    """Whether containers are spread over the hosts: each is asked for on the host that has the fewest of this
    application's. With dynamic allocation, hosts with data of waiting tasks come first. Off: the ResourceManager places
    containers as it likes, and often many on one host."""

    spread_wait_ms: int = 4_000
    """How long a container is asked for on the one host that the plan gives it. After that it is asked for on one other
    host, then on a few of the emptiest hosts or of those with data, each time for as long. Then it may come
    anywhere."""

    max_per_host: CountOrZero = 0
    """Most executors of this application on one host. 0: no limit. The limit is never relaxed: a container that does
    not fit is not asked for until a host has room for it."""

    constraint: TextOrNone = ""
    """A constraint on the hosts of executors, in YARN's syntax: `notin,node,all/hbase`, `python=3.11`, `and(…:…)`; only
    in the mode `constraints`. `--placement-constraint` decides otherwise."""

    tags: TextOrNone = ""
    """Allocation tags of executors, separated by commas, for the constraints of this and other applications; only in
    the mode `constraints`."""

    spread_tasks: bool = True
    """Whether tasks start on the executor with the fewest running tasks; among equals, on the host with the fewest. If
    false, Spark chooses the executor, at random."""

    task_seed: CountOrZero = 0
    """Decides which of equally loaded executors and hosts comes first. The same number gives the same order."""

    locality_weight: FactorOrZero = 1.0
    """How much nearness to the data weighs against an even load. A task waits this many times spark.locality.wait for a
    slot near its data. 0: it takes the first slot."""


class ResourcesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many executors an application starts and runs with, and when it goes over to another number."""

    min_executors: CountOrZero = 0
    """The job starts only when this many executors are there on hosts that are not blocked (`--min-executors`). If this
    and max_executors are 0, the job starts when Spark would start it."""

    max_executors: CountOrZero = 0
    """This many executors are asked for. The job starts as soon as they are there (`--max-executors`). 0: as many as
    `--num-executors` says."""

    wait_timeout_ms: MsOrZero = 300_000
    """How long an application waits for its first containers, or for min_executors of them. Then it ends with exit
    code 6, and with the reason that YARN gives for the delay. A submit that waits counts this
    time for the application master's container, too. If that does not come in time, it kills the application. 0: wait
    for ever."""

    submission_stabilization_ms: MsOrZero = 10_000
    """How long a job that has min_executors waits for more before it starts; max_executors end this wait."""

    rescale_cooldown_ms: MsOrZero = 30_000
    """After a change of the number of executors, and after the start, the next change waits at least this long."""

    rescale_stabilization_ms: MsOrZero = 60_000
    """How long yarnspec waits for further changes before it changes the number of executors. The time counts from the
    first change, or from the end of the cooldown. A change that makes room for max_executors ends the wait at the next
    end of a stage."""

    move_executors: bool = True
    """Whether executors of a running job move to emptier hosts, for example when a host comes back. An executor moves
    only if it holds nothing that may still be read. A move is timed like a change of the number of executors. With
    dynamic allocation no executor moves."""

    rescale_max_delay_ms: MsOrOff = -1
    """A change of the number of executors waits for the end of a stage, but not longer than this. 0: no change waits
    for one. `off`: a change waits as long as the stage takes."""


class ExecutorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When dying executors are a sign that none can live, and how fast they are replaced."""

    young_age_ms: int = 30_000
    """An executor that dies before this age has died young: it was of no use. Too many young deaths end the
    application. Spark's setting spark.executor.maxNumFailures says how many (default: twice the executors, at least
    3)."""

    failure_window_ms: int = 600_000
    """Period within which young deaths are counted together. spark.executor.failuresValidityInterval wins over
    this."""

    backoff_first_ms: int = 1_000
    """Time before the first replacement of an executor that died young. It doubles with each further one. It begins
    when the executor registers, so one that worked longer is replaced at once, unless another replacement waits."""

    backoff_max_ms: int = 30_000
    """Longest time before the replacement of an executor that died young."""
