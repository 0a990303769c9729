"""The ResourceManager's documents, as Hadoop 3.5.0 sends them, become plain values; what is not there is NotFound."""

from __future__ import annotations

from typing import Any

import pytest

from tests.yarn.server import documents, serving
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.yarn.rm import rm_documents
from yarnspec.yarn.rm.hosts import check_fits, check_known, check_resources
from yarnspec.yarn.rm.placement_mode import resolve
from yarnspec.yarn.rm.resource_manager import ResourceManager, application_of, check_container_id, host_of
from yarnspec.yarn.rm.rm_reports import Host, Size

APPLICATION = "application_1795230379752_0002"
CLUSTER = "/ws/v1/cluster"


def node(host: str, *, state: str = "RUNNING", attribute: bool = True) -> dict[str, Any]:
    attributes = {"prefix": "nm.yarn.io", "name": "host", "type": "STRING", "value": host}
    return {
        "rack": "/default-rack",
        "state": state,
        "id": f"{host}:24703",
        "nodeHostName": host,
        "nodeHTTPAddress": f"{host}:33977" if state == "RUNNING" else "",
        "numContainers": 1,
        "usedMemoryMB": 1024,
        "availMemoryMB": 7168,
        "usedVirtualCores": 1,
        "availableVirtualCores": 7,
        "totalResource": {"memory": 8192, "vCores": 8},
        "nodeAttributesInfo": {"nodeAttributeInfo": [attributes]} if attribute else {},
    }


SCHEDULER = {
    "scheduler": {
        "schedulerInfo": {
            "type": "capacityScheduler",
            "queueName": "root",
            "queuePath": "root",
            "autoCreationEligibility": "flexible",
            "maximumAllocation": {"memory": 8192, "vCores": 8},
            "queues": {
                "queue": [
                    {
                        "queuePath": "root.default",
                        "queueName": "default",
                        "queueType": "leaf",
                        "autoCreationEligibility": "off",
                        "state": "RUNNING",
                        "numActiveApplications": 0,
                        "configuredMaxAMResourceLimit": 0.1,
                        "AMResourceLimit": {"memory": 1664, "vCores": 1},
                        "usedAMResource": {"memory": 0, "vCores": 0},
                        "maximumAllocation": {"memory": 4096, "vCores": 4},
                        "defaultNodeLabelExpression": "fast",
                    }
                ]
            },
        }
    }
}


def app(**changed: Any) -> dict[str, Any]:
    return {
        "id": APPLICATION,
        "user": "ada",
        "name": "count",
        "queue": "root.default",
        "state": "RUNNING",
        "finalStatus": "UNDEFINED",
        "diagnostics": "",
        "applicationType": "yarnspec",
        "applicationTags": "a,b",
        "startedTime": 1,
        "finishedTime": 0,
        "amHostHttpAddress": "127.0.0.3:32919",
        "amContainerLogs": "http://127.0.0.3:32919/node/containerlogs/container_1/ada",
        "masterNodeId": "127.0.0.3:24703",
        **changed,
    }


def rm(by_path: dict[str, Any]) -> Any:
    """A context manager of a ResourceManager with these documents."""
    from contextlib import contextmanager

    @contextmanager
    def running() -> Any:
        with documents(by_path) as server, ResourceManager([server.address()], user="ada", timeout_s=5) as manager:
            yield manager, server

    return running()


def test_hosts_are_node_ids_without_port_with_their_attributes() -> None:
    with rm({f"{CLUSTER}/nodes": {"nodes": {"node": [node("127.0.0.3"), node("127.0.0.2", attribute=False)]}}}) as (
        manager,
        server,
    ):
        first, second = manager.hosts(states=("RUNNING", "LOST"))
    assert server.requests[0][1]["states"] == "RUNNING,LOST"
    assert (first.host, first.node_id, first.attributes) == ("127.0.0.2", "127.0.0.2:24703", {})
    assert second.attributes == {"nm.yarn.io/host": "127.0.0.3"}
    assert (second.memory_mb, second.vcores, second.used_memory_mb, second.containers) == (8192, 8, 1024, 1)


