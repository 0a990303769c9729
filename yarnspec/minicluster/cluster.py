"""A real YARN and HDFS on this machine: one JVM for each daemon, one loopback address for each host."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.minicluster.hadoop import web
from yarnspec.minicluster.hadoop.classarchive import ClassArchives
from yarnspec.minicluster.hadoop.cluster_record import ClusterRecord, read_record, write_record
from yarnspec.minicluster.hadoop.configuration import (
    DATA_NODE,
    NAME_NODE,
    OWNER_WATCH,
    RESOURCE_MANAGER,
    SLOW_HOSTS,
    Ports,
    Shape,
    node_manager,
    slow_hosts,
    user_name,
    write_configuration,
)
from yarnspec.minicluster.hadoop.daemons import (
    OF_OURS,
    container_mark,
    format_name_node,
    kind,
    log_tail,
    mark,
    mark_of_all_containers,
    start_daemon,
)
from yarnspec.minicluster.hadoop.home import Home, default_home
from yarnspec.minicluster.hadoop.jars import ensure_jars
from yarnspec.minicluster.hadoop.scripts import write_scripts
from yarnspec.minicluster.machine.java import find_java_home
from yarnspec.minicluster.machine.locks import locked
from yarnspec.minicluster.machine.ports import HeldPorts
from yarnspec.minicluster.machine.processes import end, find_marked, identify, is_alive, send, wait_gone, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from yarnspec.minicluster.machine.processes import ProcessIdentity

START_TIMEOUT_S = 90
_LOCK_TIMEOUT_S = 180
_MOST_NODES = 200


class MiniCluster:
    """One cluster, living in one home directory; `with MiniCluster(home) as cluster:` starts and stops it.

    Started by `with` it ends with this process, also when that is killed.

    >>> with MiniCluster("/tmp/c", nodes=4) as cluster:
    ...     subprocess.run(["yarn", "node", "-list"], env={**os.environ, **cluster.env()})
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        nodes: int = 3,
        memory_mb: int = 8192,
        vcores: int = 8,
        am_share: float = 1.0,
        placement_constraints: bool = True,
        pmem_check: bool = False,
        shuffle_service: bool = False,
        properties: dict[str, str] | None = None,
        slow: Mapping[str, float] | None = None,
        hadoop_directory: str | os.PathLike[str] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.home = Home(Path(home).expanduser().absolute() if home is not None else default_home())
        if not set(str(self.home.root)).isdisjoint(" \t\n,:'\"$"):
            raise UsageError(f"Hadoop cannot live in a directory with such a name: {self.home.root}")
        if not 1 <= nodes <= _MOST_NODES:
            raise UsageError(f"a mini cluster has between 1 and {_MOST_NODES} hosts, not {nodes}")
        self._asked = shape = Shape(
            nodes=nodes,
            memory_mb=memory_mb,
            vcores=vcores,
            am_share=am_share,
            placement_constraints=placement_constraints,
            pmem_check=pmem_check,
            shuffle_service=shuffle_service,
            properties=dict(properties or {}),
            slow=slow_hosts({}, slow or {}),
        )
        for host in shape.slow:
            _known(shape, host)
        self._hadoop_directory = Path(hadoop_directory) if hadoop_directory is not None else None
        self._say = say

    def __enter__(self) -> MiniCluster:
        self.start(while_pid=os.getpid())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # -- the whole cluster ---------------------------------------------------------------------------------------------

    def start(self, timeout_s: float = START_TIMEOUT_S, *, while_pid: int | None = None) -> bool:
        """Start every daemon and wait until the cluster takes work; False when it was there already.

        With `while_pid` the cluster is stopped as soon as that process has ended, however it ends; one that was
        there already stays as it was started.

        Raises:
            UsageError: another cluster runs in this home, or there is no such process.
        """
        owner = _owner(while_pid)
        java_home = find_java_home()
        jars = ensure_jars(self._hadoop_directory, self._say)
        with self._locked("starting the cluster"):
            before = read_record(self.home.record)
            if before is not None and self._is_whole(before):
                if before.shape != self._asked:
                    raise UsageError(f"another cluster runs in {self.home.root}: stop it first, or name another home")
                return False
            self._end_everything()
            try:
                self._start(before, owner, java_home, jars, timeout_s)
            except BaseException:
                self._end_everything()
                raise
        return True

    def stop(self) -> None:
        """End every process of this cluster, the containers' too; HDFS's data stays."""
        if not self.home.root.is_dir():
            # Somebody deleted it under the running daemons.
            end(find_marked([mark(self.home)]), patience_s=10)
            _end_containers(mark_of_all_containers(self.home))
            return
        with self._locked("stopping the cluster"):
            self._end_everything()

    def env(self) -> dict[str, str]:
        """Return the environment variables with which programs use this cluster."""
        record = self._record()
        return {
            "HADOOP_CONF_DIR": str(self.home.conf),
            "JAVA_HOME": record.java_home,
            "PATH": f"{self.home.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }

    @property
    def hosts(self) -> list[str]:
        """The hosts' names."""
        return self._record().shape.hosts

    @property
    def rm_url(self) -> str:
        """The ResourceManager's web address."""
        return f"http://127.0.0.1:{self._record().ports.rm_web}"

    @property
    def default_fs(self) -> str:
        """HDFS's address."""
        return f"hdfs://127.0.0.1:{self._record().ports.name_node}"

    @property
    def while_pid(self) -> int | None:
        """The process with which the cluster ends; None when it runs until it is stopped."""
        owner = self._record().owner
        return owner.pid if owner is not None else None

    def status(self) -> dict[str, Any]:
        """Return what runs, as a document (`yarnspec minicluster status -o json`)."""
        record = read_record(self.home.record)
        if record is None:
            return {"schema": 1, "home": str(self.home.root), "state": "stopped", "daemons": [], "hosts": []}
        alive = {name: process for name, process in record.daemons.items() if is_alive(process)}
        reports = web.nodes(record.ports.rm_web) if RESOURCE_MANAGER in alive else None
        expected = self._daemon_names(record)
        return {
            "schema": 1,
            "home": str(self.home.root),
            "state": "running" if set(expected) == set(alive) else "partial" if alive else "stopped",
            "resource_manager": self.rm_url,
            "default_fs": self.default_fs,
            "while_pid": self.while_pid,
            "daemons": [
                {
                    "name": name,
                    "state": "running" if name in alive else "stopped",
                    "pid": alive[name].pid if name in alive else None,
                    "log": str(self.home.log(name)),
                }
                for name in expected
            ],
            "hosts": [_host_status(record.shape, host, (reports or {}).get(host)) for host in record.shape.hosts],
        }

    # -- single daemons ------------------------------------------------------------------------------------------------

    def host_stop(self, host: str, *, kill: bool = False) -> None:
        """End a host: in order (its containers are stopped, the ResourceManager is told), or like a power failure."""
        with self._locked(f"stopping {host}"):
            record, name = self._record_with(host)
            process = record.daemons.get(name)
            if process is not None:
                send([process], signal.SIGKILL if kill else signal.SIGTERM)
                if wait_gone([process], 30):
                    send([process], signal.SIGKILL)
                    wait_gone([process], 10)
            _end_containers(container_mark(self.home, host))
            record.daemons.pop(name, None)
            write_record(self.home.record, record)

    def host_start(self, host: str, timeout_s: float = 60) -> None:
        """Start a host again and wait until the ResourceManager counts on it."""
        with self._locked(f"starting {host}"):
            record, name = self._record_with(host)
            process = record.daemons.get(name)
            if process is not None and is_alive(process):
                return
            seen = _size(self.home.log(name))
            self._start_daemon(record, name)

            def registered() -> bool:
                # The ResourceManager may not have noticed yet that the host was away: its word alone is not enough.
                with self.home.log(name).open("rb") as log:
                    log.seek(seen)
                    said = b"Registered with ResourceManager as" in log.read()
                return said and host in web.running_hosts(record.ports.rm_web)

            self._wait(record, [name], registered, timeout_s)

    def host_slow(self, host: str, factor: float) -> None:
        """Make what runs in a host's containers so many times slower from now on; 1: as fast as it can be."""
        with self._locked(f"slowing {host} down"):
            record, _ = self._record_with(host)
            # The others go on at full speed for the moment that this takes.
            end([each for name, each in record.daemons.items() if name == SLOW_HOSTS], patience_s=10)
            record.daemons.pop(SLOW_HOSTS, None)
            record.shape = msgspec.structs.replace(record.shape, slow=slow_hosts(record.shape.slow, {host: factor}))
            write_record(self.home.record, record)
            if record.shape.slow and self._runs(record, RESOURCE_MANAGER):
                self._start_daemon(record, SLOW_HOSTS)

    def rm_stop(self, *, kill: bool = False) -> None:
        """End the ResourceManager; hosts and containers go on without it."""
        with self._locked("stopping the ResourceManager"):
            record = self._record()
            process = record.daemons.pop(RESOURCE_MANAGER, None)
            if process is not None:
                if kill:
                    send([process], signal.SIGKILL)
                end([process], patience_s=15)
                write_record(self.home.record, record)

    def rm_start(self, timeout_s: float = 60) -> None:
        """Start the ResourceManager again with the state it had, and wait until every running host is back."""
        with self._locked("starting the ResourceManager"):
            record = self._record()
            process = record.daemons.get(RESOURCE_MANAGER)
            if process is None or not is_alive(process):
                self._start_daemon(record, RESOURCE_MANAGER)
            hosts = {host for host in record.shape.hosts if self._runs(record, node_manager(host))}
            self._wait(record, [RESOURCE_MANAGER], lambda: hosts <= web.running_hosts(record.ports.rm_web), timeout_s)

    def rm_restart(self, *, kill: bool = False, timeout_s: float = 60) -> None:
        """End the ResourceManager and start it again: it keeps its applications."""
        self.rm_stop(kill=kill)
        self.rm_start(timeout_s)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _start(
        self, before: ClusterRecord | None, owner: ProcessIdentity | None, java_home: Path, jars: Path, timeout_s: float
    ) -> None:
        deadline = time.monotonic() + timeout_s
        shape = self._asked
        self.home.logs.mkdir(parents=True, exist_ok=True)
        for old in self.home.logs.glob("*.log"):
            old.unlink()
        with HeldPorts() as held:
            ports = _take_ports(held, before, shape)
            record = ClusterRecord(shape=shape, ports=ports, java_home=str(java_home), jars=str(jars), owner=owner)
            write_configuration(self.home, shape, record.ports, jars)
            write_scripts(self.home, jars, java_home)
            write_record(self.home.record, record)
        # The hosts first: they take longest. Only the NameNode has to wait, for its directory.
        names = self._daemon_names(record)
        for name in names:
            if name not in (NAME_NODE, DATA_NODE):
                self._start_daemon(record, name)
        format_name_node(self.home, record)
        for name in (NAME_NODE, DATA_NODE):
            self._start_daemon(record, name)
        left: dict[str, Callable[[], bool]] = {
            "HDFS": lambda: _prepare_hdfs(record.ports.name_node_web),
            "YARN": lambda: set(shape.hosts) <= web.running_hosts(record.ports.rm_web),
        }

        def ready() -> bool:
            for what in [what for what, holds in left.items() if holds()]:
                del left[what]
            return not left

        self._wait(record, names, ready, deadline - time.monotonic())
        running = {kind(name): process.pid for name, process in record.daemons.items() if name not in OF_OURS}
        ClassArchives(jars, java_home).make_missing(running)

    def _start_daemon(self, record: ClusterRecord, name: str) -> None:
        record.daemons[name] = start_daemon(self.home, record, name)
        write_record(self.home.record, record)

    def _wait(self, record: ClusterRecord, names: Iterable[str], ready: Callable[[], bool], timeout_s: float) -> None:
        """Wait for `ready`; a daemon that ends meanwhile, or the time's end, is shown with its log."""
        watched = list(names)
        dead: list[str] = []

        def over() -> bool:
            dead.extend(name for name in watched if not self._runs(record, name))
            return bool(dead) or ready()

        if not wait_until(over, max(timeout_s, 0), poll_s=0.1):
            shown = "\n".join(f"--- {name}\n{log_tail(self.home, name, 8)}" for name in watched)
            raise ClusterUnreachable(f"not ready after {timeout_s:.0f} s; the daemons said last:\n{shown}")
        if dead:
            raise ClusterUnreachable(
                f"{dead[0]} ended while it was starting; the end of {self.home.log(dead[0])}:\n"
                f"{log_tail(self.home, dead[0])}"
            )

    def _end_everything(self) -> None:
        """End what is written down and what is found by its mark, until nothing is found; then tidy up."""
        record = read_record(self.home.record)
        daemons = dict(record.daemons) if record is not None else {}
        # The watch ends last, for it goes on when we are killed here; and the watch may be ourselves.
        watch = daemons.pop(OWNER_WATCH, None)
        end(daemons.values(), patience_s=10)
        end([each for each in find_marked([mark(self.home)]) if each != watch], patience_s=5)
        _end_containers(mark_of_all_containers(self.home))
        for scratch in (self.home.rm_state, self.home.root / "hosts", self.home.root / "tmp"):
            shutil.rmtree(scratch, ignore_errors=True)
        if record is not None:
            record.daemons.clear()
            record.owner = None
            write_record(self.home.record, record)
        if watch is not None and watch.pid != os.getpid():
            end([watch], patience_s=5)

    def _locked(self, doing: str) -> AbstractContextManager[None]:
        return locked(self.home.lock, timeout_s=_LOCK_TIMEOUT_S, doing=doing)

    def _record(self) -> ClusterRecord:
        record = read_record(self.home.record)
        if record is None:
            raise NotFound(f"there is no mini cluster in {self.home.root}: run `yarnspec minicluster start` first")
        return record

    def _record_with(self, host: str) -> tuple[ClusterRecord, str]:
        record = self._record()
        _known(record.shape, host)
        return record, node_manager(host)

    def _runs(self, record: ClusterRecord, name: str) -> bool:
        process = record.daemons.get(name)
        return process is not None and is_alive(process)

    def _is_whole(self, record: ClusterRecord) -> bool:
        ending = record.owner is not None and not is_alive(record.owner)
        return not ending and all(self._runs(record, name) for name in self._daemon_names(record))

    @staticmethod
    def _daemon_names(record: ClusterRecord) -> list[str]:
        """Return them as they are started: the watch before there is anything to end."""
        watch = [OWNER_WATCH] if record.owner is not None else []
        slow = [SLOW_HOSTS] if record.shape.slow else []
        hosts = map(node_manager, record.shape.hosts)
        return [*watch, RESOURCE_MANAGER, NAME_NODE, DATA_NODE, *hosts, *slow]


def _owner(pid: int | None) -> ProcessIdentity | None:
    owner = identify(pid) if pid is not None else None
    if pid is not None and owner is None:
        raise UsageError(f"there is no process {pid} that the cluster could end with")
    return owner


def _known(shape: Shape, host: str) -> None:
    if host not in shape.hosts:
        raise NotFound(f"this cluster has no host {host}; its hosts: {', '.join(shape.hosts)}")


def _take_ports(held: HeldPorts, before: ClusterRecord | None, shape: Shape) -> Ports:
    """Take the ports this home had the last time where they are free, so that addresses stay valid; else others."""
    old = before.ports if before is not None else None
    taken = {}
    for name in Ports.__struct_fields__:
        last = getattr(old, name, 0)
        addresses = shape.hosts if name in ("node_manager", "shuffle_service") else ["127.0.0.1"]
        taken[name] = held.take_again(last, addresses) if last else held.take(addresses)
    return Ports(**taken)


def _prepare_hdfs(name_node_web_port: int) -> bool:
    """Make the directories that every HDFS has, and see that a file can be written."""
    directories = {"/tmp": "1777", "/tmp/logs": "1777", "/user": "755", f"/user/{user_name()}": "755"}  # noqa: S108
    made = all(web.make_directory(name_node_web_port, *each) for each in directories.items())
    return made and web.can_write(name_node_web_port)


def _host_status(shape: Shape, host: str, report: dict[str, Any] | None) -> dict[str, Any]:
    report = report or {}
    return {
        "host": host,
        "state": report.get("state", "UNKNOWN"),
        "containers": report.get("numContainers", 0),
        "used_memory_mb": report.get("usedMemoryMB", 0),
        "used_vcores": report.get("usedVirtualCores", 0),
        "slow": shape.slow.get(host, 1),
    }


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _end_containers(marked: str) -> None:
    def none_left() -> bool:
        found = find_marked([marked])
        send(found, signal.SIGKILL)
        return not found

    if not wait_until(none_left, 20):
        raise ClusterUnreachable(f"processes of containers cannot be ended: {find_marked([marked])}")
