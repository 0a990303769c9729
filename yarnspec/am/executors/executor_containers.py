"""Maps executors to containers: Skein's instances on one side, YARN's containers on the other."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import structlog

from yarnspec.yarn.skein.am_client import ContainerService, ContainerServiceError

_log = structlog.get_logger()

_LIVE_STATES = frozenset({"WAITING", "REQUESTED", "RUNNING"})


class ExecutorContainers:
    """Asks for executors' containers and finds out which one each got. Safe for several threads.

    No lock is held while Skein is asked: an answer may take its time, and nobody else has to wait for it.
    """

    def __init__(self, service: ContainerService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._asking = 0
        self._instance_of: dict[str, int] = {}
        self._executor_of: dict[int, str] = {}
        self._by_container: dict[str, tuple[str, str]] = {}
        self._container_of: dict[str, str] = {}
        self._to_end: set[int] = set()
        self._strays: set[int] = set()

    @property
    def waiting(self) -> bool:
        """Whether a container that was asked for has not come yet."""
        with self._lock:
            return any(executor_id not in self._container_of for executor_id in self._instance_of)

    def request(self, executor_id: str, env: Mapping[str, str]) -> None:
        """Ask for a container in which this executor will run."""
        with self._lock:
            self._asking += 1
        try:
            instance = self._service.add_container(env)
            with self._lock:
                self._instance_of[executor_id] = instance
                self._executor_of[instance] = executor_id
        finally:
            with self._lock:
                self._asking -= 1

    def release(self, executor_id: str) -> None:
        """Give the executor's container back, or withdraw its request; what fails is done by ``release_again``."""
        with self._lock:
            instance = self._instance_of.pop(executor_id, None)
        if instance is not None:
            self._end(instance)

    def release_again(self) -> None:
        """Repeat the releases that failed."""
        with self._lock:
            to_end = sorted(self._to_end)
        for instance in to_end:
            if not self._end(instance):
                return

    def look_up(self, hosts: Mapping[str, str]) -> dict[str, str]:
        """The executors of containers that YARN has given, by container id, as far as Skein has booked them yet.

        An instance that nobody knows is ended: its request came to Skein although no answer to it came back.

        Args:
            hosts: where each of the containers is, by its id.

        Raises:
            ContainerServiceError: Skein does not answer.
        """
        found: dict[str, str] = {}
        listed = self._service.containers()
        with self._lock:
            for instance, status in listed.items():
                executor_id = self._executor_of.get(instance)
                container_id = status.yarn_container_id
                if executor_id is not None and container_id in hosts:
                    self._by_container[container_id] = (executor_id, hosts[container_id])
                    self._container_of[executor_id] = container_id
                    found[container_id] = executor_id
            # While a request is on its way an unknown instance may be its own.
            strays = (
                [
                    instance
                    for instance, status in listed.items()
                    if instance not in self._executor_of.keys() | self._strays and status.state in _LIVE_STATES
                ]
                if self._asking == 0
                else []
            )
            self._strays.update(strays)
        for instance in strays:
            _log.warning("a container that nobody knows is given back", instance=instance)
            self._end(instance)
        return found

    def of_container(self, container_id: str) -> tuple[str, str] | None:
        """(executor, host) of a container that was allocated."""
        with self._lock:
            return self._by_container.get(container_id)

    def container_of(self, executor_id: str) -> str | None:
        """The container in which an executor runs."""
        with self._lock:
            return self._container_of.get(executor_id)

    def _end(self, instance: int) -> bool:
        try:
            self._service.kill(instance)
        except ContainerServiceError as error:
            _log.warning("a container could not be given back; it is tried again", instance=instance, why=str(error))
            with self._lock:
                self._to_end.add(instance)
            return False
        with self._lock:
            self._to_end.discard(instance)
        return True