@pytest.mark.parametrize(
    ("managers", "kept"),
    [
        ([("a:4001", "RUNNING", 200), ("a:3001", "LOST", 100)], ("a:4001", "RUNNING")),
        ([("a:3001", "SHUTDOWN", 300), ("a:4001", "UNHEALTHY", 200)], ("a:4001", "UNHEALTHY")),
        ([("a:4001", "RUNNING", 200), ("a:-1", "DECOMMISSIONED", 300)], ("a:4001", "RUNNING")),
        ([("a:3001", "RUNNING", 100), ("a:4001", "RUNNING", 200)], ("a:4001", "RUNNING")),
        ([("a:4001", "LOST", 200), ("a:3001", "SHUTDOWN", 100)], ("a:4001", "LOST")),
        ([("a:4001", "NEW", None), ("a:3001", "LOST", None)], ("a:4001", "NEW")),
    ],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_host_is_as_its_newest_node_manager_is(
    managers: list[tuple[str, str, int | None]], kept: tuple[str, str], turn: int
) -> None:
    """With ``yarn.nodemanager.address`` as Hadoop has it, a NodeManager has another port after each restart."""
    nodes = [node("a") | {"id": name, "state": state, "lastHealthUpdate": at_ms} for name, state, at_ms in managers]
    found = {one.host: one for one in rm_documents.hosts({"nodes": {"node": [*nodes, node("b")][::turn]}})}
    assert (found["a"].node_id, found["a"].state) == kept
    assert found["b"].state == "RUNNING"
    assert len(list(rm_documents.hosts({"nodes": {"node": nodes}}))) == 1


LABELS = [{"name": "gpu", "exclusivity": True}, {"name": "big", "exclusivity": False}, {"name": "old"}]


@pytest.mark.parametrize(
    ("document", "shared"),
    [
        ({"nodeLabelInfo": LABELS}, {"big"}),
        ({"nodeLabelsInfo": {"nodeLabelInfo": LABELS}}, {"big"}),
        ({"nodeLabelInfo": {"name": "big", "exclusivity": "false"}}, {"big"}),
        ({"nodeLabelsInfo": None}, set()),
        (None, set()),
    ],
)
def test_labels_that_are_not_exclusive_are_shared(document: Any, shared: set[str]) -> None:
    with rm({f"{CLUSTER}/get-node-labels": document} if document is not None else {}) as (manager, _):
        assert manager.shared_labels() == shared


@pytest.mark.parametrize("empty", [{"nodes": None}, {"nodes": {}}, {"nodes": {"node": None}}, {}])
def test_an_empty_cluster(empty: dict[str, Any]) -> None:
    assert list(rm_documents.hosts(empty)) == []


def test_queues_of_the_capacity_scheduler() -> None:
    with rm({f"{CLUSTER}/scheduler": SCHEDULER}) as (manager, _):
        queue = manager.queue("default")
        assert manager.queue("root.default") == queue
        assert (queue.leaf, queue.path, queue.max_am_percent) == (True, "root.default", pytest.approx(10))
        assert (queue.am_limit_memory_mb, queue.max_allocation_memory_mb) == (1664, 4096)
        assert (queue.default_label, queue.creates) == ("fast", False)
        assert manager.queue("root.ada").note
        with pytest.raises(NotFound, match=r"no queue 'x'.*root\.default"):
            manager.queue("x")
        with pytest.raises(NotFound, match="has child queues"):
            manager.queue("root")
        assert manager.maximum_allocation() == Size(8192, 8)
        assert manager.maximum_allocation("default") == Size(4096, 4)


def test_a_scheduler_that_does_not_tell_its_queues_takes_any() -> None:
    fifo = {"scheduler": {"schedulerInfo": {"type": "fifoScheduler"}}}
    conf = {"property": {"key": "yarn.scheduler.maximum-allocation-mb", "value": "4096"}}
    with rm({f"{CLUSTER}/scheduler": fifo, "/conf": conf}) as (manager, _):
        assert manager.queue("any").leaf
        assert manager.maximum_allocation() == Size(4096, 4)


@pytest.mark.parametrize(
    ("scheduler", "smallest", "step_mb"),
    [
        ("org.apache.hadoop.CapacityScheduler", "1024", 1024),
        ("org.apache.hadoop.CapacityScheduler", "0", 1),
        ("org.apache.hadoop.CapacityScheduler", None, 1),
        ("org.apache.hadoop.FairScheduler", "1024", 1),
        (None, "1024", 1),
    ],
)
def test_the_step_of_memory_is_the_capacity_schedulers_smallest_container(
    monkeypatch: pytest.MonkeyPatch, scheduler: str | None, smallest: str | None, step_mb: int
) -> None:
    known = {"yarn.resourcemanager.scheduler.class": scheduler, "yarn.scheduler.minimum-allocation-mb": smallest}
    with rm({}) as (manager, _):
        monkeypatch.setattr(manager, "configuration", known.get)
        assert manager.memory_step_mb() == step_mb


def test_queues_of_the_fair_scheduler() -> None:
    leaf = {"type": "fairSchedulerLeafQueueInfo", "queueName": "root.a", "maxContainerAllocation": {"memory": 5}}
    document = {"scheduler": {"schedulerInfo": {"type": "fairScheduler", "rootQueue": {
        "queueName": "root", "childQueues": {"queue": [leaf]}}}}}  # fmt: skip
    assert rm_documents.is_fair(document)
    assert not rm_documents.is_fair(SCHEDULER)
    root, child = rm_documents.queues(document)
    assert (root.leaf, child.leaf, child.name, child.max_allocation_memory_mb) == (False, True, "a", 5)


def test_an_applications_report() -> None:
    active = {"clusterInfo": {"haState": "ACTIVE"}}
    with rm({f"{CLUSTER}/apps/{APPLICATION}": {"app": app()}, f"{CLUSTER}/info": active}) as (manager, _):
        report = manager.application(APPLICATION)
        with pytest.raises(NotFound, match="does not know"):
            manager.application("application_1_0001")
        with pytest.raises(NotFound, match="not an application id"):
            manager.application("../conf")
    assert (report.am_host, report.tags, report.ended) == ("127.0.0.3", ("a", "b"), False)
    assert report.am_logs == "http://127.0.0.3:32919/node/containerlogs/container_1/ada"


def test_a_resource_manager_that_has_not_read_its_state_yet_is_waited_for() -> None:
    states = iter(["INITIALIZING", "INITIALIZING", "ACTIVE"])
    state = ""

    def answer(path: str, _parameters: dict[str, str]) -> tuple[int, Any]:
        nonlocal state
        if path == f"{CLUSTER}/info":
            state = next(states)
            return 200, {"clusterInfo": {"haState": state}}
        return (200, {"app": app()}) if state == "ACTIVE" else (404, "")

    with serving(answer) as server, ResourceManager([server.address()], user="ada", timeout_s=5) as manager:
        assert manager.application(APPLICATION).user == app()["user"]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(["stopping", "stopping", "stopping", "starting", "active"], id="it stops"),
        pytest.param(["starting", "active", "stopping", "stopping", "active"], id="it starts and stops"),
    ],
)
def test_a_resource_manager_that_stops_and_knows_no_page_any_more_has_not_forgotten(answers: list[str]) -> None:
    """For some ms before its port closes it answers 404 to everything (seen with 3.5.0)."""
    states = iter(answers)

    def answer(path: str, _parameters: dict[str, str]) -> tuple[int, Any]:
        state = next(states, "active")
        if path == f"{CLUSTER}/info" and state != "stopping":
            return 200, {"clusterInfo": {"haState": "ACTIVE" if state == "active" else "INITIALIZING"}}
        return (200, {"app": app()}) if state == "active" else (404, "")

    with serving(answer) as server, ResourceManager([server.address()], user="ada", timeout_s=5) as manager:
        assert manager.application(APPLICATION).user == app()["user"]


