"""Skein's answers become plain values, and its failures one kind of error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import skein

from yarnspec.errors import UsageError
from yarnspec.yarn.skein.am_client import ContainerServiceError, SkeinContainers, SkeinContainerStatus


class Ui:
    """Skein's pages."""

    def __init__(self) -> None:
        self.pages = {"spark": "http://old"}

    def get_pages(self) -> dict[str, str]:
        return self.pages

    def remove_page(self, route: str) -> None:
        del self.pages[route]

    def add_page(self, route: str, target: str, link_name: str) -> Any:  # noqa: ARG002 - as Skein has it
        if route in self.pages:
            raise ValueError("exists")
        self.pages[route] = target
        return SimpleNamespace(address=f"http://rm/proxy/app/pages/{route}")


class Client:
    """What SkeinContainers uses of skein.ApplicationClient."""

    id = "application_1_0001"

    def __init__(self) -> None:
        self.ui = Ui()
        self.asked: list[tuple[str, Any]] = []

    def add_container(self, service: str, env: dict[str, str]) -> Any:
        self.asked.append((service, env))
        return SimpleNamespace(instance=len(self.asked) - 1)

    def get_containers(self, services: list[str], states: list[str]) -> list[Any]:  # noqa: ARG002
        make = skein.model.Container
        return [
            make("executor", 0, "REQUESTED", "", "", None, None, ""),
            make("executor", 1, "RUNNING", "container_1", "127.0.0.2:8042", None, None, ""),
        ]

    def kill_container(self, name: str) -> None:
        raise KeyError(name)

    def shutdown(self, status: str, diagnostics: str) -> None:
        self.asked.append((status, diagnostics))


def test_containers_are_asked_for_and_told() -> None:
    client = Client()
    service = SkeinContainers(client)
    assert [service.add_container({"A": "1"}), service.add_container({})] == [0, 1]
    assert client.asked[0] == ("executor", {"A": "1"})
    assert service.containers() == {
        0: SkeinContainerStatus(instance=0, state="REQUESTED", yarn_container_id="", host=""),
        1: SkeinContainerStatus(instance=1, state="RUNNING", yarn_container_id="container_1", host="127.0.0.2"),
    }
    assert service.application_id == "application_1_0001"


def test_the_end_is_a_success_to_skein_with_our_words() -> None:
    client = Client()
    SkeinContainers(client).end("yarnspec-finish:{}")
    assert client.asked == [("SUCCEEDED", "yarnspec-finish:{}")]


def test_refusals_are_one_kind_of_error() -> None:
    service = SkeinContainers(Client())
    with pytest.raises(ContainerServiceError, match="executor_3"):
        service.kill(3)
    with pytest.raises(UsageError):
        service.add_container({"A": "$HOME"})


def test_outside_of_a_container_there_is_no_am() -> None:
    with pytest.raises(ContainerServiceError, match="does not run in a container"):
        SkeinContainers.from_current()
