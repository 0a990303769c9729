"""Processes in a slow host's containers get a part of the time; nobody else is touched, and nothing stays stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from yarnspec.cli.main import cli
from yarnspec.errors import NotFound, UsageError
from yarnspec.minicluster import MiniCluster
from yarnspec.minicluster.hadoop.configuration import slow_hosts
from yarnspec.minicluster.hadoop.home import Home
from yarnspec.minicluster.machine.processes import wait_until
from yarnspec.minicluster.slowhosts import turn

SLOW, HEALTHY = "127.0.0.3", "127.0.0.2"
WAIT_S = 20
# A loop of short waits that tells of every hundredth.
WAITING = "import time\nwhile True:\n    time.sleep(0.001)"


class Started:
    """Programs in pretended containers, and the process that slows one host down."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.processes: list[subprocess.Popen[bytes]] = []

    def container(self, host: str) -> int:
        environment = {**os.environ, "LOCAL_DIRS": f"{self.home.local(host)}/usercache/me/appcache/application_1_1"}
        return self._start([sys.executable, "-c", WAITING], environment)

    def slowing(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "yarnspec.minicluster.slowhosts", str(self.home.root), f"{SLOW}=10"]
        self._start(command, dict(os.environ))
        return self.processes[-1]

    def _start(self, command: list[str], environment: dict[str, str]) -> int:
        self.processes.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return self.processes[-1].pid


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    here = Started(Home(tmp_path))
    yield here
    for process in here.processes:
        process.kill()
        process.wait(10)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def is_stopped(pid: int) -> bool:
    return state(pid) == "T"


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("factor", [1.5, 2, 3, 4, 5, 8, 10, 20, 100])
def test_a_turn_gives_a_factor_th_of_the_time_within_a_tenth_of_a_second(factor: float) -> None:
    running_s, standing_s = turn(factor)

    assert running_s + standing_s <= 0.1 + 1e-9
    assert (running_s + standing_s) / running_s == pytest.approx(factor, rel=0.07)


@pytest.mark.parametrize("factor", [1.5, 2, 3, 4, 5, 8, 10])
def test_a_program_of_waits_is_slowed_as_one_that_computes(factor: float) -> None:
    """In one turn as many waits of 10 ms begin as end in it or in the stop after it."""
    running_s, standing_s = turn(factor)

    waits = 1 + int(running_s / 0.01)
    assert (running_s + standing_s) / (waits * 0.01) == pytest.approx(factor, rel=0.01)


def test_containers_of_the_slow_host_are_stopped_and_continued_and_others_are_not(started: Started) -> None:
    slow, healthy = started.container(SLOW), started.container(HEALTHY)
    started.slowing()

    for _ in range(3):
        assert wait_until(lambda: is_stopped(slow), WAIT_S, 0.002)
        assert not is_stopped(healthy)
        assert wait_until(lambda: not is_stopped(slow), WAIT_S, 0.002)
    # One that comes later is found as well.
    later = started.container(SLOW)
    assert wait_until(lambda: is_stopped(later), WAIT_S, 0.002)


@pytest.mark.parametrize("victim", ["both in order", "the one that waits", "the one that works"])
def test_however_it_ends_nothing_stays_stopped(started: Started, victim: str) -> None:
    slow = started.container(SLOW)
    guard = started.slowing()
    assert wait_until(lambda: is_stopped(slow), WAIT_S, 0.002)
    (worker,) = children(guard.pid)

    if victim == "both in order":
        guard.terminate()
    else:
        os.kill(guard.pid if victim == "the one that waits" else worker, signal.SIGKILL)

    guard.wait(WAIT_S)
    assert wait_until(lambda: not Path(f"/proc/{worker}").exists() or state(worker) == "Z", WAIT_S)
    assert state(slow) != "T"


def test_a_factor_of_one_makes_a_host_healthy_again() -> None:
    assert slow_hosts({SLOW: 10}, {HEALTHY: 3}) == {SLOW: 10, HEALTHY: 3}
    assert slow_hosts({SLOW: 10, HEALTHY: 3}, {SLOW: 1}) == {HEALTHY: 3}
    for factor in (0.5, -1, 1000, float("nan")):
        with pytest.raises(UsageError, match="times slower"):
            slow_hosts({}, {SLOW: factor})


def test_slow_hosts_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no host 127\.0\.0\.9"):
        MiniCluster(tmp_path, slow={"127.0.0.9": 10})


@pytest.mark.parametrize("text", ["127.0.0.3", "127.0.0.3=fast", "=", "127.0.0.3="])
def test_the_command_line_wants_a_host_and_a_factor(tmp_path: Path, text: str) -> None:
    done = CliRunner().invoke(cli, ["minicluster", "start", "--home", str(tmp_path / "c"), "--slow", text])

    assert done.exit_code == 2
    assert "HOST=FACTOR" in done.output
