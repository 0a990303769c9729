"""Rows a second from the driver's listener, in a JVM of its own, to the negotiator's columns and its decisions."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from yarnspec.am.loop.inbox import Inbox, Told
from yarnspec.core.messages import events
from yarnspec.core.messages.observations import Observations
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.feed.reader import FeedReader
from yarnspec.jvm.build import ensure_jar
from yarnspec.observe.log.eventlog import EventLog
from yarnspec.observe.status.status_fold import StatusFold
from yarnspec.spark.runtime import MODULE_OPTIONS, spark_home

Done = queue.SimpleQueue[Observations]

SENDER = Path(__file__).parent / "FeedSender.java"
_END_S = 120.0


class Rate(NamedTuple):
    """One run: how many rows came, in how many seconds, and how long the listener itself was busy."""

    rows: int
    seconds: float
    listener_seconds: float

    @property
    def rows_per_s(self) -> float:
        """Rows a second, from the listener's first to the last one taken."""
        return self.rows / self.seconds


class Sender:
    """The JVM that sends, compiled for this bench."""

    def __init__(self, workspace: Path) -> None:
        classes = workspace / "classes"
        classes.mkdir()
        java_home = os.environ.get("JAVA_HOME")
        self._bin = f"{java_home}/bin/" if java_home else ""
        self._class_path = f"{classes}:{ensure_jar()}:{spark_home() / 'jars'}/*"
        subprocess.run([f"{self._bin}javac", "-cp", self._class_path, "-d", str(classes), str(SENDER)], check=True)

    @contextmanager
    def run(self, tasks: int) -> Iterator[subprocess.Popen[str]]:
        """Start the JVM; it waits for a line before it sends."""
        main = "org.yarnspec.feed.FeedSender"
        process = subprocess.Popen(
            [f"{self._bin}java", "-Xmx1g", *MODULE_OPTIONS, "-cp", self._class_path, main, str(tasks)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def to_columns(sender: Sender, tasks: int) -> Rate:
    """From the listener to ``Observations``."""
    arrived: Done = queue.SimpleQueue()
    return _timed(sender, tasks, arrived.put, arrived)


def to_decisions(sender: Sender, tasks: int) -> Rate:
    """From the listener through inbox, event log, status and core, as the shell does it."""
    inbox = Inbox()
    log, fold = EventLog(1), StatusFold("application_1_0001")
    core = Negotiator(Settings(initial_executors=8, executor_memory_mb=1000))
    now_ms = int(time.time() * 1000)
    core.handle(
        events.AttemptStarted(
            application_id="application_1_0001", attempt=1, epoch=1, container_id="c", host="h",
            placement_mode="blacklist",
        ),
        now_ms,
    )  # fmt: skip
    core.handle(events.DriverReady(driver_url="spark://d@h:1"), now_ms)
    decided: Done = queue.SimpleQueue()

    def decide() -> None:
        while isinstance(told := inbox.get(_END_S), Told) and isinstance(event := told.event, events.Observed):
            log.append_rows(event.rows, now_ms)
            fold.observe(event.rows)
            core.handle(event, now_ms)
            decided.put(event.rows)

    threading.Thread(target=decide, daemon=True).start()
    rate = _timed(sender, tasks, lambda rows: inbox.put(events.Observed(rows=rows)), decided)
    inbox.put(events.DriverStopping())
    logged = log.append(events.DriverStopping(), now_ms).seq - 2
    if logged != tasks or fold.document().tasks.finished != tasks:
        message = f"{logged} ends of tasks were logged, not {tasks}"
        raise AssertionError(message)
    return rate


def _timed(sender: Sender, tasks: int, take: Callable[[Observations], None], done: Done) -> Rate:
    """Hand every batch to ``take``; it is through when it comes out of ``done``."""
    with sender.run(tasks) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        reader = FeedReader(int(process.stdout.readline()), "token", take, lambda _: None)
        threading.Thread(target=reader.read, daemon=True).start()
        # The stage's row: the reader is connected, and Arrow is loaded. That is no part of what is measured.
        done.get(timeout=_END_S)
        began = time.perf_counter()
        process.stdin.write("\n")
        process.stdin.flush()
        rows = 0
        while rows < 2 * tasks:
            rows += len(done.get(timeout=_END_S))
        seconds = time.perf_counter() - began
        return Rate(rows, seconds, int(process.stdout.readline()) / 1000)
