"""The ResourceManager's documents, read into the values of rm_reports.py.

Hadoop writes an empty list as null or ``{}``, and a list of one sometimes as the element itself. It leaves out unknown
values. All of that is read here.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any

from yarnspec.core.blocking.hosts import GONE_STATES
from yarnspec.yarn.rm.rm_reports import (
    ApplicationReport,
    AttemptReport,
    ClusterInfo,
    ContainerReport,
    Host,
    Queue,
    Size,
)

_SHOWN_REASONS = 3
_USUAL_TYPES = frozenset({"memory-mb", "vcores"})
# The answers of app-activities until the scheduler's next round for the application is recorded.
_NO_ACTIVITY = frozenset({"waiting for display", "waiting for next allocation", "request does not need more resource"})
# What the scheduler says of each host that is not the one on which a container is asked for.
_ELSEWHERE = re.compile(
    r"Node does not match partition or placement constraints, unsatisfied PC expression="
    r'"node,EQ,(?P<key>[^="]+)=\[(?P<values>[^]"]*)\]", target-type=NODE_ATTRIBUTE'
)


def _list(value: Any) -> list[Any]:
    if not value:
        return []
    return value if isinstance(value, list) else [value]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _optional_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _optional_number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _without_port(address: str) -> str:
    host, separator, _ = address.rpartition(":")
    return host if separator else address


def cluster(document: Mapping[str, Any]) -> ClusterInfo:
    """``/ws/v1/cluster/info``."""
    info = _mapping(document.get("clusterInfo"))
    return ClusterInfo(
        id=_whole(info.get("id")),
        started_ms=_whole(info.get("startedOn")),
        state=_text(info.get("state")),
        ha_state=_text(info.get("haState")),
        version=_text(info.get("resourceManagerVersion")),
    )


def hosts(document: Mapping[str, Any]) -> Iterator[Host]:
    """``/ws/v1/cluster/nodes``: each host once, by its newest NodeManager.

    A NodeManager that was restarted on another port is a further one for the ResourceManager. The one before is LOST
    after a while, or stays SHUTDOWN; until then both are RUNNING.
    """
    newest: dict[str, Mapping[str, Any]] = {}
    for node in _list(_mapping(document.get("nodes")).get("node")):
        host = _without_port(_text(node.get("id")))
        if host not in newest or _recency(node) > _recency(newest[host]):
            newest[host] = node
    for host, node in newest.items():
        total = _mapping(node.get("totalResource"))
        used_memory_mb, used_vcores = _whole(node.get("usedMemoryMB")), _whole(node.get("usedVirtualCores"))
        attributes = {}
        for attribute in _list(_mapping(node.get("nodeAttributesInfo")).get("nodeAttributeInfo")):
            name = "/".join(filter(None, (_text(attribute.get("prefix")), _text(attribute.get("name")))))
            attributes[name] = _text(attribute.get("value"))
        resources, used = _other_types(total), _other_types(_mapping(node.get("usedResource")))
        yield Host(
            host=host,
            node_id=_text(node.get("id")),
            rack=_text(node.get("rack")),
            state=_text(node.get("state")),
            http_address=_text(node.get("nodeHTTPAddress")),
            memory_mb=_whole(total.get("memory")) or used_memory_mb + _whole(node.get("availMemoryMB")),
            vcores=_whole(total.get("vCores")) or used_vcores + _whole(node.get("availableVirtualCores")),
            used_memory_mb=used_memory_mb,
            used_vcores=used_vcores,
            containers=_whole(node.get("numContainers")),
            labels=tuple(label for label in _list(node.get("nodeLabels")) if label),
            attributes=attributes,
            resources=resources,
            free_resources={name: max(0, value - used.get(name, 0)) for name, value in resources.items()},
        )


def _recency(node: Mapping[str, Any]) -> tuple[bool, int]:
    return _text(node.get("state")) not in GONE_STATES, _whole(node.get("lastHealthUpdate"))


def _other_types(resource: Mapping[str, Any]) -> dict[str, int]:
    """The resource types beside memory and cores of which there is something."""
    told = _list(_mapping(resource.get("resourceInformations")).get("resourceInformation"))
    found = {_text(one.get("name")): _whole(one.get("value")) for one in told}
    return {name: value for name, value in found.items() if value > 0 and name not in _USUAL_TYPES}


def shared_labels(document: Mapping[str, Any]) -> frozenset[str]:
    """``/ws/v1/cluster/get-node-labels``: those that are not exclusive."""
    told = _list(_mapping(document.get("nodeLabelsInfo") or document).get("nodeLabelInfo"))
    return frozenset(_text(one.get("name")) for one in told if _text(one.get("exclusivity")).lower() == "false")


def queues(document: Mapping[str, Any]) -> tuple[Queue, ...]:
    """``/ws/v1/cluster/scheduler`` of the capacity and of the fair scheduler; empty for others."""
    info = _mapping(_mapping(document.get("scheduler")).get("schedulerInfo"))
    kind = _text(info.get("type"))
    if kind == "capacityScheduler":
        return tuple(_capacity_queues(info, parent=""))
    if kind == "fairScheduler":
        return tuple(_fair_queues(_mapping(info.get("rootQueue"))))
    return ()


def is_fair(document: Mapping[str, Any]) -> bool:
    """``/ws/v1/cluster/scheduler``: whether it is the fair scheduler's."""
    info = _mapping(_mapping(document.get("scheduler")).get("schedulerInfo"))
    return _text(info.get("type")) == "fairScheduler"


