"""Which executor got which container."""

from __future__ import annotations

import pytest

from tests.am.world import HandMadeService
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.sources.allocations import Allocations
from yarnspec.core.messages.events import Event
from yarnspec.yarn.skein.am_client import ContainerServiceError


def test_a_container_is_found_by_the_instance_that_skein_booked() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {"A": "1"})
    containers.request("8", {"A": "2"})
    assert service.asked == [{"A": "1"}, {"A": "2"}]
    assert containers.waiting
    service.booked = {1: "container_x"}
    assert containers.look_up({"container_x": "127.0.0.3", "container_y": "127.0.0.2"}) == {"container_x": "8"}
    assert containers.of_container("container_x") == ("8", "127.0.0.3")
    assert containers.of_container("container_y") is None
    assert containers.container_of("8") == "container_x"
    assert containers.container_of("7") is None
    assert containers.waiting
    service.booked[0] = "container_y"
    assert containers.look_up({"container_y": "127.0.0.2"}) == {"container_y": "7"}
    assert not containers.waiting
    assert service.killed == []


def test_a_container_that_skein_refused_belongs_to_nobody() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})
    posted: list[Event] = []
    allocations = Allocations(containers, posted.append, booked_within_s=0)
    allocations.allocated({"container_id": "container_x", "host": "h"})
    looks: list[int] = []
    service.before_answer = lambda: looks.append(1)
    allocations.step()
    allocations.step()
    allocations.completed({"container_id": "container_x", "exit_code": -100})
    assert posted == []
    assert len(looks) == 1  # given up


def test_nobody_waits_while_skein_is_asked() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})

    def meanwhile() -> None:
        service.before_answer = lambda: None
        assert containers.waiting
        containers.request("8", {})
        containers.release("7")
        assert containers.container_of("8") is None

    service.before_answer = meanwhile
    containers.look_up({"container_x": "h"})
    assert service.killed == [0]


def test_an_instance_whose_request_seemed_to_fail_is_ended_once() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    service.answers_late = True
    with pytest.raises(ContainerServiceError):
        containers.request("7", {})
    service.answers_late = False
    containers.request("8", {})
    service.booked = {0: "container_x", 1: "container_y"}
    assert containers.look_up({"container_x": "h", "container_y": "h"}) == {"container_y": "8"}
    containers.look_up({"container_x": "h"})
    assert service.killed == [0]


def test_an_instance_may_belong_to_a_request_that_is_on_its_way() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    service.before_add_answers = lambda: containers.look_up({})
    containers.request("7", {})
    assert service.killed == []


def test_a_request_is_withdrawn_once() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})
    containers.release("7")
    containers.release("7")
    containers.release("never asked for")
    assert service.killed == [0]
    assert not containers.waiting


def test_a_release_that_failed_is_repeated_until_it_is_done() -> None:
    service = HandMadeService()
    containers = ExecutorContainers(service)
    containers.request("7", {})
    service.refuses = True
    containers.release("7")
    containers.release_again()
    assert service.killed == []
    service.refuses = False
    Allocations(containers, lambda _: None).step()
    containers.release_again()
    assert service.killed == [0]


def test_a_refused_request_leaves_nothing_to_wait_for() -> None:
    service = HandMadeService()
    service.refuses = True
    containers = ExecutorContainers(service)
    with pytest.raises(ContainerServiceError):
        containers.request("7", {})
    assert not containers.waiting
