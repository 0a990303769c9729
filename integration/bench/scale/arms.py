"""The applications of the bench: plain Skein, and yarnspec with a driver that only counts its executors."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import numpy as np

from integration.bench.scale.hollow import Classes, Containers, HollowHosts
from integration.bench.sides import beginning
from integration.cluster import Cluster
from integration.processes import ENDS_WITH_US, container_processes
from integration.submitting import APPLICATION_ID, ENDED, PROGRAMS, asked, run_yarnspec
from integration.waiting import NotInTimeError, wait_for
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

Mode = Literal["blacklist", "constraints"]
Found = TypeVar("Found")

AM_VCORES = 16
"""More than a hollow host has, and all that the real host has: the AM runs there, and nothing else does."""
HEAP_MB, OVERHEAD_MB = 480, 32
CONTAINER_MB = HEAP_MB + OVERHEAD_MB
BLOCKED_SHARE = 0.33
LEAVING_SHARE = 0.1
NOT_YET = "-not-yet"
_SUBMIT_S = 90.0
_LOOK_S = 0.5


class Calls(msgspec.Struct, frozen=True):
    """The AM's allocate calls: how many, when the first one asked for something, and how long the provider took."""

    count: int
    first_asked_ms: int
    own_ms: tuple[float, ...]

    @property
    def p50_ms(self) -> float:
        """The median time of yarnspec's provider."""
        return float(np.percentile(self.own_ms, 50))

    @property
    def p99_ms(self) -> float:
        """The 99th percentile."""
        return float(np.percentile(self.own_ms, 99))


class Filled(msgspec.Struct, frozen=True):
    """All containers have come."""

    seconds: float
    rate: float
    uneven: int
    calls: Calls
    am_mb: float
    am_cpu_s: float


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """What yarnspec showed beside that: its process, and what became of blocked hosts and of hosts that left.

    A time is not a number where its end did not come.
    """

    filled: Filled
    negotiator_mb: float
    negotiator_cpu_s: float
    calls: Calls
    blocked: int
    in_force_s: float
    still_to_come: int
    on_blocked: int
    left: int
    lost: int
    replaced_s: float
    doubled: int
    missing: int
    surplus: int
    uneven: int


class TooSmallError(Exception):
    """The containers did not all come; the text says what is known of it."""


