"""One epoch of the driver in this container: its port, its properties, and the way it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.driver.gate import Gate
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event
from yarnspec.plan import OWN_NAMES, SPARK_PROPERTIES_FILE, SPARK_SECRET_FILE, Plan
from yarnspec.spark import properties
from yarnspec.spark.driver import PLANNED, DriverExit, DriverProcess

_NO_CONTEXT = 13
"""Spark's own exit code for it."""


class DriverEpoch:
    """Starts and ends the driver of one epoch. Its address is known before it listens.

    ``saved`` gives the file with the saved outputs of earlier epochs, if there is any. Executors of earlier epochs may
    still look for their driver at ``not_ports``.
    """

    def __init__(self, plan: Plan, place: AmContainer, epoch: int, *, not_ports: Collection[int] = ()) -> None:
        self._plan = plan
        self._place = place
        self.epoch = epoch
        self._gate = Gate(place.host)
        self.port = next(port for port in iter(lambda: properties.free_port(place.host), 0) if port not in not_ports)
        self._address = f"{place.host}:{self.port}"
        self._properties = place.directory / f"{OWN_NAMES}spark.properties"
        self._driver = DriverProcess(
            plan,
            application_id=place.application_id,
            directory=place.directory,
            log_directory=place.log_directory,
            properties=self._properties,
        )
        self._stopping = False
        self._ready = False
        self.ended_ms = 0
        """When it ended by itself; 0: it has not, or was never started."""
        self.saved: Callable[[], Path | None] = lambda: None
        self.post: Callable[[Event], None] = lambda event: None  # noqa: ARG005 - replaced by the shell's

    @property
    def address(self) -> str:
        """``host:port`` at which executors find the driver; the planned port until it is known to listen."""
        return self._address

    @property
    def gate(self) -> str:
        """``host:port`` that is open when executors may look for the driver that are asked for now."""
        return self._gate.address

    def listens_at(self, address: str) -> None:
        """The driver is ready and listens there: if the planned port is taken, Spark takes one of the next."""
        self._address = address
        self._ready = True

    def open_gate(self) -> None:
        """Executors may look for the driver."""
        self._gate.open()

    def close_gate(self) -> None:
        """No executor may that was asked for so far. Others wait at another gate."""
        last = self._gate
        self._gate = Gate(self._place.host)  # before the last one gives up its port, so that it has another
        last.close()

    def start(self, *, awaits_negotiator: bool) -> int:
        """Start it; returns its process id. Its tasks start by Spark's own rule, or when the negotiator says so."""
        secret_file = self._place.directory / SPARK_SECRET_FILE
        complete = properties.complete(
            properties.read_shipped(self._place.directory / SPARK_PROPERTIES_FILE),
            application_id=self._place.application_id,
            epoch=self.epoch,
            host=self._place.host,
            driver_port=self.port,
            executors=self._plan.initial_executors,
            awaits_negotiator=awaits_negotiator,
            directory=self._place.directory,
            secret=secret_file.read_text(encoding="utf-8").strip() if secret_file.exists() else None,
            saved=self.saved(),
            behind_page=self._plan.options.am.page,
        )
        if "local:" in complete.get("spark.jars", ""):
            complete["spark.jars"] = properties.local_jars(complete["spark.jars"], self._driver.environment())
        properties.write(self._properties, complete)
        owned = (*self._plan.owned_keys, *self._plan.sized_properties)
        self._driver.owned = {key: complete[key] for key in owned if key in complete}
        self._driver.sized = self._plan.sized_properties
        self._driver.defaults = {key: complete[key] for key in self._plan.executor_properties if key in complete}
        self._driver.planned = {key: value for key, value in complete.items() if key.startswith(PLANNED)}
        pid = self._driver.start(self._ended)
        if self._plan.context_wait_ms:
            timer = threading.Timer(self._plan.context_wait_ms / 1000, self._made_no_context)
            timer.daemon = True
            timer.start()
        return pid

    def _made_no_context(self) -> None:
        """End a program that made no SparkContext within ``spark.yarn.am.waitTime``. It has failed, as under Spark."""
        if self._ready or self._stopping or self.ended_ms:
            return
        self.stop()
        self.ended_ms = int(time.time() * 1000)
        reason = f"the program made no SparkContext within {self._plan.context_wait_ms} ms (spark.yarn.am.waitTime)"
        self.post(events.DriverFinished(exit_code=_NO_CONTEXT, reason=reason, traceback=""))

    def stop(self, grace_s: float = 5.0) -> None:
        """End it and everything below it."""
        self._stopping = True
        self.shut()
        self._driver.stop(grace_s)

    def shut(self) -> None:
        """No executor of this epoch may come any more."""
        self._gate.close()

    def _ended(self, end: DriverExit) -> None:
        if self._stopping:
            return
        self.ended_ms = int(time.time() * 1000)
        self.shut()
        if end.crashed:
            self.post(events.DriverLost(exit_code=end.exit_code, reason=_why(end), killed=end.killed))
        else:
            self.post(events.DriverFinished(exit_code=end.exit_code, reason=end.reason, traceback=end.traceback))


def _why(end: DriverExit) -> str:
    if end.out_of_memory:
        return "its JVM ran out of memory"
    if end.exit_code < 0:
        return f"its process was ended by signal {-end.exit_code}"
    return f"its process ended with {end.exit_code}, by a signal or for lack of memory"