def test_a_resource_manager_that_never_becomes_active_is_not_believed() -> None:
    info = {"clusterInfo": {"haState": "INITIALIZING"}}
    with (
        documents({f"{CLUSTER}/info": info}) as server,
        ResourceManager([server.address()], user="ada", timeout_s=0.3) as manager,
        pytest.raises(ClusterUnreachable, match="did not become active"),
    ):
        manager.application(APPLICATION)


def test_applications_are_filtered_by_the_resource_manager() -> None:
    with rm({f"{CLUSTER}/apps": {"apps": {"app": [app()]}}}) as (manager, server):
        (found,) = manager.applications(user="ada", types=("yarnspec",), states=("FINISHED", "KILLED"))
    assert found.id == APPLICATION
    assert server.requests[0][1] == {
        "user": "ada",
        "applicationTypes": "yarnspec",
        "states": "FINISHED,KILLED",
        "user.name": "ada",
    }
    assert rm_documents.applications({"apps": None}) == ()


def test_how_an_attempt_ended() -> None:
    """The list of attempts does not say it, and 3.5.0 has the single one as XML only."""
    attempt = "appattempt_1795230379752_0002_000001"
    text = "AM Container exited with  exitCode: -102&#10;Diagnostics: preempted"
    document = (
        f"<appAttempt><appAttemptId>{attempt}</appAttemptId><diagnosticsInfo>{text}</diagnosticsInfo></appAttempt>"
    )

    def answer(path: str, _parameters: dict[str, str]) -> tuple[int, Any]:
        return (200, document) if path == f"{CLUSTER}/apps/{APPLICATION}/appattempts/{attempt}" else (404, "")

    with serving(answer) as server, ResourceManager([server.address()], user="ada", timeout_s=5) as manager:
        assert manager.diagnostics(attempt).splitlines()[1] == "Diagnostics: preempted"
    assert rm_documents.diagnostics("<html>") == ""