def _capacity_queues(info: Mapping[str, Any], parent: str) -> Iterator[Queue]:
    name = _text(info.get("queueName"))
    path = _text(info.get("queuePath")) or (f"{parent}.{name}" if parent else name)
    children = _list(_mapping(info.get("queues")).get("queue"))
    # Only leaf queues count applications of their own; a parent without children yet is still a parent.
    leaf = not children and ("numActiveApplications" in info or _text(info.get("queueType")) == "leaf")
    largest = _mapping(info.get("maximumAllocation"))
    am_share = _optional_number(info.get("configuredMaxAMResourceLimit"))
    yield Queue(
        name=name,
        path=path,
        leaf=leaf,
        state=_text(info.get("state")) or "RUNNING",
        max_am_percent=None if am_share is None else am_share * 100,
        am_limit_memory_mb=_optional_whole(_mapping(info.get("AMResourceLimit")).get("memory")),
        am_used_memory_mb=_optional_whole(_mapping(info.get("usedAMResource")).get("memory")),
        max_allocation_memory_mb=_optional_whole(largest.get("memory")),
        max_allocation_vcores=_optional_whole(largest.get("vCores")),
        default_label=_text(info.get("defaultNodeLabelExpression")).strip(),
        creates=_creates(info),
    )
    for child in children:
        yield from _capacity_queues(child, path)


def _creates(info: Mapping[str, Any]) -> bool | None:
    eligible = _text(info.get("autoCreationEligibility"))  # off, legacy or flexible; older schedulers do not tell
    return eligible.lower() != "off" if eligible else None


def _fair_queues(info: Mapping[str, Any]) -> Iterator[Queue]:
    path = _text(info.get("queueName"))
    children = _list(_mapping(info.get("childQueues")).get("queue"))
    largest = _mapping(info.get("maxContainerAllocation"))
    yield Queue(
        name=path.rpartition(".")[2],
        path=path,
        leaf=not children and _text(info.get("type")) == "fairSchedulerLeafQueueInfo",
        state="RUNNING",
        am_limit_memory_mb=_optional_whole(_mapping(info.get("amMaxResources")).get("memory")),
        am_used_memory_mb=_optional_whole(_mapping(info.get("amUsedResources")).get("memory")),
        max_allocation_memory_mb=_optional_whole(largest.get("memory")),
        max_allocation_vcores=_optional_whole(largest.get("vCores")),
    )
    for child in children:
        yield from _fair_queues(child)


def scheduler_maximum(document: Mapping[str, Any]) -> Size | None:
    """The scheduler's largest container, where the document says it."""
    info = _mapping(_mapping(document.get("scheduler")).get("schedulerInfo"))
    for key in ("maximumAllocation", "maxAllocation", "maximumAllocationResource"):
        largest = _mapping(info.get(key))
        if largest.get("memory") is not None:
            return Size(_whole(largest.get("memory")), _whole(largest.get("vCores")))
    return None


def configuration_value(document: Mapping[str, Any], name: str) -> str | None:
    """``/conf?name=…&format=json``: one property, or (older Hadoops) all of them."""
    candidates = [document.get("property"), *_list(document.get("properties"))]
    for item in candidates:
        if _mapping(item).get("key") == name:
            value = _mapping(item).get("value")
            return None if value is None else str(value)
    return None


