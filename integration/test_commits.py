"""What copies that are killed in the middle of a commit leave behind: nothing, and the output is whole."""

from __future__ import annotations

from collections import Counter
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.programs.commits import PARTITIONS, RECORDS, SINKS, STEPS

COMMITTERS = {
    "spark.sql.parquet.output.committer.class": "ParquetSteps",
    "spark.sql.sources.outputCommitterClass": "TextSteps",
    "spark.hadoop.mapred.output.committer.class": "OldSteps",
}


@pytest.mark.one_a_day("copies")
def test_output_is_whole_wherever_a_copy_is_killed(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path, commit_steps: Path
) -> None:
    """For each sink a copy is killed at each step of its commit: every record is there once."""
    output = f"/test/{tmp_path.name}"
    options = [
        # Two executors do not fit on one host, and a copy never starts where its task runs.
        "--executor-memory", "4g", "--num-executors", "3", "--executor-cores", "4",
        # Late is what takes longer than half a second, whichever host it runs on; each sink has a late task at once.
        "--set", "detector.kind=execution-time", "--set", "detector.baseline_lower_bound=500ms",
        "--set", "detector.baseline_ratio=0.5", "--set", "detector.check_interval=100ms",
        "--set", "speculation.min_copies=6", "--set", "blocklist.enabled=false",
        "--jars", str(commit_steps),
    ]  # fmt: skip
    for key, committer in COMMITTERS.items():
        options += ["--conf", f"{key}=yarnspec.commitsteps.{committer}"]
    submission = submit("commits.py", str(tmp_path), output, options=options)
    application = submission.application_id()
    killed = {(each["sink"], each["step"]): each["killed"] for each in submission.wait(150).expect(0).lines}
    assert killed.keys() == {(sink, step) for sink in SINKS for step in STEPS}

    ended = yarnspec("events", application, "-o", "json", "--type", "TaskFinished").lines
    copies = {each["task_id"]: each["state"] for each in ended if each["speculative"]}
    expected = Counter(f"{index}:{number}" for index in range(PARTITIONS) for number in range(RECORDS))
    for (sink, step), task_id in killed.items():
        assert copies.get(task_id) == "KILLED", f"what was killed at {step} of {sink} was no copy"
        assert Counter(_records(cluster, f"{output}/{sink}-{step}")) == expected, f"{sink}, copy killed at {step}"


def _records(cluster: Cluster, directory: str) -> list[str]:
    names = cluster.hdfs_list(directory)
    assert "_SUCCESS" in names
    # A loser that is killed only after its job has ended may have opened its file once more: with Spark's own
    # speculation as well. No reader looks there.
    assert set(names) - {"_temporary"} == {"_SUCCESS", *(name for name in names if name.startswith("part-"))}
    found: list[str] = []
    for name in names:
        content = cluster.hdfs_read(f"{directory}/{name}") if name.startswith("part-") else b""
        if name.endswith(".parquet"):
            found += pq.read_table(BytesIO(content)).column("value").to_pylist()
        else:
            found += content.decode().split()
    return found
