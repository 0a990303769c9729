"""Ask the ResourceManager: hosts, queues, applications, and what it accepts.

Every call has retries and a deadline (see rest.py): ClusterUnreachable, NotAllowed and NotFound are what can go wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import tenacity

from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.ids import is_application_id
from yarnspec.yarn.hadoop.closing import Closing
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf, RmAddress
from yarnspec.yarn.rm import rm_documents
from yarnspec.yarn.rm.queues import find_queue
from yarnspec.yarn.rm.rest import RestClient
from yarnspec.yarn.rm.rm_reports import (
    ApplicationReport,
    AttemptReport,
    ClusterInfo,
    ContainerReport,
    Host,
    Queue,
    Size,
)

CONNECT_TIMEOUT_S = 25.0
APPLICATION_TYPE = "yarnspec"
SCHEDULER_KEY = "yarn.resourcemanager.scheduler.class"
_ACTIVE_POLL_S = 0.2
_PASSING = re.compile(r"^\s*\[[^\]]*\]\s*|\s*Last Node which was processed for the application : .*?\)\s*\.\s*")
_CONTAINER_ID = re.compile(r"container_(?:e\d+_)?\d+_\d{4,}_\d{2,}_\d{6,}")


class _NotActiveError(Exception):
    """The ResourceManager starts or stops: it may soon know what it does not know now."""


class ResourceManager(Closing):
    """The ResourceManager of one cluster, through its REST interface."""

    def __init__(
        self,
        addresses: Iterable[RmAddress],
        *,
        user: str,
        proxy_user: str | None = None,
        timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> None:
        self._timeout_s = timeout_s
        self._rest = RestClient(tuple(addresses), user=user, proxy_user=proxy_user, timeout_s=timeout_s)
        self.user = user

    @classmethod
    def from_conf(cls, conf: HadoopConf, *, timeout_s: float = CONNECT_TIMEOUT_S) -> ResourceManager:
        """The ResourceManager that a Hadoop configuration names (any of them, with HA)."""
        return cls(conf.rm_addresses(), user=conf.login, proxy_user=conf.proxy_user, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self._rest.close()

    @property
    def url(self) -> str:
        """The web address of the ResourceManager that answered last."""
        return self._rest.base_url

    def application_url(self, application_id: str) -> str:
        """The page of an application in the ResourceManager's web interface."""
        return f"{self.url}/cluster/app/{application_id}"

    def cluster(self) -> ClusterInfo:
        """The ResourceManager's report about itself."""
        return rm_documents.cluster(self._rest.get("/ws/v1/cluster/info"))

    def hosts(self, states: Iterable[str] = ()) -> tuple[Host, ...]:
        """The hosts that the ResourceManager knows; ``states`` also finds the LOST and SHUTDOWN ones."""
        wanted = ",".join(states)
        document = self._rest.get("/ws/v1/cluster/nodes", {"states": wanted} if wanted else None)
        return tuple(sorted(rm_documents.hosts(document), key=lambda host: host.host))

    def shared_labels(self) -> frozenset[str]:
        """The node labels whose hosts also take containers that ask for no label, if nothing else runs there."""
        try:
            return rm_documents.shared_labels(self._rest.get("/ws/v1/cluster/get-node-labels"))
        except NotFound:
            return frozenset()  # older than such labels

    def queue(self, name: str) -> Queue:
        """The leaf queue that a submission to ``name`` goes to: see ``find_queue``.

        Schedulers other than the capacity and the fair one do not tell their queues: then any name is taken.
        """
        document = self._rest.get("/ws/v1/cluster/scheduler")
        found = rm_documents.queues(document)
        if not found:
            return Queue(name=name.rpartition(".")[2], path=name, leaf=True, state="RUNNING")
        return find_queue(found, name, below_root=rm_documents.is_fair(document))

    def maximum_allocation(self, queue: str | None = None) -> Size:
        """The largest container that the scheduler gives (in that queue)."""
        document = self._rest.get("/ws/v1/cluster/scheduler")
        cluster = rm_documents.scheduler_maximum(document)
        if cluster is None:
            cluster = Size(
                int(self.configuration("yarn.scheduler.maximum-allocation-mb") or 8192),
                int(self.configuration("yarn.scheduler.maximum-allocation-vcores") or 4),
            )
        for item in rm_documents.queues(document):
            if queue in {item.path, item.name} and item.leaf:
                return Size(
                    min(cluster.memory_mb, item.max_allocation_memory_mb or cluster.memory_mb),
                    min(cluster.vcores, item.max_allocation_vcores or cluster.vcores),
                )
        return cluster

    def memory_step_mb(self) -> int:
        """Containers have a multiple of so much memory; 1 if that is not known."""
        scheduler = self.configuration(SCHEDULER_KEY) or ""
        told = self.configuration("yarn.scheduler.minimum-allocation-mb") or ""
        # The fair scheduler's smallest container is not its step.
        return max(1, int(told)) if scheduler.endswith("CapacityScheduler") and told.isdecimal() else 1

    def configuration(self, name: str) -> str | None:
        """One value of the ResourceManager's own configuration; None when it does not have or not tell it."""
        try:
            document = self._rest.get("/conf", {"name": name, "format": "json"})
        except NotFound:
            return None
        return rm_documents.configuration_value(document, name)

    def application(self, application_id: str) -> ApplicationReport:
        """The report of one application; NotFound when the ResourceManager does not know it.

        While it starts it answers before it has read its state, and while it stops it knows no page at all: it does
        not know an application only where it was active before it said so, and still is.
        """
        check_application_id(application_id)
        path = f"/ws/v1/cluster/apps/{application_id}"
        try:
            document = self._rest.get(path)
        except NotFound:
            document = self._asked_while_active(path)
        if document is None:
            raise NotFound(f"The ResourceManager does not know {application_id}.")
        return rm_documents.application(document["app"])

    def _asked_while_active(self, path: str) -> Any:
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_NotActiveError),
            wait=tenacity.wait_fixed(_ACTIVE_POLL_S),
            stop=tenacity.stop_after_delay(self._timeout_s),
        )
        try:
            return retrying(self._asked_once_while_active, path)
        except tenacity.RetryError as error:
            raise ClusterUnreachable(
                f"The ResourceManager at {self.url} did not become active within {self._timeout_s:g} s."
            ) from error

    def _asked_once_while_active(self, path: str) -> Any:
        self._check_active()
        try:
            return self._rest.get(path)
        except NotFound:
            self._check_active()
            return None

    def _check_active(self) -> None:
        try:
            state = self.cluster().ha_state
        except NotFound as error:
            raise _NotActiveError from error
        if state not in {"", "ACTIVE"}:
            raise _NotActiveError

    def applications(
        self, *, user: str | None = None, types: Iterable[str] = (), states: Iterable[str] = ()
    ) -> tuple[ApplicationReport, ...]:
        """The applications that the ResourceManager remembers, filtered."""
        parameters: dict[str, str] = {}
        if user is not None:
            parameters["user"] = user
        if types:
            parameters["applicationTypes"] = ",".join(types)
        if states:
            parameters["states"] = ",".join(states)
        return rm_documents.applications(self._rest.get("/ws/v1/cluster/apps", parameters))

    def attempts(self, application_id: str) -> tuple[AttemptReport, ...]:
        """The attempts of an application, first to last."""
        check_application_id(application_id)
        document = self._rest.get(f"/ws/v1/cluster/apps/{application_id}/appattempts")
        return tuple(sorted(rm_documents.attempts(document), key=lambda attempt: attempt.number))

    def diagnostics(self, attempt_id: str) -> str:
        """YARN's words on how an attempt ended; the list of attempts does not have them.

        In XML, as 3.5.0 answers 500 to who asks for JSON.
        """
        path = f"/ws/v1/cluster/apps/{application_of(attempt_id)}/appattempts/{attempt_id}"
        return rm_documents.diagnostics(self._rest.get_text(path, accept="application/xml"))

    def containers(self, attempt_id: str) -> tuple[ContainerReport, ...]:
        """The containers of an attempt that the ResourceManager still holds: those that run or are about to."""
        application_id = application_of(attempt_id)
        document = self._rest.get(f"/ws/v1/cluster/apps/{application_id}/appattempts/{attempt_id}/containers")
        return rm_documents.containers(document)

    def why_pending(self, application_id: str) -> str:
        """Why an application's containers (or its AM) do not come, as the scheduler says; empty: it says nothing."""
        report = self.application(application_id)
        if report.ended:
            return ""
        if report.state != "RUNNING":
            # Without when it was said and which host was looked at last: these change all the time and say nothing.
            said = _PASSING.sub(" ", report.diagnostics).strip()
            return said or f"The application is {report.state}."
        return self._activities(application_id)

    def _activities(self, application_id: str) -> str:
        # Asking also makes the scheduler record this application's next rounds, so the first answer may be empty.
        try:
            document: Mapping[str, Any] = self._rest.get(
                f"/ws/v1/cluster/scheduler/app-activities/{application_id}",
                {"maxTime": "15", "groupBy": "diagnostic", "summarize": "true"},
                timeout_s=5.0,
            )
        except NotFound:
            return ""  # a scheduler without activities
        return rm_documents.activities(document)


