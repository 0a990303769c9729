"""What has been measured so far: a JSON file that grows by one run at a time, so that a run can be taken up again."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import Literal

import msgspec
import pyspark

import yarnspec
from integration.bench.sides import CONFIGURATION, FLAGS, Side

Bench = Literal["start", "tpch", "tpcds"]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, and where. Numbers of different setups are never put together."""

    yarnspec: str
    spark: str
    machine: str
    hosts: int
    scale: float
    flags: tuple[str, ...]
    configuration: dict[str, str]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one side; ``values`` in milliseconds by name."""

    bench: Bench
    side: Side
    repeat: int
    values: dict[str, int]


class Measured(msgspec.Struct, kw_only=True):
    """The content of the file."""

    schema: int = 1
    setup: Setup
    samples: list[Sample] = []

    def has(self, bench: Bench, side: Side, repeat: int) -> bool:
        """Whether this run was made already."""
        return any((one.bench, one.side, one.repeat) == (bench, side, repeat) for one in self.samples)

    def pairs(self, bench: Bench) -> list[dict[Side, dict[str, int]]]:
        """The values of both sides for every repeat that is complete."""
        by_repeat: dict[int, dict[Side, dict[str, int]]] = {}
        for one in self.samples:
            if one.bench == bench:
                by_repeat.setdefault(one.repeat, {})[one.side] = one.values
        return [by_repeat[repeat] for repeat in sorted(by_repeat) if len(by_repeat[repeat]) == 2]


def setup(hosts: int, scale: float) -> Setup:
    """What is measured now."""
    return Setup(
        yarnspec=fingerprint(),
        spark=pyspark.__version__,
        machine=machine(),
        hosts=hosts,
        scale=scale,
        flags=FLAGS,
        configuration=CONFIGURATION,
    )


def load(path: Path, now: Setup) -> Measured:
    """Take up the file again if it was measured with this setup; else begin anew and keep the old one beside it."""
    try:
        measured = msgspec.json.decode(path.read_bytes(), type=Measured)
    except FileNotFoundError:
        return Measured(setup=now)
    if measured.setup == now:
        return measured
    path.replace(path.with_suffix(f".before{path.suffix}"))
    return Measured(setup=now)


def store(path: Path, measured: msgspec.Struct) -> None:
    """Write a file of results by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1))
    new.replace(path)


def fingerprint() -> str:
    """A digest of yarnspec's own files: numbers of another state of the code are not continued."""
    digest = hashlib.sha256()
    package = Path(yarnspec.__file__).parent
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.java"), *package.rglob("pom.xml")]):
        if "target" not in path.parts:
            digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def machine() -> str:
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{os.cpu_count()} cores ({model}), {memory_gb:.0f} GB"
