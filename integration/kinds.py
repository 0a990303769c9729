"""The programs that tests kill, one for each way in which Spark shuffles, and what they do when nothing happens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from integration.cluster import Cluster
from integration.conftest import Submit
from integration.lives import Lives
from integration.programs import resumes, stages
from integration.soak.programs import frames
from integration.submitting import Submission

OPTIONS = (
    "--set", "recovery.enabled=true", "--set", "speculation.enabled=false",
    "--conf", "spark.scheduler.minRegisteredResourcesRatio=1.0",
    "--conf", "spark.sql.shuffle.partitions=5", "--conf", "spark.sql.files.maxPartitionBytes=16k",
    "--conf", "spark.sql.files.openCostInBytes=16k",
    # Of two small tables AQE broadcasts the one that is there first, which may be another one under the next driver.
    "--conf", "spark.sql.adaptive.autoBroadcastJoinThreshold=-1",
)  # fmt: skip
SEED = 7
KINDS = (
    "stages true", "tables false", "frames true", "frames false", "rdd true", "lines true", "tables true", "udf true",
    "order true", "order false", "subquery true", "few true",
)  # fmt: skip
"""A program, and whether execution is adaptive."""
UNTIMELY = {"frames true", "frames false"}
"""These end when they are ready; the others when they may."""
SORTED = "sorted false"
"""`stages` once more, with its files in order."""


@dataclass(frozen=True)
class Undisturbed:
    """What a program does when nothing happens to it."""

    result: Any
    tasks: int
    maps: int


# Of the others it is seen when the first of its kind is killed.
_KNOWN = {
    "tables false": Undisturbed(resumes.expected_tables(), 50, 37),
    "stages true": Undisturbed({"result": stages.expected()}, stages.TASKS, stages.ALL_MAPS),
    SORTED: Undisturbed(
        {"result": stages.expected()}, stages.TASKS + stages.SORTED_TASKS, stages.ALL_MAPS + stages.SORTED_MAPS
    ),
    "frames false": Undisturbed({"result": frames.expected(SEED)}, 150, 75),
}


class Kinds:
    """Submits programs of all kinds for one test, whose own directory this is."""

    def __init__(self, submit: Submit, cluster: Cluster, directory: Path, options: Sequence[str]) -> None:
        self._submit = submit
        self._cluster = cluster
        self._directory = directory
        self._options = (*OPTIONS, *options)

    @property
    def target(self) -> str:
        """Where `stages` writes on HDFS."""
        return f"/test/{self._directory.name}"

    def start(self, kind: str, *more_options: str) -> Submission:
        """Submit a program of this kind, which waits for nobody."""
        self.let_end()
        return self._submit_kind(kind, more_options)

    def let_end(self) -> None:
        """What is held may end."""
        (self._directory / "go-4").touch()

    def start_and_hold(self, kind: str, *more_options: str) -> Submission:
        """The same, but before it ends it waits for `let_end`, unless it is one of the `UNTIMELY`."""
        (self._directory / "go-4").unlink(missing_ok=True)
        return self._submit_kind(kind, more_options)

    def _submit_kind(self, kind: str, more_options: Sequence[str]) -> Submission:
        name, _, adaptive = kind.partition(" ")
        options = [*self._options, *more_options, "--conf", f"spark.sql.adaptive.enabled={adaptive}"]
        if name in ("stages", "sorted"):
            for gate in (1, 2, 3):
                (self._directory / f"go-{gate}").touch()
            arguments = [str(self._directory), f"{self._cluster.mini.default_fs}{self.target}"]
            return self._submit("stages.py", *arguments, *(["sorted"] * (kind == SORTED)), options=options)
        if name == "frames":
            return self._submit(frames.__file__, str(SEED), options=options)
        inputs = self._directory / "inputs"
        if not inputs.exists():
            resumes.write_inputs(inputs)
        end = str(self._directory / "go-4")
        return self._submit(resumes.__file__, name, inputs.as_uri(), adaptive, end, options=options)

    def undisturbed(self, kind: str) -> Undisturbed:
        """What one does that is left alone."""
        if kind not in _KNOWN:
            submission = self.start(kind)
            ended = submission.wait(180).expect(0)
            lives = Lives(self._cluster, submission.application_id())
            assert lives.not_recorded == {}  # else what is expected of a life after a kill would be less, and right
            _KNOWN[kind] = Undisturbed(result(ended.stdout), lives.launched(lives.last), len(lives.ran(lives.last)))
        return _KNOWN[kind]


def result(stdout: str) -> Any:
    """What a program printed last."""
    return json.loads(stdout.splitlines()[-1].removeprefix("RESULT "))


def written_rows(cluster: Cluster, target: str) -> dict[int, int]:
    """What `stages` wrote, in the order of the files; beside them is nothing, in the directory or next to it."""
    names = [name for name in cluster.hdfs_list(target) if name.endswith(".parquet")]
    assert {*cluster.hdfs_list(target)} - {*names} == {"_SUCCESS"}
    assert not [name for name in cluster.hdfs_list(str(Path(target).parent)) if name.startswith(".")]
    tables = [pq.read_table(BytesIO(cluster.hdfs_read(f"{target}/{name}"))) for name in names]
    pairs = [pair for one in tables for pair in zip(one["key"].to_pylist(), one["total"].to_pylist(), strict=True)]
    found = dict(pairs)
    assert len(found) == len(pairs), "a row is there twice"
    return found
