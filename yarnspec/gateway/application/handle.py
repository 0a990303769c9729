"""One application of yarnspec, from its id: look at it, read its logs and events, block hosts for it, end it."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from types import TracebackType

import msgspec

from yarnspec.core.copies.speculationview import Explanation
from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError
from yarnspec.gateway.application import ended_status as ended
from yarnspec.gateway.application.client import NegotiatorAbsent, NegotiatorClient, NegotiatorUnreachable, OutputPiece
from yarnspec.gateway.application.eventstream import EventStream
from yarnspec.gateway.application.kill_cleanup import GivenUp, clean_up, write_page
from yarnspec.gateway.application.reasons import Explaining
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.cluster.application_list import LAST, newest
from yarnspec.gateway.logs.nodelogs import NodeLogs
from yarnspec.gateway.logs.outputrest import OutputRest
from yarnspec.gateway.logs.role_logs import DRIVER_FILES, LogContainer, LogPiece, LogReader, Role
from yarnspec.ids import is_application_id
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import Record
from yarnspec.observe.http.rest import ENDPOINT_FILE, Answer, BlockBody, HostEntry, ScaleBody, UnblockBody
from yarnspec.observe.log.history import Result
from yarnspec.observe.status.metrics import exposition
from yarnspec.observe.status.status_fold import StatusFold
from yarnspec.options import Options
from yarnspec.units import parse_duration_ms
from yarnspec.yarn.rm.resource_manager import attempt_of
from yarnspec.yarn.rm.rm_reports import ApplicationReport as Report
from yarnspec.yarn.rm.yarn_command import aggregated_logs, kill_application
from yarnspec.yarn.skein.staging_directory import staging_directory

_OUR_TYPES = frozenset({"yarnspec", "skein"})
_KILL_WAIT_S = 30.0
_POLL_S = 1.0
_LOG_PATIENCE_S = 60.0


class Application:
    """An application that ``yarnspec submit`` started, running or ended.

    Every method asks anew. ``NotFound``: neither YARN nor the history knows it; ``ClusterUnreachable``: they do not
    answer.
    """

    def __init__(self, application_id: str, cluster: Cluster, *, pause: Callable[[float], None] = time.sleep) -> None:
        self.id = _checked(application_id)
        self._cluster = cluster
        self._pause = pause
        self._owner_was_tried = False

    @classmethod
    def from_id(cls, application_id: str, *, settings: Options | None = None) -> Application:
        """An application of the cluster that HADOOP_CONF_DIR names, by its id; nothing is asked yet.

        ``"last"`` is the newest one of this user that YARN or the history knows, which is asked for now.
        """
        if application_id == LAST:
            cluster = Cluster.from_environment(settings)
            return cls(newest(cluster), cluster)
        return cls(_checked(application_id), Cluster.from_environment(settings))

    def __repr__(self) -> str:
        """The id."""
        return f"Application({self.id!r})"

    @cached_property
    def client(self) -> NegotiatorClient:
        """The application's negotiator, for as long as it runs."""
        return NegotiatorClient(self.id, self._endpoint, patience_s=5.0, pause=self._pause)

    @property
    def cluster(self) -> Cluster:
        """The cluster that it runs on."""
        return self._cluster

    def __enter__(self) -> Application:
        """Close on leaving."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        if "client" in self.__dict__:
            self.client.close()
            del self.client
        self._cluster.close()

    def report(self) -> Report | None:
        """YARN's own report; None when it does not know the application (any more) but the history does."""
        try:
            report = self._cluster.rm.application(self.id)
        except NotFound:
            if self._cluster.history.application(self.id) is None:
                message = f"there is no application {self.id}: neither YARN nor the history directory knows it"
                raise NotFound(message) from None
            return None
        if report.type.lower() not in _OUR_TYPES:
            message = f"{self.id} is an application of type {report.type}, not one of yarnspec"
            raise NotFound(message)
        if report.user != self._cluster.user and not self._owner_was_tried:
            self._act_for(report.user)
        return report

    def _act_for(self, owner: str) -> None:
        """Look with its owner's eyes where the cluster allows it, as for an application of ``--proxy-user``."""
        self._owner_was_tried = True
        try:
            as_owner = self._cluster.acting_for(owner)
        except NotAllowed:
            return
        self._cluster.close()
        self._cluster = as_owner

    def status(self) -> StatusDocument:
        """The status: what the application is doing, or how it ended."""
        warnings: tuple[str, ...] = ()
        report = self.report()
        if report is not None and report.state == "RUNNING":
            try:
                return self.client.status()
            except NegotiatorAbsent:
                if report.user != self._cluster.user:
                    warnings = (f"only {report.user}, whose application it is, can see more of it while it runs",)
            except ClusterUnreachable as error:  # its negotiator, or HDFS, where the negotiator's address is
                warnings = (error.message,)
            report = self.report()  # it may have ended just now
        if report is None:
            return ended.without_report(self._from_history())
        link = self._cluster.rm.application_url(self.id)
        entry = self._cluster.history.application(self.id) if report.ended else None
        if entry is not None:
            told = ended.with_report(
                self._from_history(), report, link=link, page=self._cluster.history.report(self.id)
            )
            if told.attempt:
                return told
            # Killed before the negotiator's first record was written: YARN knows the attempt and its container.
            document = self._from_report(report, link)
            return msgspec.structs.replace(
                document,
                name=entry.name,
                placement_mode=entry.placement_mode,
                final=told.final,
                warnings=told.warnings,
            )
        document = self._from_report(report, link)
        return document if report.ended else msgspec.structs.replace(document, warnings=warnings)

    def result(self) -> Result | None:
        """How the program ended, with its traceback; None while it runs and when nobody could write it down."""
        return self._cluster.history.result(self.id)

    def wait(self, timeout_s: float | None = None) -> StatusDocument:
        """Return its last status when it has ended.

        Raises:
            TimeoutError: it still runs after ``timeout_s``.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.has_ended():
            if until is not None and time.monotonic() >= until:
                message = f"{self.id} has not ended within {timeout_s:g} s"
                raise TimeoutError(message)
            self._pause(_POLL_S)
        return self.status()

    def has_ended(self) -> bool:
        """Whether YARN says that it ended (or has forgotten it)."""
        report = self.report()
        return report is None or report.ended

    def events(self, *, follow: bool = False) -> Iterator[Record]:
        """Every event and decision in order, epoch by epoch; with ``follow`` also those to come, until it ends.

        Raises:
            ClusterUnreachable: at the end, after all others, when HDFS could not give those of an epoch.
        """
        self.report()
        yield from EventStream(self.id, self._cluster.history, self.client, self.has_ended, self._pause).read(follow)

    def explain(self, *, task: str | None = None, host: str | None = None) -> Explanation:
        """Why a task (``"STAGE.INDEX"``) or a host was, or was not, acted on, with the numbers.

        Raises:
            NotFound: there was no such task, or the application never heard of the host.
        """
        report = self.report()
        client = self.client if report is not None and not report.ended else None
        explaining = Explaining(client, self.events, lambda: self._cluster.history.application(self.id))
        if (task is None) == (host is None):
            message = "explain what? One task (STAGE.INDEX) or one host"
            raise UsageError(message)
        return explaining.host(host or "") if task is None else explaining.task(task)

    def metrics(self) -> str:
        """The numbers of its status in Prometheus' text form."""
        return exposition(self.status()).decode()

    def page(self) -> str:
        """The page of all that has happened, as one HTML file that is complete in itself."""
        from yarnspec.gateway.report.application_report import application_report

        return application_report(self.events(), self.status, self._cluster.history.application(self.id))

    def logs(
        self,
        role: Role = "driver",
        *,
        executor_id: str | None = None,
        name: str | None = None,
        attempt: int | None = None,
        tail_lines: int | None = None,
        follow: bool = False,
    ) -> Iterator[LogPiece]:
        """The logs of the driver, the negotiator, the executors or Skein's AM, during the run and after the end.

        Args:
            role: whose logs.
            executor_id: only this executor's.
            name: only the file of this name.
            attempt: of the AM's containers that of this attempt (default: the newest).
            tail_lines: only the last lines of each file.
            follow: go on with what is written until the application ends.
        """
        self.report()
        if executor_id is not None:
            role = "executor"
        nodes = NodeLogs(user=self._cluster.user, scheme=self._cluster.node_scheme)
        try:
            reader = LogReader(nodes, self._aggregated, role, name)

            def containers() -> list[LogContainer]:
                return self._log_containers(role, executor_id, attempt)

            if follow and not self.has_ended():
                yield from reader.follow(containers, self.has_ended, tail_lines=tail_lines, pause=self._pause)
            else:
                yield from reader.read(containers(), tail_lines)
        finally:
            nodes.close()

    def driver_log_pages(self) -> dict[str, str]:
        """The NodeManager's pages with the driver's logs, by stream; empty before its container runs."""
        page = self._cluster.rm.application(self.id).am_logs
        if not page:
            return {}
        return {name.removeprefix("driver."): f"{page.rstrip('/')}/{name}" for name in DRIVER_FILES}

    def rest_of_output(self, known_attempt: int, offset: int) -> Iterator[OutputPiece]:
        """The rest of the driver's output, read from the log after the end, from where the negotiator broke off.

        ``known_attempt``: the attempt whose output was read so far; 0: none.

        Raises:
            NotFound: the log cannot be had, or not all of it.
        """
        containers = self._log_containers("driver", None, None)
        if not containers:
            return  # no attempt was ever placed
        container = containers[-1]
        attempt = attempt_of(container.id)
        if known_attempt not in (0, attempt):
            yield OutputPiece(data=b"", attempt=attempt, restarted=True)
        succeeded = (report := self.report()) is None or report.final_status == "SUCCEEDED"
        nodes = NodeLogs(user=self._cluster.user, scheme=self._cluster.node_scheme)
        try:
            rest = OutputRest(
                nodes, self._aggregated, patience_s=_LOG_PATIENCE_S if succeeded else _LOG_PATIENCE_S / 4,
                pause=self._pause,
            )  # fmt: skip
            known = known_attempt == attempt
            for data in rest.read(container, offset if known else 0, known_to_exist=known):
                yield OutputPiece(data=data, attempt=attempt)
        finally:
            nodes.close()

    def hosts(self) -> list[HostEntry]:
        """The cluster's hosts, and which of them are blocked for this application."""
        report = self.report()
        if report is not None and not report.ended:
            try:
                return self.client.hosts()
            except NegotiatorUnreachable:
                pass
        blocked = {one.host: one for one in self.status().blocked_hosts}
        return [
            HostEntry(
                host=host.host,
                rack=host.rack,
                state=host.state,
                blocked=host.host in blocked,
                reason=blocked[host.host].reason if host.host in blocked else "",
                until_ms=blocked[host.host].until_ms if host.host in blocked else None,
            )
            for host in self._cluster.rm.hosts()
        ]

    def block_host(self, host: str, duration: str | None = None, *, reason: str, force: bool = False) -> Answer:
        """Give a host no new containers and tasks for ``duration`` (``"10 min"``; None: until it is unblocked).

        Running containers and tasks go on.

        Raises:
            NotFound: the cluster has no such host.
            NotAllowed: refused, for instance because too many hosts are blocked; the message says why.
        """
        duration_ms = None
        if duration is not None:
            try:
                duration_ms = parse_duration_ms(duration)
            except ValueError as error:
                raise UsageError(str(error)) from error
            if duration_ms <= 0:
                message = "the duration of a block must be longer than 0"
                raise UsageError(message)
        self._check_host(host)
        body = BlockBody(host=host, reason=reason, by=self._cluster.login, duration_ms=duration_ms, force=force)
        return self._accepted(self.client.block(body), f"{host} is not blocked")

    def unblock_host(self, host: str) -> Answer:
        """Let containers and tasks onto a blocked host again; raises as ``block_host``.

        The answer says when the host is ``still_blocked``: what the cluster's list blocks only the list unblocks.
        """
        self._check_host(host)
        return self._accepted(
            self.client.unblock(UnblockBody(host=host, by=self._cluster.login)), f"{host} is not unblocked"
        )

    def scale(self, min_executors: int, max_executors: int, *, force: bool = False) -> Answer:
        """Have at least and at most so many executors from now on, in later attempts as well.

        The answer's ``reason`` says when it takes effect. ``force``: although the hosts that the cluster has now have
        no room for the least, as more will come.

        Raises:
            UsageError: the numbers make no sense, or the application has ended.
            NotAllowed: refused; the message says why.
        """
        if not 1 <= min_executors <= max_executors:
            message = f"at least {min_executors} and at most {max_executors}: the least is 1 or more, the most no less"
            raise UsageError(message)
        self._check_runs("a running application is scaled")
        body = ScaleBody(min_executors=min_executors, max_executors=max_executors, by=self._cluster.login, force=force)
        return self._accepted(self.client.scale(body), f"{self.id} is not scaled")

    def kill(self, because: GivenUp | None = None) -> bool:
        """End it now; False when it had ended already. Its staging directory is removed as well.

        With the option ``history.report`` its page is written into its history.

        ``because``: why it is not the user who ends it; ``status`` and the history tell this reason afterwards.

        Raises:
            ClusterUnreachable: YARN does not answer; or it ended, but HDFS does not answer, and the message says so.
        """
        report = self.report()
        if report is None or report.ended:
            return False
        before = self.status()
        kill_application(self.id, self._cluster.environ)
        until = time.monotonic() + _KILL_WAIT_S
        while not self.has_ended():
            if time.monotonic() > until:
                message = f"YARN took the request to kill {self.id}, which has not ended within {_KILL_WAIT_S:g} s"
                raise ClusterUnreachable(message)
            self._pause(0.2)
        # Clean up what a killed AM cannot. Another user's files are that user's to clean up.
        if report.user == self._cluster.user:
            try:
                clean_up(self._cluster, before, because)
            except ClusterUnreachable as error:
                message = (
                    f"{self.id} is killed, but its staging directory is left to the next submit, and its history may "
                    f"lack the end: {error.message}"
                )
                raise ClusterUnreachable(message) from error
            try:
                write_page(self._cluster.history, self.id, self.page)
            except ClusterUnreachable as error:
                message = (
                    f"{self.id} is killed, but its page is not in its history: {error.message}. "
                    f"`yarnspec report {self.id}` makes it"
                )
                raise ClusterUnreachable(message) from error
        return True

    def clear_staging(self) -> None:
        """Delete the staged files of the ended application, which an AM that was killed could not delete."""
        report = self.report()
        if report is not None and report.ended and report.user == self._cluster.user:
            self._cluster.files.delete(staging_directory(self._cluster.files.home, self.id))

    def _from_history(self) -> StatusDocument:
        """The last status, with the containers of earlier attempts; put together from the events if need be."""
        history = self._cluster.history
        last = history.status(self.id)
        fold = StatusFold(self.id)
        warnings: tuple[str, ...] = ()
        before = None if last is None else last.epoch
        for record in history.all_events(self.id, before=before, task_ends=last is None):
            if isinstance(record, ClusterUnreachable):
                warnings += (f"not all that happened is known: {record.message}",)
            else:
                fold.apply(record)
        document = fold.document()
        if last is None:
            return msgspec.structs.replace(document, warnings=(*document.warnings, *warnings))
        known = {one.id: one for one in (*document.containers, *last.containers)}
        return msgspec.structs.replace(
            last,
            containers=tuple(known[one] for one in sorted(known)),
            warnings=(*last.warnings, *warnings),
        )

    def _from_report(self, report: Report, link: str) -> StatusDocument:
        rm = self._cluster.rm
        last = next(reversed(rm.attempts(self.id)), None)
        return ended.from_report(
            report,
            link=link,
            pending_reason="" if report.ended else rm.why_pending(self.id),
            attempt=last.number if last is not None else 0,
            am_container=last.am_container_id if last is not None else "",
        )

    def _log_containers(self, role: Role, executor_id: str | None, attempt: int | None) -> list[LogContainer]:
        rm = self._cluster.rm
        report = self.report()
        address_of = {host.host: host.http_address for host in rm.hosts()}
        if role != "executor" and report is not None:
            ams = [
                LogContainer(id=one.am_container_id, host=one.am_host or "", address=address_of.get(one.am_host or ""))
                for one in rm.attempts(self.id)
                if one.am_container_id and attempt in (None, one.number)
            ]
            return self._found(ams[-1:], "attempt", None if attempt is None else str(attempt))
        found = [
            LogContainer(id=one.id, host=one.host, address=address_of.get(one.host), executor_id=one.executor_id)
            for one in self.status().containers
            if (one.role == "executor") == (role == "executor")
            and executor_id in (None, one.executor_id, one.id)
            and attempt in (None, one.attempt)
        ]
        if role == "executor":
            return self._found(found, "executor", executor_id)
        return self._found(found[-1:], "attempt", None if attempt is None else str(attempt))

    def _found(self, containers: list[LogContainer], what: str, asked_for: str | None) -> list[LogContainer]:
        if not containers and asked_for is not None:
            message = f"{self.id} had no {what} {asked_for}"
            raise NotFound(message)
        return containers

    def _aggregated(self, container_id: str | None, names: tuple[str, ...]) -> Iterator[bytes]:
        return aggregated_logs(self.id, container_id=container_id, log_files=names, environ=self._cluster.environ)

    def _check_runs(self, said: str) -> None:
        report = self.report()
        if report is None or report.ended:
            message = f"{self.id} has ended: {said}"
            raise UsageError(message)

    def _check_host(self, host: str) -> None:
        self._check_runs("hosts are blocked for running applications")
        known = [entry.host for entry in self.client.hosts()] or [entry.host for entry in self._cluster.rm.hosts()]
        if host not in known:
            near = difflib.get_close_matches(host, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            message = f"the cluster has no host {host!r}.{hint} Hosts: {', '.join(known[:20])}"
            raise NotFound(message)

    @staticmethod
    def _accepted(answer: Answer, otherwise: str) -> Answer:
        if not answer.accepted:
            message = f"{otherwise}: {answer.reason}"
            raise NotAllowed(message)
        return answer

    def _endpoint(self) -> bytes | None:
        files = self._cluster.files
        try:
            return files.read(f"{staging_directory(files.home, self.id)}/{ENDPOINT_FILE}")
        except FileNotFoundError:
            return None


def _checked(application_id: str) -> str:
    if not is_application_id(application_id):
        message = (
            f"{application_id!r} is not an application id; they look like application_1700000000000_0001, and `last` "
            "is the newest"
        )
        raise UsageError(message)
    return application_id
