"""Containers that YARN allocated and Skein has not yet assigned to an executor; keeps their completions until then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event

_BOOKED_WITHIN_S = 15.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5
_RELEASE_AGAIN_S = 1.0


@dataclass(slots=True)
class _Unbooked:
    told: dict[str, Any]
    give_up_s: float
    completed: list[dict[str, Any]] = field(default_factory=list)


class Allocations:
    """Finds the executor of each container and posts, in order, that it came and that it ended.

    Skein books a container right after the call in which the provider saw it. So a thread of its own asks Skein again
    and again, and the reader of the provider's records never waits for Skein. A container that Skein refused stays
    unbooked and belongs to nobody. The same thread repeats releases that failed.
    """

    def __init__(
        self, containers: ExecutorContainers, post: Callable[[Event], None], booked_within_s: float = _BOOKED_WITHIN_S
    ) -> None:
        self._containers = containers
        self._post = post
        self._booked_within_s = booked_within_s
        self._lock = threading.Lock()
        self._unbooked: dict[str, _Unbooked] = {}
        self._pause_s = _FIRST_PAUSE_S
        self._release_again_s = 0.0
        self.watcher = Watcher("allocations", self.step, _FIRST_PAUSE_S)

    def allocated(self, told: dict[str, Any]) -> None:
        """YARN gave a container."""
        with self._lock:
            self._unbooked[told["container_id"]] = _Unbooked(told, time.monotonic() + self._booked_within_s)
            self._pause_s = _FIRST_PAUSE_S

    def completed(self, told: dict[str, Any]) -> None:
        """A container ended, perhaps before it was known whose it was."""
        with self._lock:
            unbooked = self._unbooked.get(told["container_id"])
            if unbooked is not None:
                unbooked.completed.append(told)
            else:
                self._post_completed(told)

    def step(self) -> None:
        """Look once for the executors of containers that are not booked yet."""
        now_s = time.monotonic()
        if now_s >= self._release_again_s:
            self._release_again_s = now_s + _RELEASE_AGAIN_S
            self._containers.release_again()
        with self._lock:
            hosts = {container_id: one.told["host"] for container_id, one in self._unbooked.items()}
        if not hosts:
            return
        found = self._containers.look_up(hosts)
        with self._lock:
            for container_id, executor_id in found.items():
                self._post_allocated(executor_id, self._unbooked.pop(container_id))
            for container_id in [one for one, waits in self._unbooked.items() if waits.give_up_s < now_s]:
                del self._unbooked[container_id]
            waits = bool(self._unbooked)
            self._pause_s = _FIRST_PAUSE_S if found else min(_LONGEST_PAUSE_S, 2 * self._pause_s)
        if waits:
            self.watcher.pause(self._pause_s)

    def _post_allocated(self, executor_id: str, came: _Unbooked) -> None:
        told = came.told
        self._post(
            events.ContainerAllocated(
                executor_id=executor_id,
                container_id=told["container_id"],
                host=told["host"],
                wanted_id=told.get("wanted_id") or "",
            )
        )
        for ended in came.completed:
            self._post_completed(ended)

    def _post_completed(self, told: dict[str, Any]) -> None:
        found = self._containers.of_container(told["container_id"])
        if found is None:
            return
        self._post(
            events.ContainerLost(
                executor_id=found[0],
                container_id=told["container_id"],
                host=found[1],
                exit_code=told["exit_code"],
                diagnostics=told.get("diagnostics") or "",
            )
        )
