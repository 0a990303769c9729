"""A driver with our jar and stock executors as processes of this machine, without YARN.

It plays the negotiator with the real bridge and frames: it answers what the driver asks about shuffles, keeps what it
says of finished maps, and hands that to the next driver. Each executor has a loopback address for a host, and the
directories that a NodeManager would give its containers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration import localshuffles, quickjvm
from integration.localshuffles import Shuffle
from integration.localwrites import LocalWrites, Step
from integration.processes import ENDS_WITH_US
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.feed.outputs import OUTPUTS_ERRORS, OutputsReader
from yarnspec.jvm import jar_path
from yarnspec.spark.bridge import BRIDGE_ERRORS, DriverBridge
from yarnspec.spark.properties import complete, free_port, recovery_keys, write
from yarnspec.spark.runtime import (
    COMMAND_LINE_MASTER,
    DRIVER_MAIN,
    MODULE_OPTIONS,
    driver_class_path,
    spark_home,
)

# A driver that is killed breaks its connections, and py4j writes a traceback for each.
logging.getLogger("py4j").setLevel(logging.CRITICAL)

ROOT = Path(__file__).resolve().parent.parent
HOOK = ROOT / "yarnspec" / "spark" / "program_hook"
DRIVER_HOST = "127.0.0.1"
HOSTS = ("127.0.0.2", "127.0.0.3")
APPLICATION = "application_1_0001"
DEADLINE_S = 600.0
WINDOW_MS = 30_000
KEEP_BYTES = 1 << 40


Task = tuple[int, int]
"""Its stage and its partition."""


@dataclass
class Life:
    """How one driver fared.

    ``done_again``: the tasks that began again after they had succeeded.
    """

    epoch: int
    exit_code: int
    result: str
    tasks: int
    tasks_by_stage: dict[str, int]
    done_again: set[Task]
    events: list[dict[str, Any]]
    frames: int
    duration_s: float
    log: Path
    stopped: str = ""
    skipped: int = 0

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def restored(self) -> int:
        """How many map outputs came back."""
        return sum(event["restored"] for event in self.of("shuffle_restored"))


class LocalSpark:
    """One application: drivers that follow each other, and what is remembered between them."""

    def __init__(self, directory: Path, *, conf: Mapping[str, str] | None = None, recovery: bool = True) -> None:
        self.directory = directory
        self.shuffles: dict[int, Shuffle] = {}
        self.recorded = Recorded()
        self._conf = dict(conf or {})
        self._recovery = recovery
        self._executors = 0
        self._epoch = 0
        for host in HOSTS:
            (directory / host).mkdir(parents=True)

    def run(
        self,
        program: list[str],
        *,
        hosts: tuple[str, ...] = HOSTS,
        kill_when: Callable[[int, dict[int, Shuffle]], bool] = lambda _frames, _shuffles: False,
        kill_by: signal.Signals = signal.SIGKILL,
        gone: tuple[str, ...] = (),
        kill_at: tuple[str, int, Step] | None = None,
        lost_from: tuple[str, int] | None = None,
        executor_dies: Callable[[int], bool] = lambda _frames: False,
        replaced: bool = True,
    ) -> Life:
        """Run a driver to its end, or until it is killed.

        Args:
            program: its command line.
            hosts: where executors run.
            kill_when: told how many frames came so far, and the shuffles.
            kill_by: the signal.
            gone: hosts that do not come back.
            kill_at: a kind of question about writes, which of them, and how far its answer has come.
            lost_from: a kind of what is said of writes, and which of them: what is recorded from then on is lost.
            executor_dies: told how many frames came so far, when one comes or a shuffle is back: whether the first
                executor is killed now, once.
            replaced: another one comes to its host; else that host is given up as the negotiator would.
        """
        self._epoch += 1
        writes = LocalWrites(self._epoch, self.recorded, kill_at, lost_from)
        run = _Run(self, self._epoch, hosts, gone, kill_when=kill_when, kill_by=kill_by, writes=writes)
        run.executor_dies, run.replaced = executor_dies, replaced
        return run.run(program)

    def next_executor(self) -> str:
        """An executor's id; none comes twice."""
        self._executors += 1
        return str(self._executors)


