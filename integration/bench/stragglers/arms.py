"""What is compared: the same program on the same hosts, and who looks after slow tasks."""

from __future__ import annotations

from typing import Literal

import msgspec

HOSTS = 4
SLOTS_PER_HOST = 2
AM_HOST, SLOW_HOST = 0, HOSTS - 1
"""The same ones in every arm, by their place among the hosts: where the application master is, and which is slow."""
SLOWER = 10
STAGES = 6
RECORD_S = 0.01


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """A job of six stages; each record of a task is one wait of 10 ms."""

    name: str
    tasks: int
    records: int
    aim: float
    """The job's time with yarnspec as shipped, as a multiple of the oracle's."""


WORKLOADS = (
    Workload(name="8 tasks of 2 s", tasks=8, records=200, aim=1.15),
    Workload(name="64 tasks of 0.5 s", tasks=64, records=50, aim=1.05),
)


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """One way to run the job."""

    name: str
    words: str
    flags: tuple[str, ...]
    slow: bool = True
    """One of the hosts is slow."""
    excluded: bool = False
    """And it is kept out from the start."""
    copies: Literal["nobody", "spark", "yarnspec"] = "nobody"
    beside: bool = False
    """It runs at the same time as others that no aim is about, each on a cluster of its own: tasks mostly wait."""


_OFF = ("--set", "speculation.enabled=false")
_SPARK = (*_OFF, "--conf", "spark.speculation=true")
_TUNED = ("--conf", "spark.speculation.quantile=0.5", "--conf", "spark.speculation.multiplier=1.5")

ORACLE = "oracle"
SHIPPED = "yarnspec"
HEALTHY = "healthy"
HEALTHY_SHIPPED = "healthy-yarnspec"
ARMS = (
    Arm(name="none", words="no speculation", flags=_OFF, beside=True),
    Arm(name="spark", words="Spark 4's defaults, speculation on", flags=_SPARK, copies="spark", beside=True),
    Arm(
        name="spark-tuned",
        words="Spark, quantile 0.5, multiplier 1.5",
        flags=(*_SPARK, *_TUNED),
        copies="spark",
        beside=True,
    ),
    Arm(
        name="seed",
        words="yarnspec, execution-time with the seed's defaults",
        flags=("--set", "detector.kind=execution-time", "--set", "detector.check_interval=1s"),
        copies="yarnspec",
        beside=True,
    ),
    Arm(name=SHIPPED, words="yarnspec as shipped", flags=(), copies="yarnspec"),
    Arm(name=ORACLE, words="oracle: the slow host left out", flags=_OFF, excluded=True),
    Arm(name=HEALTHY, words="all hosts healthy, no speculation", flags=_OFF, slow=False),
    Arm(name=HEALTHY_SHIPPED, words="all hosts healthy, yarnspec as shipped", flags=(), slow=False, copies="yarnspec"),
)
