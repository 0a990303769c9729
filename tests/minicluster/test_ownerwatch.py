"""A cluster that was started for a process ends with it, however that one ends; others go on."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from yarnspec.cli.main import cli
from yarnspec.errors import UsageError
from yarnspec.minicluster import MiniCluster, cluster
from yarnspec.minicluster.hadoop.cluster_record import ClusterRecord, read_record, write_record
from yarnspec.minicluster.hadoop.configuration import OWNER_WATCH, Ports, Shape
from yarnspec.minicluster.hadoop.daemons import container_mark, log_tail, mark, start_daemon
from yarnspec.minicluster.hadoop.home import Home
from yarnspec.minicluster.machine.processes import (
    ProcessIdentity,
    find_marked,
    identify,
    is_alive,
    send,
    start_detached,
    wait_gone,
    wait_until,
)

PORTS = Ports(
    rm_client=1, rm_scheduler=2, rm_tracker=3, rm_admin=4, rm_web=5, name_node=6, name_node_web=7, node_manager=8
)
HOST = "127.0.0.2"
HADOOPS = ("resourcemanager", "namenode", "datanode", f"nodemanager-{HOST}")
WAIT_S = 60
PROGRAM = """
import sys
from yarnspec.minicluster import MiniCluster
if sys.stdin.readline():
    MiniCluster(sys.argv[1]).stop()
"""
# A daemon that kills the owner when it is told to end, and ends when it is told again.
SPITEFUL = "trap '[ -e told ] && exit; : >told; kill -9 \"$0\"' TERM; echo deaf; while :; do sleep 600 & wait; done"


class Pretended:
    """A cluster of one host: nobody but the watch is what it is called."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        self.home = Home(root)
        self.home.logs.mkdir()
        self.record = ClusterRecord(shape=Shape(nodes=1), ports=PORTS, java_home="/java", jars="/jars")
        self.marks = [mark(self.home), container_mark(self.home, HOST)]

    def daemon(self, name: str, *command: str) -> ProcessIdentity:
        """Start one; without a name it is not written down."""
        key, _, value = mark(self.home).rstrip("\0").partition("=")
        process = self._start(*(command or ("sleep", "600")), **{key: value})
        if name:
            self.record.daemons[name] = process
            write_record(self.home.record, self.record)
        return process

    def container(self) -> ProcessIdentity:
        return self._start("sleep", "600", LOCAL_DIRS=f"{self.home.local(HOST)}/usercache/me/appcache/application_1_1")

    def watched(self, owner: ProcessIdentity | None) -> ProcessIdentity:
        self.record.owner = owner
        write_record(self.home.record, self.record)
        self.record.daemons[OWNER_WATCH] = watch = start_daemon(self.home, self.record, OWNER_WATCH)
        write_record(self.home.record, self.record)
        return watch

    def _start(self, *command: str, **environment: str) -> ProcessIdentity:
        variables = {"PATH": os.environ["PATH"], **environment}
        return start_detached(command, directory=self.home.root, log=self.home.log("all"), environment=variables)


@pytest.fixture
def pretended(tmp_path: Path) -> Iterator[Pretended]:
    here = Pretended(tmp_path / "c")
    yield here
    send(find_marked(here.marks), signal.SIGKILL)
    assert wait_until(lambda: not find_marked(here.marks), WAIT_S)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody who may own a cluster, and stops the pretended one when it reads a line."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "c")]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def known(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    found = identify(process.pid)
    assert found is not None
    return found


def waits_for(watch: ProcessIdentity, pid: int) -> bool:
    """Whether it holds a descriptor of this process."""
    for each in Path(f"/proc/{watch.pid}/fdinfo").iterdir():
        # A program that begins opens and closes files of its own.
        with contextlib.suppress(FileNotFoundError):
            if f"\nPid:\t{pid}\n" in each.read_text():
                return True
    return False