def test_attempts_and_containers() -> None:
    attempt = "appattempt_1795230379752_0002_000002"
    first = {
        **{"appAttemptId": attempt[:-1] + "1", "containerId": "c1", "nodeId": "h1:1", "nodeHttpAddress": "h1:2"},
        **{"startTime": 1_000, "finishedTime": 2_000},
    }
    container = {
        "containerId": "container_1795230379752_0002_02_000003", "assignedNodeId": "h2:1", "allocatedMB": 256,
        "nodeHttpAddress": "http://h2:2", "containerState": "RUNNING", "containerExitStatus": 0,
    }  # fmt: skip
    with rm(
        {
            f"{CLUSTER}/apps/{APPLICATION}/appattempts": {
                "appAttempts": {"appAttempt": [{**first, "appAttemptId": attempt, "finishedTime": 0}, first]}
            },
            f"{CLUSTER}/apps/{APPLICATION}/appattempts/{attempt}/containers": {"container": [container]},
        }
    ) as (manager, _):
        assert [(item.number, item.finished_ms) for item in manager.attempts(APPLICATION)] == [(1, 2_000), (2, 0)]
        (found,) = manager.containers(attempt)
    assert (found.host, found.http_address, found.memory_mb) == ("h2", "h2:2", 256)


@pytest.mark.parametrize(
    ("condition", "where"),
    [
        ("nm.yarn.io/host=[127.0.0.2]", "on 127.0.0.2"),
        ("nm.yarn.io/host=[h1,h2]", "on h1,h2"),
        ("rm.yarn.io/disk=[ssd]", "where rm.yarn.io/disk=ssd"),
    ],
)
def test_a_container_that_has_to_come_on_another_host_is_told_plainly(condition: str, where: str) -> None:
    said = (
        f'Node does not match partition or placement constraints, unsatisfied PC expression="node,EQ,{condition}", '
        "target-type=NODE_ATTRIBUTE"
    )
    answers = {
        f"{CLUSTER}/apps/{APPLICATION}": {"app": app()},
        f"{CLUSTER}/scheduler/app-activities/{APPLICATION}": {
            "allocations": [{"diagnostic": said}, {"diagnostic": "Request does not need more resource"}]
        },
    }
    with rm(answers) as (manager, _):
        assert manager.why_pending(APPLICATION) == f"YARN has given no container {where} yet"


