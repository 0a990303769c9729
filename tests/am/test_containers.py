"""Which executor got which container."""

from __future__ import annotations

import pytest

from tests.am.world import HandMadeService
from yarnspec.am.containers import ExecutorContainers
from yarnspec.yarn.am_client import ContainerServiceError


def test_a_container_is_found_by_the_instance_that_skein_booked() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {"A": "1"})
    containers.request("8", {"A": "2"})
    assert service.asked == [{"A": "1"}, {"A": "2"}]
    assert containers.waiting
    service.booked = {1: "container_x"}
    assert containers.allocated("container_x", "127.0.0.3") == "8"
    assert containers.of_container("container_x") == ("8", "127.0.0.3")
    assert containers.container_of("8") == "container_x"
    assert containers.container_of("7") is None
    assert containers.waiting
    service.booked[0] = "container_y"
    assert containers.allocated("container_y", "127.0.0.2") == "7"
    assert not containers.waiting


def test_skein_books_a_little_later_than_the_provider_sees() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})
    looks = []

    def book_at_the_third_look() -> None:
        looks.append(1)
        if len(looks) == 3:
            service.booked[0] = "container_x"

    service.before_answer = book_at_the_third_look
    assert containers.allocated("container_x", "h") == "7"
    assert len(looks) == 3


def test_a_container_that_skein_refused_belongs_to_nobody() -> None:
    containers = ExecutorContainers(HandMadeService())
    containers.request("7", {})
    assert containers.allocated("container_x", "h", deadline_s=0) is None
    assert containers.of_container("container_x") is None


def test_a_request_is_withdrawn_once() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})
    containers.release("7")
    containers.release("7")
    containers.release("never asked for")
    assert service.killed == [0]
    assert not containers.waiting


def test_a_refused_request_leaves_nothing_to_wait_for() -> None:
    service = HandMadeService()
    service.refuses = True
    containers = ExecutorContainers(service)
    with pytest.raises(ContainerServiceError):
        containers.request("7", {})
    assert not containers.waiting
