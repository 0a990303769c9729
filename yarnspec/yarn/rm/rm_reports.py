"""Reports of the ResourceManager about a cluster and its applications, as plain frozen values.

``host`` is everywhere the host of YARN's node id, without its port.
"""

from __future__ import annotations

import msgspec

FINISHED_STATES = frozenset({"FINISHED", "FAILED", "KILLED"})


class ClusterInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The ResourceManager itself. ``id`` is the time of its start: application ids carry it."""

    id: int
    started_ms: int
    state: str
    ha_state: str
    version: str


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One host, by its NodeManager. ``attributes`` maps ``prefix/name`` to the value that the host publishes.

    ``resources``: how much the host has of each resource type beside memory and cores, and how much of it is free.
    """

    host: str
    node_id: str
    rack: str
    state: str
    http_address: str
    memory_mb: int
    vcores: int
    used_memory_mb: int
    used_vcores: int
    containers: int
    labels: tuple[str, ...] = ()
    attributes: dict[str, str] = {}
    resources: dict[str, int] = {}
    free_resources: dict[str, int] = {}


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """One queue of the scheduler; numbers that its scheduler does not tell are None.

    ``default_label``: the node label of containers that ask for none. ``creates``: whether it creates child queues for
    submissions; None: not told. ``note``: what is not sure about a queue that the scheduler does not have yet.
    """

    name: str
    path: str
    leaf: bool
    state: str
    max_am_percent: float | None = None
    am_limit_memory_mb: int | None = None
    am_used_memory_mb: int | None = None
    max_allocation_memory_mb: int | None = None
    max_allocation_vcores: int | None = None
    default_label: str = ""
    creates: bool | None = None
    note: str = ""


class Size(msgspec.Struct, frozen=True):
    """Memory and virtual cores of one container."""

    memory_mb: int
    vcores: int


class ApplicationReport(msgspec.Struct, frozen=True, kw_only=True):
    """YARN's report of one application. ``final_status`` is UNDEFINED until it ended; times are 0 when not yet.

    ``am_logs`` is the page with the logs of the newest attempt's AM container.
    """

    id: str
    user: str
    name: str
    queue: str
    type: str
    state: str
    final_status: str
    diagnostics: str
    started_ms: int
    finished_ms: int
    tags: tuple[str, ...] = ()
    am_host: str | None = None
    am_logs: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the application reached a final state."""
        return self.state in FINISHED_STATES


class AttemptReport(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of an application; ``number`` counts from 1."""

    id: str
    number: int
    am_container_id: str
    am_host: str | None
    started_ms: int
    finished_ms: int
    state: str | None = None
    diagnostics: str = ""


class ContainerReport(msgspec.Struct, frozen=True, kw_only=True):
    """One container of an attempt as the ResourceManager knows it."""

    id: str
    host: str
    http_address: str
    state: str
    memory_mb: int
    vcores: int
    started_ms: int
    finished_ms: int
    exit_status: int
    diagnostics: str = ""