def check_application_id(text: str) -> str:
    """Return ``text`` if it is an application id, else raise NotFound. It becomes part of addresses and paths."""
    if not is_application_id(text):
        raise NotFound(f"{text!r} is not an application id; they look like application_1700000000000_0001.")
    return text


def check_container_id(text: str) -> str:
    """Return ``text`` if it is a container id, else raise NotFound."""
    if not _CONTAINER_ID.fullmatch(text):
        raise NotFound(f"{text!r} is not a container id; they look like container_1700000000000_0001_01_000001.")
    return text


def application_of(identifier: str) -> str:
    """The application id inside an attempt's (``appattempt_…``) or a container's (``container_e12_…``) id."""
    match = re.fullmatch(r"(?:appattempt|container(?:_e\d+)?)_(\d+_\d+)_\d+(?:_\d+)?", identifier)
    if match is None:
        raise NotFound(f"{identifier!r} is neither an attempt's nor a container's id.")
    return f"application_{match.group(1)}"


def attempt_of(container_id: str) -> int:
    """The number of the attempt whose container it is."""
    return int(check_container_id(container_id).split("_")[-2])


def host_of(address: str) -> str:
    """The host of ``host:port`` or of a URL."""
    parsed = urlsplit(address if "//" in address else f"//{address}")
    return parsed.hostname or address