def test_nothing_is_left_of_a_cluster_whose_directory_somebody_deletes(pretended: Pretended) -> None:
    ours = [pretended.daemon("resourcemanager"), pretended.container()]
    shutil.rmtree(pretended.home.root)
    MiniCluster(pretended.home.root).stop()
    assert wait_gone(ours, WAIT_S) == []


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_owner_is_killed_everything_ends_and_the_watch_too(
    pretended: Pretended, program: subprocess.Popen[bytes], tmp_path: Path, end: signal.Signals
) -> None:
    neighbour = Pretended(tmp_path / "c2")
    theirs = neighbour.daemon("resourcemanager")
    ours = [pretended.daemon("resourcemanager"), pretended.container(), pretended.watched(known(program))]
    try:
        assert wait_until(lambda: waits_for(ours[-1], program.pid), WAIT_S)
        program.send_signal(end)

        assert wait_gone(ours, WAIT_S) == []
        assert find_marked(pretended.marks) == []
        assert is_alive(theirs)
        assert MiniCluster(pretended.home.root).status()["state"] == "stopped"
        assert str(program.pid) in log_tail(pretended.home, OWNER_WATCH)
    finally:
        send(find_marked(neighbour.marks), signal.SIGKILL)


def test_while_the_owner_lives_the_cluster_goes_on_and_stop_ends_the_watch(
    pretended: Pretended, program: subprocess.Popen[bytes]
) -> None:
    daemon = pretended.daemon("resourcemanager")
    watch = pretended.watched(known(program))
    assert wait_until(lambda: waits_for(watch, program.pid), WAIT_S)
    assert is_alive(daemon)

    MiniCluster(pretended.home.root).stop()

    assert wait_gone([daemon, watch], 0) == []
    assert program.poll() is None


def test_a_later_process_with_the_owners_number_keeps_nothing_alive(
    pretended: Pretended, program: subprocess.Popen[bytes]
) -> None:
    daemon = pretended.daemon("resourcemanager")
    now = known(program)
    watch = pretended.watched(ProcessIdentity(now.pid, now.started_ticks - 1))

    assert wait_gone([daemon, watch], WAIT_S) == []
    assert program.poll() is None


@pytest.mark.parametrize("name", ["resourcemanager", ""], ids=["written down", "found by its mark"])
def test_an_owner_that_is_killed_while_it_stops_the_cluster_leaves_nothing(
    pretended: Pretended, program: subprocess.Popen[bytes], name: str
) -> None:
    daemon = pretended.daemon(name, "sh", "-c", SPITEFUL, str(program.pid))
    assert wait_until(lambda: "deaf" in pretended.home.log("all").read_text(), WAIT_S)
    ours = [daemon, pretended.container(), pretended.watched(known(program))]

    program.communicate(b"stop\n")

    assert program.returncode == -signal.SIGKILL
    assert wait_gone(ours, WAIT_S) == []


def test_a_cluster_whose_owner_has_ended_is_not_joined(
    pretended: Pretended, program: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its watch may be about to stop it: who comes then starts one of his own."""
    monkeypatch.setattr(cluster, "find_java_home", lambda: tmp_path / "no-java")
    monkeypatch.setattr(cluster, "ensure_jars", lambda *_: tmp_path / "no-jars")
    daemons = [pretended.daemon(name) for name in (OWNER_WATCH, *HADOOPS)]
    pretended.record.owner = known(program)
    write_record(pretended.home.record, pretended.record)
    mini = MiniCluster(pretended.home.root, nodes=1)

    assert not mini.start(while_pid=os.getpid())
    assert mini.while_pid == program.pid

    program.kill()
    program.wait()
    with pytest.raises(FileNotFoundError, match="no-java"):
        mini.start()
    assert wait_gone(daemons, 0) == []


def test_status_names_the_owner_and_the_watch(pretended: Pretended, program: subprocess.Popen[bytes]) -> None:
    watch = pretended.watched(known(program))

    def status(output: str) -> str:
        home = str(pretended.home.root)
        return CliRunner().invoke(cli, ["minicluster", "status", "--home", home, "-o", output]).stdout

    document = json.loads(status("json"))
    assert document["while_pid"] == program.pid
    assert {each["pid"] for each in document["daemons"] if each["name"] == OWNER_WATCH} == {watch.pid}
    assert f"while pid: {program.pid}" in status("table")

    MiniCluster(pretended.home.root).stop()
    assert json.loads(status("json"))["while_pid"] is None
    assert "while pid" not in status("table")
    after = read_record(pretended.home.record)
    assert after is not None
    assert after.owner is None


def test_an_owner_must_be_there(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    with pytest.raises(UsageError, match=f"no process {ended.pid} "):
        MiniCluster(tmp_path / "c").start(while_pid=ended.pid)

    command = ["minicluster", "start", "--home", str(tmp_path / "c"), "--while-pid", str(ended.pid)]
    assert CliRunner().invoke(cli, command).exit_code != 0
    assert not (tmp_path / "c").exists()
