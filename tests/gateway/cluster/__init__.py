"""A cluster of a few plain values, with real files and a real REST server: for tests of what the gateway does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from yarnspec import options
from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, RunningAttempt
from yarnspec.errors import NotAllowed, NotFound
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http.rest import (
    ENDPOINT_FILE,
    Answer,
    BlockBody,
    Endpoint,
    HostEntry,
    OutputChunk,
    ScaleBody,
    UnblockBody,
)
from yarnspec.observe.http.server import RestServer
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.log.eventlog import EventChunk, EventLog
from yarnspec.observe.log.history import ApplicationRecord, History
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.rm.rm_reports import ApplicationReport as Report
from yarnspec.yarn.rm.rm_reports import AttemptReport, Host

APP = "application_1700000000000_0001"
AM = "container_1700000000000_0001_01_000001"
EXECUTOR = "container_1700000000000_0001_01_000002"
TOKEN = "the-token"
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def report(state: str = "RUNNING", final_status: str = "UNDEFINED", **more: object) -> Report:
    fields: dict[str, object] = {
        "id": APP,
        "user": "me",
        "name": "etl",
        "queue": "default",
        "type": "yarnspec",
        "state": state,
        "final_status": final_status,
        "diagnostics": "",
        "started_ms": 1_700_000_000_000,
        "finished_ms": 0,
        "am_host": HOSTS[0],
    }
    return msgspec.convert({**fields, **more}, Report)


class HandMadeResourceManager:
    """Answers with what a test put into it."""

    def __init__(self) -> None:
        self.reports: dict[str, Report] = {}
        self.pending = ""
        self.addresses = dict.fromkeys(HOSTS, "127.0.0.1:1")
        self.am_containers = [AM]
        self.before_answer: Callable[[], None] = lambda: None

    def application(self, application_id: str) -> Report:
        self.before_answer()
        if application_id not in self.reports:
            raise NotFound("unknown")
        return self.reports[application_id]

    def applications(self, *, user: str | None = None, types: Sequence[str] = ()) -> tuple[Report, ...]:
        return tuple(one for one in self.reports.values() if user in (None, one.user) and one.type in types)

    def application_url(self, application_id: str) -> str:
        return f"http://rm/cluster/app/{application_id}"

    def attempts(self, _: str) -> tuple[AttemptReport, ...]:
        return tuple(
            AttemptReport(
                id=f"appattempt_{number}",
                number=number,
                am_container_id=container_id,
                am_host=HOSTS[0],
                started_ms=0,
                finished_ms=0,
            )
            for number, container_id in enumerate(self.am_containers, start=1)
        )

    def why_pending(self, _: str) -> str:
        return self.pending

    def hosts(self, states: Sequence[str] = ()) -> tuple[Host, ...]:
        assert isinstance(states, tuple)
        return tuple(
            Host(
                host=host,
                node_id=f"{host}:1",
                rack="/r",
                state="RUNNING",
                http_address=address,
                memory_mb=1,
                vcores=1,
                used_memory_mb=0,
                used_vcores=0,
                containers=0,
            )
            for host, address in self.addresses.items()
        )


class HandMadeCluster(Cluster):
    """Its file system is a local directory, its ResourceManager the one above."""

    def __init__(self, directory: Path) -> None:
        super().__init__(HadoopConf({}, environ={"HADOOP_USER_NAME": "me"}), options.load().options)
        self.made_rm = HandMadeResourceManager()
        self.home = directory
        self.may_act_for: dict[str, Cluster] = {}
        self.shared_files = LocalFiles(home=directory)
        values: dict[str, object] = {
            "rm": self.made_rm,
            "files": LocalFiles(home=directory),
            "history": History(LocalFiles(home=directory), f"{directory}/history"),
        }
        self.__dict__.update(values)  # where the lazily made ones would go

    @property
    def user(self) -> str:
        return "me"

    @property
    def environ(self) -> dict[str, str]:
        return dict(os.environ)

    def again(self) -> Cluster:
        return self

    def acting_for(self, user: str) -> Cluster:
        if user not in self.may_act_for:
            raise NotAllowed(f"me is not allowed to act for {user}")
        return self.may_act_for[user]

    def close(self) -> None:
        """Nothing was opened."""

    def shared_blocks(self, location: str) -> ClusterBlocks | None:
        user = LocalFiles().info(str(self.home.parent)).owner
        return None if location == "none" else ClusterBlocks(self.shared_files, f"{self.home}{location}", user)

    @property
    def staging(self) -> Path:
        return self.home / ".skein" / APP

    def announce(self, server: RestServer, attempt: int = 1, token: str = TOKEN) -> None:
        self.staging.mkdir(parents=True, exist_ok=True)
        endpoint = Endpoint(url=server.url, token=token, epoch=attempt, attempt=attempt)
        (self.staging / ENDPOINT_FILE).write_bytes(msgspec.json.encode(endpoint))

    def record(self, *logged: Event | Command, epoch: int = 1) -> None:
        """Write an epoch of an application into the history."""
        history = self.history
        history.begin(ApplicationRecord(application_id=APP, name="etl", user="me", queue="default", started_ms=5))
        log = EventLog(epoch, lambda: history.open_events(APP, epoch))
        for one in logged:
            log.append(one, 1_700_000_001_000)
        assert log.close(10)


class HandMadeNegotiator:
    """Serves what a test put into it."""

    def __init__(self, epoch: int = 1) -> None:
        self.log = EventLogs(epoch)
        self.document = StatusDocument(application_id=APP, state="RUNNING", phase="executing", attempt=epoch)
        self.attempts: tuple[RunningAttempt, ...] = ()
        self.stdout = b""
        self.ended = False
        self.readers: set[str] = set()
        self.answer = Answer(accepted=True)
        self.asked: list[BlockBody | ScaleBody | UnblockBody] = []
        self.polled = threading.Event()
        self.explanations: dict[str, Explanation] = {}

    def status(self) -> StatusDocument:
        return self.document

    def running(self) -> tuple[RunningAttempt, ...]:
        return self.attempts

    def events(self, epoch: int, after: int, limit_bytes: int, /) -> EventChunk:
        self.polled.set()
        return self.log.after(epoch, after, limit_bytes)

    def output(self, stream: str, offset: int, limit_bytes: int, reader: str, /) -> OutputChunk:
        assert stream == "stdout"
        self.readers.add(reader)
        self.polled.set()
        ended = self.ended
        data = self.stdout[offset : offset + limit_bytes]
        return OutputChunk(data=data, next_offset=offset + len(data), ended=ended, attempt=self.document.attempt)

    def hosts(self) -> list[HostEntry]:
        return [HostEntry(host=host, state="RUNNING") for host in HOSTS]

    def explain_task(self, stage: int, index: int, /) -> Explanation | None:
        return self.explanations.get(f"{stage}.{index}")

    def explain_host(self, host: str, /) -> Explanation | None:
        return self.explanations.get(host)

    def block(self, body: BlockBody, /) -> Answer:
        self.asked.append(body)
        return self.answer

    def scale(self, body: ScaleBody, /) -> Answer:
        self.asked.append(body)
        return self.answer

    def unblock(self, body: UnblockBody, /) -> Answer:
        self.asked.append(body)
        return self.answer

    def happened(self, logged: Iterable[Event | Command]) -> None:
        for one in logged:
            self.log.append(one, 1_700_000_001_000)