def test_why_pending_is_the_schedulers_own_words() -> None:
    activities = {
        "appActivities": {
            "diagnostic": "waiting for display",
            "allocations": [
                {"children": [{"diagnostic": "Queue does not have enough headroom"}]},
                {"children": [{"diagnostic": "Queue does not have enough headroom"}, {"diagnostic": "Node is full"}]},
            ],
        }
    }
    running = {
        f"{CLUSTER}/apps/{APPLICATION}": {"app": app()},
        f"{CLUSTER}/scheduler/app-activities/{APPLICATION}": activities,
    }
    with rm(running) as (manager, _):
        assert manager.why_pending(APPLICATION) == "Queue does not have enough headroom; Node is full"
    waiting = app(state="ACCEPTED", diagnostics="Queue's AM resource limit exceeded. ")
    with rm({f"{CLUSTER}/apps/{APPLICATION}": {"app": waiting}}) as (manager, _):
        assert manager.why_pending(APPLICATION) == "Queue's AM resource limit exceeded."
    # What changes with every look would be a new reason each time.
    passing = (
        "[Sat Nov 21 04:24:12 +0000 2026] Application is Activated, waiting for resources to be assigned for AM.  "
        "Last Node which was processed for the application : 127.0.0.3:16846 ( Partition : [], Total resource : "
        "<memory:8192, vCores:8>, Available resource : <memory:8192, vCores:8> ). Details : AM Partition = x ;"
    )
    waiting = app(state="ACCEPTED", diagnostics=passing)
    with rm({f"{CLUSTER}/apps/{APPLICATION}": {"app": waiting}}) as (manager, _):
        assert manager.why_pending(APPLICATION) == (
            "Application is Activated, waiting for resources to be assigned for AM. Details : AM Partition = x ;"
        )
    with rm({f"{CLUSTER}/apps/{APPLICATION}": {"app": app(state="FINISHED")}}) as (manager, _):
        assert manager.why_pending(APPLICATION) == ""


class Cluster:
    """What placement_mode asks, with these answers."""

    def __init__(self, handler: str | None, scheduler: str, hosts: list[dict[str, Any]]) -> None:
        self._values = {
            "yarn.resourcemanager.placement-constraints.handler": handler,
            "yarn.resourcemanager.scheduler.class": scheduler,
        }
        self._hosts = tuple(rm_documents.hosts({"nodes": {"node": hosts}}))

    def configuration(self, name: str) -> str | None:
        return self._values[name]

    def hosts(self, states: object = ()) -> tuple[Host, ...]:  # noqa: ARG002 - as the ResourceManager has it
        return self._hosts


CAPACITY = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"


@pytest.mark.parametrize(
    ("cluster", "mode", "reason"),
    [
        (Cluster("scheduler", CAPACITY, [node("a"), node("b")]), "constraints", "all hosts publish"),
        (Cluster("scheduler", CAPACITY, [node("a"), node("b", state="LOST", attribute=False)]), "constraints", "all"),
        (Cluster("scheduler", CAPACITY, [node("a"), node("b", attribute=False)]), "blacklist", "1 of 2 hosts"),
        (Cluster("disabled", CAPACITY, [node("a")]), "blacklist", "is disabled"),
        (Cluster(None, CAPACITY, [node("a")]), "blacklist", "is disabled"),
        (Cluster("placement-processor", CAPACITY, [node("a")]), "blacklist", "only `scheduler`"),
        (Cluster("scheduler", "x.FairScheduler", [node("a")]), "blacklist", "FairScheduler"),
        (Cluster("scheduler", CAPACITY, []), "blacklist", "no host is RUNNING"),
    ],
)
def test_auto_takes_constraints_only_where_they_work(cluster: Cluster, mode: str, reason: str) -> None:
    resolved = resolve("auto", cluster)
    assert resolved.mode == mode
    assert reason in resolved.reason
    assert resolve("blacklist", cluster).mode == "blacklist"
    if mode == "blacklist":
        with pytest.raises(UsageError, match=r"placement\.mode is constraints, but"):
            resolve("constraints", cluster)


