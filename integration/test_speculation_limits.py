"""What is never copied, and what copies that are killed in the middle of a commit leave behind: nothing."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.programs.commits import PARTITIONS, RECORDS, STEPS
from integration.waiting import wait_for

SPREAD = ["--executor-memory", "4g"]
# Late is what takes longer than a second, whichever host it runs on.
BY_TIME = [
    "--set", "detector.kind=execution-time", "--set", "detector.baseline_lower_bound=1s",
    "--set", "detector.baseline_ratio=0.5", "--set", "detector.check_interval=200ms",
    "--set", "blocklist.enabled=false",
]  # fmt: skip
COMMITTERS = {
    "parquet": ("spark.sql.parquet.output.committer.class", "ParquetSteps"),
    "text": ("spark.sql.sources.outputCommitterClass", "TextSteps"),
    "rdd": ("spark.hadoop.mapred.output.committer.class", "OldSteps"),
}


def test_barriers_and_writers_are_not_copied(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """A late task of a barrier stage or of foreachPartition is left alone; the same task in a plain stage is copied."""
    options = [*SPREAD, "--num-executors", "2", "--executor-cores", "2", *BY_TIME]
    submission = submit("late.py", str(tmp_path), "barrier", "foreach", "plain", options=options)
    application = submission.application_id()

    def why(stage: int) -> str:
        return yarnspec("explain", application, "--task", f"{stage}.0", "-o", "json").stdout

    wait_for(
        "why the barrier stage is not copied", lambda: "slow, and not copied" in why(0) and "barrier" in why(0), 90
    )
    (tmp_path / "barrier").touch()
    wait_for("why the writer is not copied", lambda: "slow, and not copied" in why(1) and "writes" in why(1), 60)
    (tmp_path / "foreach").touch()
    result = submission.wait().expect(0)
    assert result.lines == [
        {"kind": "barrier", "stage": 0, "attempts": [0]},
        {"kind": "foreach", "stage": 1, "attempts": [0]},
        {"kind": "plain", "stage": 2, "attempts": [1]},
    ]
    copies = yarnspec("events", application, "-o", "json", "--type", "LaunchCopy").lines
    assert {(each["stage"], each["index"]) for each in copies} == {(2, 0)}


def test_writers_are_copied_when_the_user_allows_it(submit: Submit, tmp_path: Path) -> None:
    """`speculation.copy_writers`: foreachPartition's late task gets a copy as well."""
    options = [
        *SPREAD,
        "--num-executors",
        "2",
        "--executor-cores",
        "2",
        *BY_TIME,
        "--set",
        "speculation.copy_writers=true",
    ]
    result = submit("late.py", str(tmp_path), "foreach", options=options).wait().expect(0)
    assert result.lines == [{"kind": "foreach", "stage": 0, "attempts": [1]}]


def test_streaming_is_refused(submit: Submit, tmp_path: Path) -> None:
    """A program that streams ends with a clear error, which names the option to switch speculation off."""
    result = submit("streaming.py", str(tmp_path / "checkpoint")).wait().expect(1)
    assert "speculation.enabled" in result.stderr
    assert "stream" in result.stderr


@pytest.fixture(scope="session")
def commit_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar with output committers that end the executor at a step of a copy's commit."""
    directory = tmp_path_factory.mktemp("commitsteps")
    sources = sorted(map(str, (Path(__file__).parent / "commitsteps").glob("*.java")))
    jars = Path(pyspark.__file__).parent / "jars"
    compiler = shutil.which("javac")
    assert compiler, "a JDK is needed"
    subprocess.run([compiler, "-cp", f"{jars}/*", "-d", str(directory / "classes"), *sources], check=True, timeout=120)
    jar = directory / "commitsteps.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in (directory / "classes").rglob("*.class"):
            archive.write(path, path.relative_to(directory / "classes"))
    return jar


@pytest.mark.parametrize("sink", COMMITTERS)
def test_output_is_whole_whenever_a_copy_dies(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, *, tmp_path: Path, commit_steps: Path, sink: str
) -> None:
    """Copies are killed at each step of their commit: every record is there once."""
    key, committer = COMMITTERS[sink]
    output = f"/test/{tmp_path.name}"
    options = [
        *SPREAD, "--num-executors", "3", *BY_TIME, "--jars", str(commit_steps),
        "--conf", f"{key}=yarnspec.commitsteps.{committer}", "--conf", "spark.executor.maxNumFailures=100",
        "--conf", "spark.task.maxFailures=20", "--set", "executor.backoff_max=1s",
    ]  # fmt: skip
    submission = submit("commits.py", str(tmp_path), output, sink, options=options)
    application = submission.application_id()
    submission.wait(200).expect(0)

    ended = yarnspec("events", application, "-o", "json", "--type", "TaskFinished").lines
    copies = {each["task_id"]: each["state"] for each in ended if each["speculative"]}
    expected = Counter(f"{index}:{number}" for index in range(PARTITIONS) for number in range(RECORDS))
    for step in STEPS:
        hit = tmp_path / f"{sink}-{step}"
        assert hit.exists(), f"no copy came to {step}"
        assert copies.get(int(hit.read_text())) == "FAILED", f"what died at {step} was no copy"
        assert Counter(_records(cluster, f"{output}/{step}")) == expected, f"after a copy died at {step}"


def _records(cluster: Cluster, directory: str) -> list[str]:
    names = cluster.hdfs_list(directory)
    assert "_SUCCESS" in names
    found: list[str] = []
    for name in names:
        content = cluster.hdfs_read(f"{directory}/{name}") if name.startswith("part-") else b""
        if name.endswith(".parquet"):
            found += pq.read_table(BytesIO(content)).column("value").to_pylist()
        else:
            found += content.decode().split()
    return found