def application(app: Mapping[str, Any]) -> ApplicationReport:
    """One ``app`` of ``/ws/v1/cluster/apps``."""
    am_host = _without_port(_text(app.get("masterNodeId")) or _text(app.get("amHostHttpAddress"))) or None
    return ApplicationReport(
        id=_text(app.get("id")),
        user=_text(app.get("user")),
        name=_text(app.get("name")),
        queue=_text(app.get("queue")),
        type=_text(app.get("applicationType")),
        state=_text(app.get("state")),
        final_status=_text(app.get("finalStatus")),
        diagnostics=_text(app.get("diagnostics")),
        started_ms=_whole(app.get("startedTime")),
        finished_ms=_whole(app.get("finishedTime")),
        tags=tuple(tag for tag in _text(app.get("applicationTags")).split(",") if tag),
        am_host=am_host,
        am_logs=_text(app.get("amContainerLogs")) or None,
    )


def applications(document: Mapping[str, Any]) -> tuple[ApplicationReport, ...]:
    """``/ws/v1/cluster/apps``."""
    return tuple(application(app) for app in _list(_mapping(document.get("apps")).get("app")))


def attempts(document: Mapping[str, Any]) -> Iterator[AttemptReport]:
    """``…/appattempts``."""
    for attempt in _list(_mapping(document.get("appAttempts")).get("appAttempt")):
        identifier = _text(attempt.get("appAttemptId"))
        node_id = _text(attempt.get("nodeId"))
        yield AttemptReport(
            id=identifier,
            number=_whole(identifier.rpartition("_")[2]),
            am_container_id=_text(attempt.get("containerId")),
            am_host=_without_port(node_id) or None,
            started_ms=_whole(attempt.get("startTime")),
            finished_ms=_whole(attempt.get("finishedTime")),
            state=_text(attempt.get("appAttemptState")) or None,
            diagnostics=_text(attempt.get("diagnosticsInfo")),
        )


def diagnostics(document: str) -> str:
    """``…/appattempts/ATTEMPT`` as XML: the text in it that tells how the attempt ended; empty when it has none."""
    try:
        return ET.fromstring(document).findtext("diagnosticsInfo") or ""  # noqa: S314 - YARN is believed anyway
    except ET.ParseError:
        return ""


def containers(document: Mapping[str, Any]) -> tuple[ContainerReport, ...]:
    """``…/containers``."""
    found = _list(document.get("container")) or _list(_mapping(document.get("containers")).get("container"))
    return tuple(
        ContainerReport(
            id=_text(item.get("containerId")),
            host=_without_port(_text(item.get("assignedNodeId") or item.get("nodeId"))),
            http_address=_text(item.get("nodeHttpAddress")).removeprefix("http://").removeprefix("https://"),
            state=_text(item.get("containerState")),
            memory_mb=_whole(item.get("allocatedMB")),
            vcores=_whole(item.get("allocatedVCores")),
            started_ms=_whole(item.get("startedTime")),
            finished_ms=_whole(item.get("finishedTime")),
            exit_status=_whole(item.get("containerExitStatus")),
            diagnostics=_text(item.get("diagnosticsInfo")),
        )
        for item in found
    )


def activities(document: Mapping[str, Any]) -> str:
    """The most frequent reasons in ``/scheduler/app-activities``, in the scheduler's words or in plainer ones."""
    counts: dict[str, int] = {}
    for text in _diagnostics(document):
        counts[text] = counts.get(text, 0) + 1
    by_count = sorted(counts, key=lambda text: -counts[text])
    return "; ".join(by_count[:_SHOWN_REASONS])


def _diagnostics(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in {"diagnostic", "diagnostics"} and isinstance(inner, str):
                if inner.strip() and inner.strip().lower() not in _NO_ACTIVITY:
                    yield _ELSEWHERE.sub(_awaited_there, " ".join(inner.split()))
            else:
                yield from _diagnostics(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _diagnostics(inner)


def _awaited_there(said: re.Match[str]) -> str:
    key, values = said["key"], said["values"]
    where = f"on {values}" if key.endswith("/host") else f"where {key}={values}"
    return f"YARN has given no container {where} yet"