class _Run:
    def __init__(
        self,
        application: LocalSpark,
        epoch: int,
        hosts: tuple[str, ...],
        gone: tuple[str, ...],
        *,
        kill_when: Callable[[int, dict[int, Shuffle]], bool],
        kill_by: signal.Signals,
        writes: LocalWrites,
    ) -> None:
        self._application = application
        self._epoch = epoch
        self._hosts = hosts
        self._gone = gone
        self._kill_when = kill_when
        self._kill_by = kill_by
        self._directory = application.directory / f"epoch-{epoch}"
        self._events: list[dict[str, Any]] = []
        self._frames = 0
        self._lock = threading.RLock()
        self._killed = False
        self._executors: list[subprocess.Popen[bytes]] = []
        self._decisions = localshuffles.Decisions(application.shuffles, epoch)
        self._writes = writes
        self.executor_dies: Callable[[int], bool] = lambda _frames: False
        self.replaced = True
        self._executor_killed = False
        self._url = ""
        self._bridge: DriverBridge | None = None

    def run(self, program: list[str]) -> Life:
        self._directory.mkdir()
        (self._directory / "log").mkdir()
        saved = localshuffles.save(self._application.shuffles, self._directory / "saved", self._epoch)
        properties = self._properties(saved)
        began = time.monotonic()
        log = self._directory / "driver.log"
        with log.open("wb") as err, (self._directory / "stdout").open("wb") as out:
            self._driver = subprocess.Popen(
                [*ENDS_WITH_US, *self._driver_command(properties, program)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=_environment({"SPARK_LOCAL_IP": DRIVER_HOST} | self._hook()),
                start_new_session=True,
            )
        try:
            self._negotiate(began + DEADLINE_S)
            code = self._driver.wait(timeout=60)
        finally:
            self._end()
        stdout = (self._directory / "stdout").read_text()
        result = next((line for line in stdout.splitlines() if line.startswith("RESULT ")), "")
        by_stage, done_again = self._launched()
        return Life(
            epoch=self._epoch,
            exit_code=code,
            result=result,
            tasks=sum(by_stage.values()),
            tasks_by_stage=by_stage,
            done_again=done_again,
            events=self._events,
            frames=self._frames,
            duration_s=time.monotonic() - began,
            log=log,
            stopped=self._writes.stopped,
            skipped=log.read_text().count("is not written again"),
        )

    def _properties(self, saved: Path | None) -> Path:
        shipped = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": str(self._directory / "log"),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "5",
            "spark.sql.files.maxPartitionBytes": "16k",
            "spark.sql.files.openCostInBytes": "16k",
            "spark.executor.memory": "512m",
            # Of the executors that are planned those come that there are hosts for.
            "spark.scheduler.minRegisteredResourcesRatio": str(len(self._hosts) / len(HOSTS)),
            "spark.python.worker.faulthandler.enabled": "false",
        } | self._application._conf
        if self._application._recovery:
            shipped |= recovery_keys(saved=saved, window_ms=WINDOW_MS, verify_checksums=True, keep_bytes=KEEP_BYTES)
        self._bridge_file = self._directory / ".yarnspec-driver-bridge.json"
        values = complete(
            shipped,
            application_id=APPLICATION,
            epoch=self._epoch,
            host=DRIVER_HOST,
            driver_port=free_port(DRIVER_HOST),
            executors=len(HOSTS),
            awaits_negotiator=False,
            directory=self._directory,
            secret=None,
        ) | {"spark.yarnspec.bridge.file": str(self._bridge_file)}
        write(self._directory / "spark.properties", values)
        return self._directory / "spark.properties"

    def _hook(self) -> dict[str, str]:
        """What has the program's Python run behind our hook, which owns no setting here."""
        owned = self._directory / "owned.json"
        told = {
            "owned": {},
            "sized": [],
            "defaults": {},
            "planned": {},
            "planned_keys": [],
            "expanded": [],
            "files": [],
            "recovery": self._application._recovery,
        }
        owned.write_text(json.dumps(told))
        return {
            "PYTHONPATH": str(ROOT),
            "YARNSPEC_PROGRAM_HOOK": str(HOOK),
            "YARNSPEC_OWNED_KEYS": str(owned),
            "YARNSPEC_PROGRAM_REPORT": str(self._directory / "report.jsonl"),
        }

    def _driver_command(self, properties: Path, program: list[str]) -> list[str]:
        class_path = ":".join([quickjvm.class_path(), str(jar_path()), *driver_class_path(spark_home() / "jars")])
        return [
            _java(),
            "-Xmx768m",
            *MODULE_OPTIONS,
            *quickjvm.QUICK,
            *quickjvm.options(),
            "-cp",
            class_path,
            DRIVER_MAIN,
            "--master",
            COMMAND_LINE_MASTER,
            "--properties-file",
            str(properties),
            *program,
        ]

    def _start_executor(self, url: str, host: str) -> None:
        number = self._application.next_executor()
        local = self._application.directory / host
        work = self._directory / f"executor-{number}"
        work.mkdir()
        class_path = ":".join([quickjvm.class_path(), str(jar_path()), f"{spark_home() / 'jars'}/*"])
        with (work / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    _java(),
                    "-Xmx512m",
                    *MODULE_OPTIONS,
                    *quickjvm.QUICK,
                    *quickjvm.options(),
                    "-cp",
                    class_path,
                    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
                    *("--driver-url", url, "--executor-id", number, "--bind-address", host, "--hostname", host),
                    *("--cores", self._application._conf.get("spark.executor.cores", "1")),
                    *("--app-id", APPLICATION, "--resourceProfileId", "0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=work,
                env=_environment(
                    {
                        "SPARK_LOCAL_IP": host,
                        "LOCAL_DIRS": str(local),
                        "CONTAINER_ID": f"container_1_0001_{self._epoch:02d}_{int(number):06d}",
                    }
                ),
            )
        self._executors.append(process)

    def _negotiate(self, deadline: float) -> None:
        seen = 0
        while time.monotonic() < deadline:
            try:
                bridge = self._bridge
                if bridge is None:
                    announced = DriverBridge.announced(self._bridge_file)
                    if announced is None:
                        if self._driver.poll() is not None:
                            return
                        time.sleep(0.02)
                        continue
                    self._bridge = bridge = DriverBridge(announced)
                    if announced.outputs_port:
                        reader = OutputsReader(announced.outputs_port, announced.token, self._frame, lambda _n: None)
                        threading.Thread(target=_quietly, args=(reader.read,), daemon=True).start()
                for event in bridge.poll(seen, 0.5):
                    seen = event["seq"]
                    self._events.append(event)
                    self._handle(bridge, event)
            except BRIDGE_ERRORS:
                if self._driver.poll() is not None or self._killed:
                    return
                time.sleep(0.05)
            if self._driver.poll() is not None:
                return
        raise TimeoutError(f"the driver did not end within {DEADLINE_S} s; see {self._directory}")

    def _handle(self, bridge: DriverBridge, event: dict[str, Any]) -> None:
        match event["type"]:
            case "executor_disconnected" if self._executor_killed:
                bridge.remove_executor(event["executor_id"], 137, False, "it was killed")
                if self.replaced:
                    self._start_executor(self._url, self._hosts[0])
            case "live_adoption_began" if not self.replaced:
                bridge.host_gone(event["host"])
            case "backend_started":
                self._url = event["driver_url"]
                for host in self._hosts:
                    self._start_executor(event["driver_url"], host)
                for host in self._gone:
                    bridge.host_gone(host)
            case "shuffle_declared":
                with self._lock:
                    self._decisions.declare(event, bridge)
            case "shuffle_restored":
                with self._lock:
                    self._decisions.restored(event)
                    self._maybe_kill_executor()
            case "recording_stopped":
                with self._lock:
                    self._decisions.stopped(event["shuffle"], event["why"])
            case "shuffle_dropped":
                with self._lock:
                    self._decisions.dropped(event["shuffle"])
            case _:
                if self._writes.handle(bridge, event):
                    self._kill()

    def _kill(self) -> None:
        self._killed = True
        os.killpg(self._driver.pid, self._kill_by)

    def _frame(self, header: dict[str, Any], blob: bytes) -> None:
        with self._lock:
            if self._killed:
                return  # came after the moment that counts
            shuffle = self._application.shuffles.get(header["shuffle"])
            if shuffle is not None and header["kind"] == "shuffle_facts":
                shuffle.facts = blob
            elif shuffle is not None:
                shuffle.maps[header["index"]] = (header | {"epoch": self._epoch}, blob)
            self._frames += header["kind"] == "map_finished"
            if self._kill_when(self._frames, self._application.shuffles):
                self._kill()
            self._maybe_kill_executor()

    def _maybe_kill_executor(self) -> None:
        if not self._executor_killed and self.executor_dies(self._frames):
            self._executor_killed = True
            self._executors[0].kill()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._driver.pid, signal.SIGKILL)
        self._driver.wait()
        if self._bridge is not None:
            with contextlib.suppress(*BRIDGE_ERRORS):
                self._bridge.close()
        for executor in self._executors:
            try:
                executor.wait(timeout=30)  # ends by itself when the driver has gone
            except subprocess.TimeoutExpired:
                executor.kill()
                executor.wait()

    def _launched(self) -> tuple[dict[str, int], set[Task]]:
        """How many tasks began, by stage and attempt of it; and those that began again after they had succeeded."""
        counts: Counter[str] = Counter()
        done: set[Task] = set()
        again: set[Task] = set()
        for log in (self._directory / "log").iterdir():
            # What follows the last end of a line a driver that was killed has not written to its end.
            for line in log.read_text().split("\n")[:-1]:
                if '"SparkListenerTaskStart"' in line or '"SparkListenerTaskEnd"' in line:
                    event = json.loads(line)
                    task = (event["Stage ID"], event["Task Info"]["Partition ID"])
                    if event["Event"] == "SparkListenerTaskStart":
                        counts[f"{event['Stage ID']}.{event['Stage Attempt ID']}"] += 1
                        again |= {task} & done
                    elif event["Task End Reason"]["Reason"] == "Success":
                        done.add(task)
        return dict(counts), again


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def _environment(more: dict[str, str]) -> dict[str, str]:
    return (
        os.environ
        | {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_HOME": str(spark_home()),
            "SPARK_ENV_LOADED": "1",
            "SPARK_SCALA_VERSION": "2.13",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(ROOT),
        }
        | more
    )


def _quietly(read: Callable[[], None]) -> None:
    with contextlib.suppress(*OUTPUTS_ERRORS):
        read()