def test_unknown_hosts_are_not_found_with_what_was_meant() -> None:
    hosts = tuple(rm_documents.hosts({"nodes": {"node": [node("worker-1"), node("node-2")]}}))
    check_known(["worker-1"], hosts)
    with pytest.raises(NotFound, match="Did you mean worker-1"):
        check_known(["worker-l"], hosts)


def test_more_than_any_host_has_is_a_usage_error() -> None:
    hosts = tuple(rm_documents.hosts({"nodes": {"node": [node("a")]}}))
    check_fits("An executor", Size(8192, 8), hosts, Size(8192, 8))
    with pytest.raises(UsageError, match="largest container here is 8192 MiB"):
        check_fits("An executor", Size(8193, 1), hosts, Size(8192, 8))
    with pytest.raises(UsageError, match="no host has that much"):
        check_fits("An executor", Size(9000, 1), hosts, Size(16384, 8))
    check_fits("An executor", Size(9000, 1), (), Size(16384, 8))


def with_types(name: str, total: dict[str, int], used: dict[str, int] | None = None) -> dict[str, Any]:
    """A host with resource types, as the ResourceManager of Hadoop 3 tells them: memory and cores are among them."""

    def resource(values: dict[str, int]) -> dict[str, Any]:
        told = [{"name": "memory-mb", "value": 8192}, {"name": "vcores", "value": 8}]
        told += [{"name": key, "value": value} for key, value in values.items()]
        return {"memory": 8192, "vCores": 8, "resourceInformations": {"resourceInformation": told}}

    return {**node(name), "totalResource": resource(total), "usedResource": resource(used or {})}


def test_resource_types_that_no_host_has_are_a_usage_error() -> None:
    nodes = [
        with_types("a", {"yarn.io/gpu": 4, "acme.io/pen": 0}, {"yarn.io/gpu": 3}),
        with_types("b", {"yarn.io/gpu": 0, "acme.io/pen": 2}),
    ]
    hosts = tuple(rm_documents.hosts({"nodes": {"node": nodes}}))
    assert [host.resources for host in hosts] == [{"yarn.io/gpu": 4}, {"acme.io/pen": 2}]
    assert hosts[0].free_resources == {"yarn.io/gpu": 1}
    check_resources("An executor", {}, hosts)
    check_resources("An executor", {"yarn.io/gpu": 4}, hosts)
    with pytest.raises(UsageError, match=r"yarn.io/gpus, which no host of the cluster has. Did you mean yarn.io/gpu\?"):
        check_resources("An executor", {"yarn.io/gpus": 1}, hosts)
    with pytest.raises(UsageError, match=r"5 of yarn.io/gpu, and no running host has more than 4"):
        check_resources("An executor", {"yarn.io/gpu": 5}, hosts)
    with pytest.raises(UsageError, match="no running host has all of that"):
        check_resources("An executor", {"yarn.io/gpu": 1, "acme.io/pen": 1}, hosts)


def test_ids_and_addresses() -> None:
    assert application_of("container_e12_1795230379752_0002_02_000003") == APPLICATION
    assert application_of("appattempt_1795230379752_0002_000002") == APPLICATION
    with pytest.raises(NotFound):
        application_of("../x")
    assert check_container_id("container_e12_1795230379752_0002_02_000003")
    assert host_of("127.0.0.2:33") == "127.0.0.2"
    assert host_of("http://a.b:1/x") == "a.b"
