"""A ResourceManager in which all is well until a test changes it."""

from __future__ import annotations

from typing import Any

from tests.gateway.cluster import HOSTS, HandMadeResourceManager
from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.yarn.rm.rm_reports import ApplicationReport, ClusterInfo, Host, Queue, Size


def host(name: str, **more: Any) -> Host:
    fields = {
        "host": name,
        "node_id": f"{name}:1",
        "rack": "/r",
        "state": "RUNNING",
        "http_address": "",
        "memory_mb": 8192,
        "vcores": 8,
        "used_memory_mb": 0,
        "used_vcores": 0,
        "containers": 0,
        "attributes": {"nm.yarn.io/host": name},
    }
    return Host(**{**fields, **more})


class Rm(HandMadeResourceManager):
    """A ResourceManager in which all is well until a test changes it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self.info = ClusterInfo(id=1, started_ms=1, state="STARTED", ha_state="ACTIVE", version="3.5.0")
        self.made_queue = Queue(
            name="default",
            path="root.default",
            leaf=True,
            state="RUNNING",
            am_limit_memory_mb=4000,
            am_used_memory_mb=0,
        )
        self.made_hosts = [host(name) for name in HOSTS]
        self.made_shared_labels = frozenset[str]()
        self.handler = "scheduler"
        self.step_mb = 1
        self.unreachable = False
        self.user = "me"

    def cluster(self) -> ClusterInfo:
        if self.unreachable:
            raise ClusterUnreachable("nobody answers at rm:8088")
        return self.info

    def queue(self, name: str) -> Queue:
        if name != self.made_queue.name:
            raise NotFound(f"There is no queue {name!r}.")
        return self.made_queue

    def hosts(self, states: object = ()) -> tuple[Host, ...]:  # noqa: ARG002
        return tuple(self.made_hosts)

    def shared_labels(self) -> frozenset[str]:
        return self.made_shared_labels

    def maximum_allocation(self, queue: str | None = None) -> Size:  # noqa: ARG002
        return Size(8192, 8)

    def memory_step_mb(self) -> int:
        return self.step_mb

    def configuration(self, name: str) -> str | None:
        return self.handler if name.endswith("constraints.handler") else None

    def applications(self, **_: object) -> tuple[ApplicationReport, ...]:
        return tuple(self.reports.values())
