"""The README and the guides are run: each command and each example, read from its page, on the mini cluster.

One application serves all commands. It is submitted with the README's own line, its program runs the examples that
import pyspark, and then it waits. Other submits of the pages are dry runs (their words and the cluster's answers are
checked), as the examples of `yarnspec.submit` show one real one. These are not run here, and their flags are checked in
``tests/test_docs.py``: `make` targets, `yarnspec minicluster start` and `stop`, `yarnspec doctor` with its look at the
hosts (it runs without), and every block that is marked ``another-cluster``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.guide_blocks import blocks, words
from integration.processes import ENDS_WITH_US
from integration.waiting import PATIENCE, wait_for

COMMAND_S = 60
AT_ONCE = 2
NOT_RUN = ("make ", ". .venv/bin/activate", 'eval "$(yarnspec minicluster env)"', "yarnspec minicluster start",
           "yarnspec minicluster stop")  # fmt: skip
BLOCKED, EXCLUDED = "127.0.0.4", "127.0.0.3"

PROGRAM = """
import os, pathlib, sys, time
from pyspark.sql import SparkSession

day, here = sys.argv[1], pathlib.Path(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
print(spark.sparkContext.parallelize(range(64), 4).map(lambda one: (one % 4, one)).reduceByKey(max).count())
for example in sorted(here.glob("example*.py")):
    exec(compile(example.read_text(), example.name, "exec"), {"__name__": example.stem})
(here / "ready").touch()
until = time.monotonic() + 300
while not (here / "stop").exists() and time.monotonic() < until:
    time.sleep(0.1)
"""
JOB = """
from pyspark.sql import SparkSession

print(SparkSession.builder.getOrCreate().range(8).count())
"""


def test_the_pages(cluster: Cluster, submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    assert {BLOCKED, EXCLUDED} <= set(cluster.hosts)
    pages = Pages(cluster, tmp_path)
    first = next(words(command) for command in pages.commands if command.startswith("yarnspec submit "))
    program = first.index("job.py")
    submission = submit(
        str(pages.program), *first[program + 1 :], str(pages.here), options=[*first[2:program], *pages.event_log]
    )
    pages.application = submission.application_id()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        submitting = pool.submit(pages.python, lambda text: "from_id" not in text)

        def ready() -> bool:
            submission.check_running()
            return (pages.here / "ready").exists()

        wait_for("the examples of the pages", ready, 120)
        wrong = [*pool.map(pages.run, pages.groups())]
        wrong += [submitting.result(), pages.python(lambda text: "from_id" in text)]
    assert not "".join(wrong)
    (pages.here / "stop").touch()
    submission.wait().expect(0)
    assert not "".join(pages.run([command]) for command in pages.commands if words(command)[1] in AT_THE_END)
    assert yarnspec("hosts", "--cluster", "list", "-o", "json").expect(0).document["blocks"] == []


AT_THE_END = ("replay", "kill")


class Pages:
    """What the pages say, and running it with the names of this cluster."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.application = ""
        self._home = cluster.home
        self.here = directory / "here"
        self.here.mkdir()
        (self.here / "job.py").write_text(JOB, encoding="utf-8")
        self.program = self.here / "program.py"
        self.program.write_text(PROGRAM, encoding="utf-8")
        shell = {block.text: block for block in blocks("sh") if not block.other}
        self._shell = list(shell.values())
        python = [block.text for block in blocks("python") if not block.other]
        self._ours = list(dict.fromkeys(text for text in python if "import yarnspec\n" in text))
        self._environment = cluster.environment | {
            "PATH": f"{Path(sys.executable).parent}:{cluster.environment['PATH']}"
        }
        for number, text in enumerate(text for text in python if "import yarnspec\n" not in text):
            (self.here / f"example{number}.py").write_text(text, encoding="utf-8")
        (self.here / "events").mkdir()
        self.event_log = (
            "--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file://{self.here}/events",
        )  # fmt: skip

    @property
    def commands(self) -> list[str]:
        """All commands that are run, each once."""
        found = [command for block in self._shell for command in block.commands if not command.startswith(NOT_RUN)]
        return list(dict.fromkeys(found))

    def groups(self) -> list[list[str]]:
        """The commands that need the application; those about hosts in the order of their pages, after each other."""
        now = [command for command in self.commands if words(command)[1] not in AT_THE_END]
        of_hosts = [
            command for block in self._shell for command in block.commands if command.startswith("yarnspec hosts ")
        ]
        return [of_hosts, *([command] for command in now if command not in of_hosts)]

    def run(self, commands: list[str]) -> str:
        """Run them one after the other; what was wrong, in words."""
        wrong = ""
        for command in commands:
            done = subprocess.run(
                [*ENDS_WITH_US, "bash", "-o", "pipefail", "-c", self._filled_in(command)], cwd=self.here,
                env=self._environment, capture_output=True, text=True, timeout=COMMAND_S * PATIENCE, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                wrong += f"{command}: exit code {done.returncode}\n{done.stdout[-500:]}{done.stderr[-1500:]}\n"
        return wrong

    def _filled_in(self, command: str) -> str:
        if command.startswith("yarnspec doctor"):
            command += " --skip-hosts-check"
        if command.startswith("yarnspec minicluster status"):
            command += f" --home {self._home}"
        if command.startswith("yarnspec submit "):
            command = command.replace("submit ", "submit --dry-run ", 1)
        log = next((self.here / "events").iterdir())
        return re.sub(r"\bLOG\b", str(log), re.sub(r"\bAPP\b", self.application, command))

    def python(self, wanted: Callable[[str], bool]) -> str:
        """Run the examples of the library that are wanted, each as a program of its own."""
        wrong = ""
        for text in filter(wanted, self._ours):
            named = text.replace('"node7"', f'"{EXCLUDED}"').replace('"APP"', f'"{self.application}"')
            done = subprocess.run(
                [*ENDS_WITH_US, sys.executable, "-c", named], cwd=self.here, env=self._environment,
                capture_output=True, text=True, timeout=3 * COMMAND_S * PATIENCE, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                wrong += f"{text}: {done.stdout[-500:]}{done.stderr[-1500:]}\n"
        return wrong
