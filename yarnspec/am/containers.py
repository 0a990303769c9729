"""Which executor runs in which container: Skein's instances on one side, YARN's containers on the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from yarnspec.yarn.am_client import ContainerService


class ExecutorContainers:
    """Asks for executors' containers and finds out which one each got. Safe for several threads."""

    def __init__(self, service: ContainerService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._instance_of: dict[str, int] = {}
        self._executor_of: dict[int, str] = {}
        self._by_container: dict[str, tuple[str, str]] = {}

    @property
    def waiting(self) -> bool:
        """Whether a container that was asked for has not come yet."""
        with self._lock:
            came = {executor_id for executor_id, _ in self._by_container.values()}
            return any(executor_id not in came for executor_id in self._instance_of)

    def request(self, executor_id: str, env: Mapping[str, str]) -> None:
        """Ask for a container in which this executor will run."""
        with self._lock:
            instance = self._service.add_container(env)
            self._instance_of[executor_id] = instance
            self._executor_of[instance] = executor_id

    def release(self, executor_id: str) -> None:
        """Give the executor's container back, or withdraw its request."""
        with self._lock:
            instance = self._instance_of.pop(executor_id, None)
        if instance is not None:
            self._service.kill(instance)

    def allocated(self, container_id: str, host: str, deadline_s: float = 15.0) -> str | None:
        """The executor of a container that YARN has just given; None when Skein refused the container.

        Skein books a container right after the call in which the provider saw it, so this asks until it is there.
        """
        give_up = time.monotonic() + deadline_s
        pause_s = 0.02
        while True:
            executor_id = self._look_up(container_id, host)
            if executor_id is not None or time.monotonic() > give_up:
                return executor_id
            time.sleep(pause_s)
            pause_s = min(0.2, pause_s * 2)

    def of_container(self, container_id: str) -> tuple[str, str] | None:
        """(executor, host) of a container that was allocated."""
        with self._lock:
            return self._by_container.get(container_id)

    def container_of(self, executor_id: str) -> str | None:
        """The container in which an executor runs."""
        with self._lock:
            return next(
                (container for container, (found, _) in self._by_container.items() if found == executor_id), None
            )

    def _look_up(self, container_id: str, host: str) -> str | None:
        with self._lock:
            for number, instance in self._service.containers().items():
                executor_id = self._executor_of.get(number)
                if instance.yarn_container_id == container_id and executor_id is not None:
                    self._by_container[container_id] = (executor_id, host)
                    return executor_id
        return None
