"""What the integration tests share: a mini cluster per process, the real command line, and the checks for leaks."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest

from integration import quickjvm, turns
from integration.cluster import Cluster
from integration.submitting import (
    ENDED,
    PROGRAMS,
    SMALL,
    Result,
    Submission,
    base_environment,
    run_yarnspec,
    start_submit,
)
from integration.tpch.data import tpch_data
from integration.waiting import PATIENCE, wait_for
from integration.watch import PlacementWatch
from yarnspec.minicluster import MiniCluster

HOSTS = 4
EXCLUDED_HOSTS = "excluded-hosts"
"""The file in a cluster's home that names the hosts which YARN takes out of service."""
DAEMON_TAIL_LINES = 4
CONTAINER_TAIL_LINES = 20
CLEAN_UP_TIMEOUT_S = 30

PROPERTIES = {
    # The logs of containers that have ended stay on the hosts: a test that fails shows them.
    "yarn.nodemanager.delete.debug-delay-sec": "600",
    "yarn.scheduler.capacity.root.queues": "default,narrow,urgent",
    # It may take the whole cluster, and loses what is not its own when somebody comes to `urgent`.
    "yarn.scheduler.capacity.root.default.capacity": "64",
    "yarn.scheduler.capacity.root.default.user-limit-factor": "2",
    "yarn.scheduler.capacity.root.urgent.capacity": "30",
    "yarn.resourcemanager.scheduler.monitor.enable": "true",
    "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval": "1000",
    "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "2000",
    "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "1.0",
    "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "1.0",
    # A label that no host has until a test gives it to one.
    "yarn.node-labels.enabled": "true",
    "yarn.scheduler.capacity.root.accessible-node-labels": "fast",
    "yarn.scheduler.capacity.root.accessible-node-labels.fast.capacity": "100",
    "yarn.scheduler.capacity.root.default.accessible-node-labels": "fast",
    "yarn.scheduler.capacity.root.default.accessible-node-labels.fast.capacity": "100",
    # A queue in which a small application master finds room and nothing else does.
    "yarn.scheduler.capacity.root.narrow.capacity": "6",
    "yarn.scheduler.capacity.root.narrow.maximum-capacity": "6",
    "yarn.scheduler.capacity.root.narrow.maximum-am-resource-percent": "0.5",
}

# With the process id they make every application's name a name of its own, also on a kept cluster.
NUMBERS = itertools.count(1)

Submit = Callable[..., Submission]
Yarnspec = Callable[..., Result]
Watch = Callable[[str], PlacementWatch]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a developer keep one cluster for many runs."""
    parser.addoption("--cluster", metavar="HOME", help="use (and leave running) the mini cluster in this directory")


def mini_cluster(home: Path) -> MiniCluster:
    """The cluster that the tests run on; not started."""
    excluded = home / EXCLUDED_HOSTS
    home.mkdir(parents=True, exist_ok=True)
    excluded.touch()
    properties = PROPERTIES | {"yarn.resourcemanager.nodes.exclude-path": str(excluded)}
    return MiniCluster(home, nodes=HOSTS, pmem_check=True, properties=properties)


@contextlib.contextmanager
def started(request: pytest.FixtureRequest, mini: MiniCluster, environment: dict[str, str]) -> Iterator[Cluster]:
    """A cluster of a file's own, which ends with its tests."""
    mini.start(while_pid=os.getpid())
    request.config.stash[CLUSTER] = running = Cluster(mini, environment)
    try:
        yield running
    finally:
        mini.stop()


@pytest.fixture(scope="session")
def user_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a test's commands run: nothing of this machine's Spark, and JVMs that start quickly."""
    return base_environment() | {"SPARK_CONF_DIR": str(quickjvm.spark_defaults(tmp_path_factory.mktemp("conf")))}


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, user_environment: dict[str, str]
) -> Iterator[Cluster]:
    """The mini cluster of this process: 4 hosts, placement constraints accepted, memory checked."""
    kept = request.config.getoption("--cluster")
    home = Path(kept) if kept else tmp_path_factory.mktemp("minicluster")
    mini = mini_cluster(home)
    mini.start(while_pid=None if kept else os.getpid())
    request.config.stash[CLUSTER] = running = Cluster(mini, user_environment)
    running.forget_former_staging()
    try:
        yield running
    finally:
        if kept is None:
            mini.stop()


CLUSTER = pytest.StashKey[Cluster]()


@pytest.fixture(scope="module", autouse=True)
def _hosts_back(cluster: Cluster) -> None:
    """Every file of tests begins with all hosts running."""
    for host in cluster.hosts:
        cluster.mini.host_start(host)
    wait_for("all hosts running", lambda: list(cluster.node_states().values()) == ["RUNNING"] * HOSTS, 30)


@pytest.fixture
def fast_hosts(cluster: Cluster) -> Iterator[None]:
    """After the test no host is slow."""
    yield
    for host in cluster.mini.status()["hosts"]:
        if host["slow"] != 1:
            cluster.mini.host_slow(host["host"], 1)


@pytest.fixture
def submit(cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Submit]:
    """Starts `yarnspec submit [options] PROGRAM [arguments]` with small containers; ended with the test.

    `submit("rounds.py", "STOP_FILE", options=["--exclude-hosts", "h"])` returns at once.
    """
    under_way: list[Submission] = []
    base = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name).strip("-")[:60]

    def start(program: str, *arguments: str, options: list[str] | None = None, small: bool = True) -> Submission:
        name = f"{base}-{os.getpid()}-{next(NUMBERS)}"
        path = program if "/" in program else str(PROGRAMS / program)
        submission = start_submit(
            cluster, name, [*(SMALL if small else ()), *(options or []), path, *arguments], tmp_path
        )
        under_way.append(submission)
        return submission

    yield start
    for submission in under_way:
        submission.stop()
        left = cluster.application_named(submission.name)
        if left and cluster.application(left)["state"] not in ENDED:
            run_yarnspec(cluster, "kill", left)


@pytest.fixture
def yarnspec(cluster: Cluster) -> Yarnspec:
    """Runs a `yarnspec` command to its end on the cluster."""

    def run(*arguments: str, timeout_s: float = 60, environment: dict[str, str] | None = None) -> Result:
        return run_yarnspec(cluster, *arguments, timeout_s=timeout_s, environment=environment)

    return run


@pytest.fixture
def watch(cluster: Cluster) -> Watch:
    """Opens a record of where an application's containers are."""
    return lambda application_id: PlacementWatch(cluster, application_id)


