"""Ask Skein's AM for containers, from inside the AM container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeVar, cast

import msgspec
import skein

from yarnspec.plan import EXECUTOR_SERVICE
from yarnspec.yarn.hadoop.deadlines import run_with_deadline
from yarnspec.yarn.rm.resource_manager import host_of
from yarnspec.yarn.skein.skein_application import check_environment
from yarnspec.yarn.skein.skein_warnings import quiet_skein

ContainerState = Literal["WAITING", "REQUESTED", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"]
ALL_STATES: tuple[ContainerState, ...] = ("WAITING", "REQUESTED", "RUNNING", "SUCCEEDED", "FAILED", "KILLED")
CALL_TIMEOUT_S = 30.0

Answer = TypeVar("Answer")


class SkeinContainerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One container of the executors' service as Skein sees it; ids are empty until YARN allocated it.

    SUCCEEDED does not mean that it ever ran (a launch that failed counts as well): the exit codes are in the
    provider's events.
    """

    instance: int
    state: ContainerState
    yarn_container_id: str
    host: str
    exit_message: str = ""


class ContainerServiceError(Exception):
    """Skein's AM did not do what it was asked to; the text is its answer."""


class ContainerService(Protocol):
    """Where executors come from. Every method raises ContainerServiceError when the AM refuses or is gone."""

    def add_container(self, environment: Mapping[str, str]) -> int:
        """Ask for one more container with these additional environment variables; answers its instance number."""

    def containers(self, states: tuple[ContainerState, ...] = ALL_STATES) -> dict[int, SkeinContainerStatus]:
        """The containers of the service by instance number."""

    def kill(self, instance: int) -> None:
        """End a container, or withdraw the request for it; one that ended already is left as it is."""


class SkeinContainers:
    """The ContainerService of the application whose AM container this process runs in."""

    def __init__(self, client: skein.ApplicationClient) -> None:
        self._client = client

    @classmethod
    def from_current(cls) -> SkeinContainers:
        """Connect to the AM of the container that this process runs in."""
        try:
            with quiet_skein():
                return cls(skein.ApplicationClient.from_current())
        except (ValueError, OSError) as error:
            raise ContainerServiceError(f"This process does not run in a container of Skein's: {error}") from error

    @property
    def application_id(self) -> str:
        """The YARN application id."""
        return str(self._client.id)

    def add_container(self, environment: Mapping[str, str]) -> int:
        """Ask for one more container."""
        check_environment(dict(environment))
        return int(_ask(lambda: self._client.add_container(EXECUTOR_SERVICE, env=dict(environment))).instance)

    def containers(self, states: tuple[ContainerState, ...] = ALL_STATES) -> dict[int, SkeinContainerStatus]:
        """The containers of the service."""
        found = _ask(lambda: self._client.get_containers(services=[EXECUTOR_SERVICE], states=list(states)))
        return {
            int(container.instance): SkeinContainerStatus(
                instance=int(container.instance),
                state=cast(ContainerState, str(container.state)),
                yarn_container_id=container.yarn_container_id or "",
                host=host_of(container.yarn_node_http_address) if container.yarn_node_http_address else "",
                exit_message=container.exit_message or "",
            )
            for container in found
        }

    def kill(self, instance: int) -> None:
        """End a container, or withdraw the request for it."""
        _ask(lambda: self._client.kill_container(f"{EXECUTOR_SERVICE}_{instance}"))

    def show_page(self, route: str, target: str) -> None:
        """Serve what is at the address ``target`` under ``/pages/ROUTE/`` of Skein's own web server."""

        def add() -> None:
            if route in self._client.ui.get_pages():
                self._client.ui.remove_page(route)
            self._client.ui.add_page(route, target)

        _ask(add)

    def end(self, diagnostics: str) -> None:
        """End the application: Skein's AM unregisters it as succeeded, with these diagnostics, and ends."""
        _ask(lambda: self._client.shutdown("SUCCEEDED", diagnostics))


def _ask(call: Callable[[], Answer]) -> Answer:
    # Skein's client waits for an answer for ever.
    try:
        return run_with_deadline(call, CALL_TIMEOUT_S, "Skein's AM")
    except (skein.exceptions.SkeinError, ValueError, KeyError, OSError) as error:
        raise ContainerServiceError(f"Skein's AM: {error}") from error