class Bench:
    """The cluster with its hollow hosts, and the applications that run on it one after the other."""

    def __init__(self, cluster: Cluster, classes: Classes, hosts: HollowHosts, workspace: Path) -> None:
        self._cluster = cluster
        self._classes = classes
        self._hosts = hosts
        self._workspace = workspace
        self._number = 0

    def alone(self, containers: int, timeout_s: float) -> Filled:
        """Skein alone: one service of so many instances."""
        name, calls, environment = self._next("alone")
        command = [
            sys.executable, "-m", "integration.bench.scale.alone", name, str(containers), str(CONTAINER_MB),
            str(AM_VCORES),
        ]  # fmt: skip
        application_id = self._submit(name, command, environment)
        try:
            return self._filled(application_id, containers, calls, timeout_s)
        finally:
            self._kill(application_id)

    def ours(self, containers: int, mode: Mode, timeout_s: float) -> Ours:
        """Skein with yarnspec's provider and negotiator: undisturbed, then with hosts that are blocked or leave."""
        name, calls, environment = self._next(mode)
        application_id = self._submit_ours(name, containers, environment, mode)
        try:
            filled = self._filled(application_id, containers, calls, timeout_s)
        finally:
            self._kill(application_id)
        name, calls, environment = self._next(f"{mode}-disturbed")
        blocked = self._hosts.names[: int(BLOCKED_SHARE * (len(self._hosts.names) + 1))]
        self._list(blocked, _list_of(name) + NOT_YET)
        application_id = self._submit_ours(name, containers, environment, mode)
        try:
            return self._disturbed(
                application_id, name, containers=containers, filled=filled, blocked=blocked, calls=calls,
                timeout_s=timeout_s,
            )  # fmt: skip
        finally:
            self._kill(application_id)

    def _submit_ours(self, name: str, containers: int, environment: dict[str, str], mode: Mode) -> str:
        environment |= {
            "YARNSPEC_PLACEMENT__MODE": mode,
            "YARNSPEC_BLOCKLIST__CLUSTER_DIRECTORY": _list_of(name),
            "YARNSPEC_BLOCKLIST__CLUSTER_REFRESH": "1 s",
        }
        flags = [
            "--no-wait", "--name", name, "--num-executors", str(containers), "--executor-cores", "1",
            "--executor-memory", f"{HEAP_MB}m", "--driver-memory", "512m", "--driver-cores", str(AM_VCORES),
            "--conf", f"spark.executor.memoryOverhead={OVERHEAD_MB}m",
            "--conf", f"spark.yarn.appMasterEnv.JAVA_HOME={self._stub_java_home()}",
        ]  # fmt: skip
        command = [*beginning("yarnspec"), *flags, str(PROGRAMS / "first_task.py")]
        return self._submit(name, command, environment)

    def _next(self, arm: str) -> tuple[str, Path, dict[str, str]]:
        """Name the next run, its file of allocate calls, and the environment whose configuration names both clocks."""
        self._number += 1
        name = f"scale-{self._number}-{arm}"
        calls = self._workspace / f"{name}.calls"
        conf = self._workspace / f"{name}-conf"
        shutil.copytree(self._cluster.mini.home.conf, conf)
        site = ET.parse(conf / "yarn-site.xml")  # noqa: S314 - a file that the mini cluster has just written
        entries = {entry.findtext("name"): entry for entry in site.getroot()}
        class_path = entries["yarn.application.classpath"].find("value")
        assert class_path is not None
        # Skein alone ships no configuration: its AM reads the first on this path.
        class_path.text = f"{conf},{class_path.text},{self._classes.directory}"
        for key, value in (
            ("yarn.client.failover-no-ha-proxy-provider", "TimedProvider"),
            ("yarnspec.bench.calls", str(calls)),
        ):
            entry = ET.SubElement(site.getroot(), "property")
            ET.SubElement(entry, "name").text = key
            ET.SubElement(entry, "value").text = value
        site.write(conf / "yarn-site.xml")
        environment = {
            **self._cluster.environment,
            "HADOOP_CONF_DIR": str(conf),
            "HADOOP_CLASSPATH": str(self._classes.directory),
        }
        return name, calls, environment

    def _stub_java_home(self) -> Path:
        """Make a Java home whose `java` runs the driver without Spark, whatever class it is asked for."""
        home = self._workspace / "stub-java"
        java = home / "bin" / "java"
        if not java.exists():
            java.parent.mkdir(parents=True)
            options = "-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
            run = f"exec {self._classes.java} {options} -cp {shlex.quote(self._classes.spark)} StubDriver"
            java.write_text(f'#!/bin/sh\n{run} "$@"\n')
            java.chmod(0o755)
        return home

    def _submit(self, name: str, command: list[str], environment: dict[str, str]) -> str:
        done = subprocess.run(
            [*ENDS_WITH_US, *command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_SUBMIT_S * 3, check=False,
        )  # fmt: skip
        found = APPLICATION_ID.search(done.stdout + done.stderr)
        if done.returncode != 0 or found is None:
            message = f"{name} was not submitted: {done.stdout[-1000:]}\n{done.stderr[-3000:]}"
            raise RuntimeError(message)
        return found.group()

    def _filled(self, application_id: str, containers: int, calls: Path, timeout_s: float) -> Filled:
        """Wait until so many containers run."""
        until_s = time.monotonic() + timeout_s
        while len((found := self._hosts.containers(application_id)).running) < containers:
            state = self._cluster.application(application_id).get("state")
            if state in ENDED or time.monotonic() > until_s:
                message = f"{len(found.running)} of {containers} containers came; {state}; {self._last_words()}"
                raise TooSmallError(message)
            time.sleep(_LOOK_S)
        made = _calls(calls)
        seconds = (max(one.at_ms for one in found.running) - made.first_asked_ms) / 1000
        am = _process(application_id, "skein-am")
        return Filled(
            seconds=seconds,
            rate=containers / seconds,
            uneven=self._uneven(found, self._hosts.names),
            calls=made,
            am_mb=_peak_mb(am),
            am_cpu_s=_cpu_s(am),
        )

    def _disturbed(
        self,
        application_id: str,
        name: str,
        *,
        containers: int,
        filled: Filled,
        blocked: tuple[str, ...],
        calls: Path,
        timeout_s: float,
    ) -> Ours:
        """Block hosts in one go when half of the containers run; then some of them and of the others leave and come."""

        def running(count: int) -> Containers | None:
            now = self._hosts.containers(application_id)
            return now if len(now.running) >= count else None

        _in_time(lambda: running(containers // 2), timeout_s)
        self._cluster.hdfs_rename(_list_of(name) + NOT_YET, _list_of(name))
        listed_ms = _now_ms()
        in_force_ms = _in_time(lambda: self._in_force_ms(application_id, len(blocked)), timeout_s)
        _in_time(lambda: running(containers), timeout_s)
        found = self._hosts.containers(application_id)
        came_ms = self._allocated(application_id, found)

        others = self._hosts.names[len(blocked) :]
        leaving = [*blocked[:: round(1 / LEAVING_SHARE)], *others[:: round(1 / LEAVING_SHARE)]]
        lost = sum(found.on_hosts[host] for host in leaving)
        left_ms = _now_ms()
        self._hosts.leave(leaving)

        def elsewhere() -> Containers | None:
            now = running(containers)
            return now if now and not any(now.on_hosts[host] for host in leaving) else None

        replaced = _in_time(elsewhere, timeout_s)
        self._hosts.back(leaving)
        _in_time(lambda: self._back(leaving) and self._agree(application_id, containers), timeout_s)
        listed, found, asked_for = self._counts(application_id)
        there = {one.container for one in found.running}
        came_ms |= self._allocated(application_id, found)
        negotiator = _process(application_id, "negotiator")
        late = [one for one in found.started if in_force_ms and came_ms.get(one.container, one.at_ms) > in_force_ms]
        return Ours(
            filled=filled,
            negotiator_mb=_peak_mb(negotiator),
            negotiator_cpu_s=_cpu_s(negotiator),
            calls=_calls(calls),
            blocked=len(blocked),
            in_force_s=_between_s(listed_ms, in_force_ms),
            still_to_come=sum(one.at_ms < left_ms for one in late),
            on_blocked=sum(one.host in blocked for one in late),
            left=len(leaving),
            lost=lost,
            replaced_s=_between_s(left_ms, max(one.at_ms for one in replaced.started) if replaced else None),
            doubled=found.doubled,
            missing=max(0, containers - min(len(listed & there), asked_for)),
            surplus=max(0, max(len(listed | there), asked_for) - containers),
            uneven=self._uneven(found, [host for host in others if host not in leaving]),
        )

    def _allocated(self, application_id: str, found: Containers) -> dict[str, int]:
        """When the ResourceManager gave out the containers that run: some time before their hosts start them."""
        came_ms = self._cluster.allocated(application_id)
        return {one.container: came_ms[one.container] for one in found.running if one.container in came_ms}

    def _back(self, hosts: list[str]) -> bool:
        states = self._cluster.node_states()
        return all(states.get(host) == "RUNNING" for host in hosts)

    def _list(self, hosts: tuple[str, ...], directory: str) -> None:
        """Write a list of blocked hosts. Once it is renamed the application reads all of it at once."""
        shared = ClusterBlocks.of(HadoopConf.read(self._cluster.environment), directory, timeout_s=30)
        assert shared is not None
        for host in hosts:
            shared.block(host, reason="the bench", duration_ms=None, now_ms=_now_ms())

    def _in_force_ms(self, application_id: str, count: int) -> int | None:
        """When the ResourceManager was told of all blocks; None: not yet."""
        told = run_yarnspec(self._cluster, "events", application_id, "-o", "json").expect(0)
        versions: set[int] = set()
        for record in told.lines:
            if record["type"] == "UpdatePlacement" and len(record["blocked_hosts"]) >= count:
                versions.add(record["version"])
            if record["type"] == "PlacementAcknowledged" and record["version"] in versions:
                return int(record["time_ms"])
        return None

    def _agree(self, application_id: str, containers: int) -> bool:
        """Whether the ResourceManager, the hosts and the negotiator count the same containers."""
        listed, found, asked_for = self._counts(application_id)
        return listed == {one.container for one in found.running} and len(listed) == asked_for == containers

    def _counts(self, application_id: str) -> tuple[set[str], Containers, int]:
        """The containers that the ResourceManager, the hosts and the negotiator (only how many) say run."""
        listed = self._cluster.containers(application_id)
        executors = {container for container in listed if listed[container] in self._hosts.names}
        return executors, self._hosts.containers(application_id), asked_running(self._cluster, application_id)

    def _uneven(self, found: Containers, hosts: tuple[str, ...] | list[str]) -> int:
        counts = [found.on_hosts[host] for host in hosts]
        return max(counts) - min(counts)

    def _last_words(self) -> str:
        """What the AM's JVM said of its memory, where it did."""
        said = [
            line
            for path in self._cluster.home.glob("hosts/*/logs/*/*/*")
            if path.is_file()
            for line in path.read_text(errors="replace").splitlines()
            if "OutOfMemoryError" in line
        ]
        return said[-1] if said else "no OutOfMemoryError was told"

    def _kill(self, application_id: str) -> None:
        self._cluster.command("yarn", "application", "-kill", application_id)
        wait_for(
            f"the end of {application_id}",
            lambda: not self._hosts.containers(application_id).running and not container_processes(application_id),
            60,
        )


def asked_running(cluster: Cluster, application_id: str) -> int:
    """How many executors the negotiator says run."""
    containers = asked(cluster, application_id).containers
    return sum(one.role == "executor" and one.state == "RUNNING" for one in containers)


def _in_time(condition: Callable[[], Found | None], timeout_s: float) -> Found | None:
    """The answer as soon as it is truthy; None when it is not in time, which the table then shows."""
    try:
        return wait_for("", condition, timeout_s, patience=1)
    except NotInTimeError:
        return None


def _between_s(begin_ms: int, end_ms: int | None) -> float:
    return math.nan if end_ms is None else (end_ms - begin_ms) / 1000


def _list_of(name: str) -> str:
    """Where the run's list of blocked hosts is."""
    return f"/bench/{name}"


def _calls(path: Path) -> Calls:
    made = [line.split() for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return Calls(
        count=len(made),
        first_asked_ms=next((int(at) for at, _, _, sent, _ in made if int(sent)), 0),
        own_ms=tuple(int(own) / 1000 for _, own, _, _, _ in made if own != "-"),
    )


def _process(application_id: str, what: str) -> Path:
    found = next(one for one in container_processes(application_id) if one.what == what)
    return Path("/proc") / str(found.pid)


def _peak_mb(process: Path) -> float:
    line = next(line for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _cpu_s(process: Path) -> float:
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def shown(run: Filled | Ours) -> str:
    """A run as one line, without its calls."""
    told = msgspec.to_builtins(run)
    for document in (told, told.get("filled", {})):
        document.pop("calls", None)
    return json.dumps(told)