@pytest.fixture(scope="session")
def tpch_small() -> Path:
    """TPC-H data at scale 0.01 on this machine."""
    return tpch_data(0.01)


def compiled(name: str, directory: Path) -> Path:
    """A jar of the Java sources in a directory of the tests."""
    sources = sorted(map(str, (Path(__file__).parent / name).glob("*.java")))
    jars = Path(pyspark.__file__).parent / "jars"
    compiler = shutil.which("javac")
    assert compiler, "a JDK is needed"
    subprocess.run(
        [compiler, "-cp", f"{jars}/*", "-d", str(directory / "classes"), *sources], check=True, timeout=120 * PATIENCE
    )
    jar = directory / f"{name}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in (directory / "classes").rglob("*.class"):
            archive.write(path, path.relative_to(directory / "classes"))
    return jar


@pytest.fixture(scope="session")
def commit_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with output committers that hold a copy at a step of its commit, and an HDFS that holds a driver there."""
    return compiled("commitsteps", tmp_path_factory.mktemp("commitsteps"))


@pytest.fixture(scope="session")
def which_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with a class that tells from which jar it was loaded."""
    return compiled("whichjar", tmp_path_factory.mktemp("whichjar"))


@pytest.fixture(scope="session")
def sink_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with file systems in which an attempt of a sink's ends, or is held, at a step."""
    return compiled("sinksteps", tmp_path_factory.mktemp("sinksteps"))


def leftovers(cluster: Cluster, application_id: str | None = None) -> list[str]:
    """What should not be there once the applications (or this one) have ended."""
    found = [f"process {each.pid} {' '.join(each.command)[:120]}" for each in cluster.processes(application_id)]
    staging = [name for name in cluster.staging if application_id in (None, name)]
    found += [f"staging directory {name}" for name in staging]
    if application_id:
        found += [f"container {container}" for container in cluster.containers(application_id)]
    return found


@pytest.fixture(autouse=True)
def _nothing_left(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test no application is active, no container's process lives, and nothing is left in staging.

    Staging of killed applications stays by design until the next submit sweeps it: tests that kill one are marked.
    """
    yield
    active = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
    wait_for("no active application", lambda: not cluster.applications(*active), CLEAN_UP_TIMEOUT_S)
    wait_for("no process in a container", lambda: not cluster.processes(), CLEAN_UP_TIMEOUT_S)
    if request.node.get_closest_marker("leaves_staging") is None:
        wait_for("no staging directory", lambda: not cluster.staging, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Name our markers; and tear everything down after a SIGTERM as after a SIGINT."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Of a shell's background job it is ignored, by its children as well, and some tests interrupt these.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "leaves_staging: kills an application from outside, whose staging stays")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the day, and the last lines of the commands', daemons' and containers' output, with a failure."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()  # type: ignore[attr-defined] # pluggy's result
    if not report.failed:
        return
    # A header would say it once, but there is none with -q, as in `make test`.
    report.sections.append(("to choose the same tests on another day", f"{turns.DAY}={os.environ[turns.DAY]}"))
    written = getattr(item, "funcargs", {}).get("tmp_path")
    for path in sorted(written.glob("*.err") if written else ()):
        report.sections.append((f"said by {path.stem}", _tail(path, CONTAINER_TAIL_LINES)))
    cluster = item.config.stash.get(CLUSTER, None)
    if cluster is None:
        return
    for path in sorted(cluster.mini.home.logs.glob("*.log")):
        report.sections.append((f"daemon {path.stem}", _tail(path, DAEMON_TAIL_LINES)))
    recent = sorted(cluster.home.glob("hosts/*/logs/application_*"), key=lambda path: path.stat().st_mtime)[-2:]
    for path in sorted(file for directory in recent for file in directory.glob("*/*")):
        if path.is_file() and path.stat().st_size and path.suffix in {".log", ".stderr", ".stdout"}:
            report.sections.append(
                (f"container {path.relative_to(cluster.home / 'hosts')}", _tail(path, CONTAINER_TAIL_LINES))
            )


def _tail(path: Path, lines: int) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
