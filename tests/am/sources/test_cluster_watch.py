"""What is asked of the ResourceManager while an application runs."""

from __future__ import annotations

import socket
from typing import Any, cast

import pytest

from tests.gateway.calm_cluster import host
from yarnspec.am.sources.cluster_watch import ClusterWatch
from yarnspec.am.sources.nodemanager_check import NodeManagerCheck
from yarnspec.core.messages import events
from yarnspec.core.messages.events import Event
from yarnspec.errors import ClusterUnreachable
from yarnspec.yarn.rm.resource_manager import ResourceManager
from yarnspec.yarn.rm.rm_reports import Host


class Watched:
    """A ResourceManager, a clock and what came of both."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        self.made_hosts = [host("a"), host("b")]
        self.pending = ""
        self.waiting = True
        self.away = False
        self.asked: list[str] = []
        self.posted: list[Event] = []
        monkeypatch.setattr("yarnspec.am.sources.cluster_watch.time.monotonic", lambda: self.now_s)
        self.nodemanagers = NodeManagerCheck()
        self.watch = ClusterWatch(
            cast(ResourceManager, self),
            "application_1_0001",
            self.posted.append,
            lambda: self.waiting,
            nodemanagers=self.nodemanagers,
        )

    def hosts(self, states: Any) -> tuple[Host, ...]:
        assert "LOST" in states
        self.asked.append("hosts")
        if self.away:
            raise ClusterUnreachable("restarting")
        return tuple(self.made_hosts)

    def why_pending(self, application_id: str) -> str:
        assert application_id == "application_1_0001"
        self.asked.append("pending")
        return self.pending

    def after(self, seconds: float) -> list[Event]:
        before = len(self.posted)
        self.now_s += seconds
        self.watch._step()
        return self.posted[before:]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_hosts_are_told_at_once_and_again_only_when_they_changed(watched: Watched) -> None:
    (first,) = watched.after(0)
    assert isinstance(first, events.HostsReported)
    assert [one.host for one in first.hosts] == ["a", "b"]
    assert watched.watch.hosts == first.hosts
    assert watched.after(0.1) == []
    assert watched.asked == ["hosts"]
    assert watched.after(60) == []
    watched.made_hosts = [host("a"), host("b", state="LOST")]
    (changed,) = watched.after(60)
    assert isinstance(changed, events.HostsReported)
    assert changed.hosts[1].state == "LOST"


def test_a_host_whose_nodemanager_refuses_is_unreachable_until_it_answers_again(watched: Watched) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        watched.made_hosts = [host("a", node_id=f"127.0.0.1:{port}"), host("b")]
        watched.after(0)
        watched.nodemanagers.doubt(["a"])
        assert watched.after(0.1) == []
    (gone,) = watched.after(1)
    assert isinstance(gone, events.HostsReported)
    assert [one.state for one in gone.hosts] == ["UNREACHABLE", "RUNNING"]
    with socket.create_server(("127.0.0.1", port)):
        (back,) = watched.after(2)
    assert isinstance(back, events.HostsReported)
    assert [one.state for one in back.hosts] == ["RUNNING", "RUNNING"]


def test_what_the_resource_manager_says_of_a_host_that_it_has_lost_stands(watched: Watched) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        node_id = f"127.0.0.1:{here.getsockname()[1]}"
    watched.made_hosts = [host("a", node_id=node_id)]
    watched.after(0)
    watched.nodemanagers.doubt(["a", "not in the cluster"])
    assert [one.state for event in watched.after(0.1) for one in cast(events.HostsReported, event).hosts] == [
        "UNREACHABLE"
    ]
    watched.made_hosts = [host("a", node_id=node_id, state="LOST")]
    watched.watch.look_soon()
    assert [one.state for event in watched.after(0.1) for one in cast(events.HostsReported, event).hosts] == ["LOST"]


def test_a_change_that_the_provider_saw_is_looked_at_now(watched: Watched) -> None:
    watched.after(0)
    watched.made_hosts = []
    watched.watch.look_soon()
    assert watched.after(0.1) == [events.HostsReported(hosts=())]


def test_free_cores_are_told_where_the_scheduler_counts_them(watched: Watched) -> None:
    free = [one.free_vcores for event in watched.after(0) for one in cast(events.HostsReported, event).hosts]
    assert free == [None, None]
    watched.watch.count_cores()
    free = [one.free_vcores for event in watched.after(0.1) for one in cast(events.HostsReported, event).hosts]
    assert free == [one.vcores - one.used_vcores for one in watched.made_hosts]


def test_why_containers_do_not_come_is_told_from_the_second_look_on(watched: Watched) -> None:
    watched.after(0)
    watched.pending = "Queue's AM resource limit exceeded"
    assert watched.after(5) == []
    assert watched.after(5) == [events.PendingExplained(reason="Queue's AM resource limit exceeded")]
    assert watched.after(5) == []
    watched.waiting = False
    assert watched.after(5) == [events.PendingExplained(reason="")]
    assert watched.asked.count("pending") == 3
    watched.waiting = True
    assert watched.after(5) == []


def test_a_resource_manager_that_is_away_is_asked_again(watched: Watched) -> None:
    watched.away = True
    assert watched.after(0) == []
    watched.away = False
    watched.watch.look_soon()
    assert len(watched.after(0.1)) == 1
