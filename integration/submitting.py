"""Running `yarnspec` as its users do: the installed command, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from integration.cluster import Cluster
from integration.processes import ENDS_WITH_US
from integration.quickjvm import QUICK_TEXT
from integration.waiting import PATIENCE, wait_for
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster as Gateway
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.options import default_options
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

YARNSPEC = str(Path(sys.executable).with_name("yarnspec"))
SUBMIT = (YARNSPEC, "submit")
SPARK_SUBMIT = str(Path(sys.executable).with_name("spark-submit"))
PROGRAMS = Path(__file__).parent / "programs"
APPLICATION_ID = re.compile(r"application_\d+_\d+")
ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})

# Small containers, and JVMs that start quickly: several applications share two cores.
SMALL = (
    "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "2", "--executor-cores", "1",
    "--driver-java-options", QUICK_TEXT, "--conf", f"spark.executor.extraJavaOptions={QUICK_TEXT}",
    "--conf", "spark.ui.showConsoleProgress=false", "--conf", "spark.ui.enabled=false",
    # Python's warnings go to spark-submit's stdout, and pyspark has some about its own dependencies.
    "--conf", "spark.yarn.appMasterEnv.PYTHONWARNINGS=ignore",
)  # fmt: skip

_DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
}

WITH_UI = ("--conf", "spark.ui.enabled=true")
"""Spark's pages cost a submit's processes some 5 % of their time."""

ONE_EXECUTOR = ("--num-executors", "1")
"""For programs that say the same with one: each costs as much as a quarter of an application."""


def conf(**values: str) -> list[str]:
    """Spark properties as options of a submit."""
    return [word for key, value in values.items() for word in ("--conf", f"{key}={value}")]


def dynamic(**more: str) -> list[str]:
    """Options for dynamic allocation: without --num-executors, which would be the least number to begin with."""
    small = [word for word in SMALL if word not in ("--num-executors", "2")]
    return [*small, *conf(**(_DYNAMIC | more))]


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    command: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        return cast("dict[str, Any]", json.loads(self.stdout))

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith("{")]

    def expect(self, exit_code: int) -> Result:
        """Check the exit code, and show everything when it is another one."""
        assert self.exit_code == exit_code, (
            f"exit code {self.exit_code}, expected {exit_code}: {' '.join(self.command)}\n"
            f"--- stdout\n{self.stdout[-4000:]}\n--- stderr\n{self.stderr[-6000:]}"
        )
        return self


class Submission:
    """A `yarnspec submit` that is under way."""

    def __init__(self, cluster: Cluster, name: str, process: subprocess.Popen[bytes], output: Path) -> None:
        self.cluster = cluster
        self.name = name
        self.process = process
        self._output = output
        self._begun = time.monotonic()

    @property
    def stdout(self) -> str:
        """What it has printed so far."""
        return self._output.with_suffix(".out").read_text(errors="replace")

    @property
    def stderr(self) -> str:
        """What it has said so far."""
        return self._output.with_suffix(".err").read_text(errors="replace")

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """What its program has printed of each round: a JSON line that begins with `round`."""
        # The last line may not be whole yet.
        lines = self.stdout.splitlines()
        return [json.loads(line) for line in lines if line.startswith('{"round"') and line.endswith("}")]

    @property
    def last_hosts(self) -> list[str]:
        """The hosts of the latest round; none before the first one."""
        rounds = self.rounds
        return rounds[-1]["hosts"] if rounds else []

    def check_running(self) -> None:
        """Fail, and show what it has said, when it has ended."""
        assert self.process.poll() is None, f"the application ended:\n{self.stderr[-3000:]}"

    def document(self, path: Path, timeout_s: float) -> dict[str, Any]:
        """The JSON object that its program writes to a file of this machine, as soon as it is there."""

        def there() -> bool:
            self.check_running()
            return path.exists()

        wait_for(f"{path.name} of {self.name}", there, timeout_s)
        document: dict[str, Any] = json.loads(path.read_text())
        return document

    def application_id(self, timeout_s: float = 60) -> str:
        """Its application's id, as soon as the ResourceManager knows the application."""

        def found() -> str | None:
            known = self.cluster.application_named(self.name)
            assert known or self.process.poll() is None, f"ended before anything was submitted:\n{self.stderr}"
            return known

        return wait_for(f"the application {self.name}", found, timeout_s)

    def wait(self, timeout_s: float = 120) -> Result:
        """Wait until the command ends."""
        try:
            code = self.process.wait(timeout_s * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"`yarnspec submit` did not end within {timeout_s * PATIENCE:g} s\n--- stdout\n{self.stdout[-2000:]}"
                f"\n--- stderr\n{self.stderr[-4000:]}"
            ) from None
        command = tuple(str(word) for word in cast("list[str]", self.process.args))
        return Result(command, code, self.stdout, self.stderr, time.monotonic() - self._begun)

    def interrupt(self) -> None:
        """What ^C does."""
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """End the command, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)


def start_submit(
    cluster: Cluster, name: str, arguments: list[str], directory: Path, command: Sequence[str] = SUBMIT
) -> Submission:
    """Start `yarnspec submit --name NAME ARGUMENTS…`, or another command; its output goes to files in the directory."""
    output = directory / name
    with output.with_suffix(".out").open("wb") as out, output.with_suffix(".err").open("wb") as err:
        process = subprocess.Popen(
            [*ENDS_WITH_US, *command, "--name", name, *arguments],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=cluster.environment, cwd=directory,
        )  # fmt: skip
    return Submission(cluster, name, process, output)


def run_yarnspec(
    cluster: Cluster, *arguments: str, timeout_s: float = 60, environment: dict[str, str] | None = None
) -> Result:
    """Run a `yarnspec` command to its end."""
    begun = time.monotonic()
    done = subprocess.run(
        [*ENDS_WITH_US, YARNSPEC, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout_s * PATIENCE, env={**cluster.environment, **(environment or {})}, check=False,
    )  # fmt: skip
    seconds = time.monotonic() - begun
    return Result((YARNSPEC, *arguments), done.returncode, done.stdout, done.stderr, seconds)


def write_report(cluster: Cluster, application: str, name: str) -> Path:
    """Write an application's page beside the cluster, where it stays."""
    file = cluster.home.parent / "reports" / f"{name}.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    run_yarnspec(cluster, "report", application, "-o", str(file)).expect(0)
    return file


def asked(cluster: Cluster, application: str) -> StatusDocument:
    """What ``yarnspec status`` prints, without a process for each question: for who waits for something."""
    gateway = Gateway(HadoopConf.read(cluster.environment), default_options())
    with Application(application, gateway) as found:
        return found.status()


def base_environment() -> dict[str, str]:
    """This process's environment without what would change what yarnspec does."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("YARNSPEC_", "PYSPARK_", "SPARK_", "HADOOP_", "YARN_"))
    } | {"NO_COLOR": "1", "COLUMNS": "160", "YARNSPEC_CLUSTER__CONNECT_TIMEOUT": f"{25 * PATIENCE} s"}
