"""The driver is killed after it has written files: on YARN nothing is written twice, and no change is applied twice."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.programs.adds import ROWS
from integration.programs.upserts import PARTITIONS
from integration.waiting import wait_for

ON = ["--set", "recovery.enabled=true"]
ALICE = "alice"
TAKEN = 5
"""Partitions that have been taken away when the driver is killed."""


@pytest.mark.one_a_day("written before")
@pytest.mark.parametrize("case", ["others", "own", "second"])
def test_what_a_program_added_is_not_added_again(
    case: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    target = f"/test/{tmp_path.name}"
    submission = submit("adds.py", target, str(go), *([] if case == "others" else [case]), options=ON)
    application = submission.application_id()
    wait_for("the write", lambda: "written" in submission.stdout, 120)
    written = cluster.hdfs_list(target)
    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    go.touch()
    ended = submission.wait(180)
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert status["epoch"] == 2
    assert sorted(cluster.hdfs_list(target)) == sorted(written)
    actions = [one["action"] for one in records if one["type"] == "AnswerWrite" and one["epoch"] == 2]
    if case == "own":
        ended.expect(1)
        assert "which an earlier driver epoch has changed since" in ended.stderr
        assert "twice" in str(status["final"])
        assert actions[-1] == "stop"
    else:
        assert ended.expect(0).lines[-1]["rows"] == ROWS
        assert actions.count("skip") == 1
        assert status["recovery"]["skipped_writes"] == 1
        assert not [one for one in records if one["type"] == "RecordWrite" and one["epoch"] == 2]
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("written before")
@pytest.mark.parametrize("case", ["partitions", "all"])
def test_what_was_being_overwritten_is_there_again(
    case: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The driver is killed when some of them have been taken away, and before all of the new ones are shown."""
    target = f"/test/{tmp_path.name}"
    submission = submit("upserts.py", target, case, options=ON)
    application = submission.application_id()

    def taken() -> int:
        submission.check_running()
        hidden = [name for name in cluster.hdfs_list(target) if name.startswith(".yarnspec-overwritten-")]
        return sum(len(cluster.hdfs_list(f"{target}/{name}")) > TAKEN for name in hidden)

    wait_for("the commit", taken, 120, poll_s=0.02)
    next(each for each in cluster.processes(application) if each.what == "driver-jvm").kill()
    ended = submission.wait(180).expect(0)
    assert json.loads(ended.stdout.splitlines()[-1]) == [2 * PARTITIONS, 2 * PARTITIONS]
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    assert [one["outcome"] for one in records if one["type"] == "WriteResolved"] == ["restored"]
    assert not [name for name in cluster.hdfs_list(target) if name.startswith((".", "_temp"))]


@pytest.mark.one_a_day("written before")
def test_what_the_user_may_not_delete_is_not_overwritten(submit: Submit, cluster: Cluster, tmp_path: Path) -> None:
    """HDFS lets one move another user's directory out of one's own, and not delete it."""
    target = f"/test/{tmp_path.name}"
    pq.write_table(pa.table({"id": [7]}), tmp_path / "part-0.parquet")
    cluster.hdfs_mkdir(f"/user/{ALICE}", owner=ALICE)
    cluster.hdfs_mkdir(target, owner=ALICE)
    cluster.hdfs_mkdir(f"{target}/day=1")
    cluster.hdfs_write(f"{target}/day=1/part-0.parquet", (tmp_path / "part-0.parquet").read_bytes())
    submission = submit("trespasses.py", target, options=[*ON, "--proxy-user", ALICE, "--num-executors", "1"])
    ended = submission.wait(180).expect(0)
    assert ended.lines == [{how: ["denied", 1] for how in ("static", "dynamic", "one")}]
    assert cluster.hdfs_list(f"{target}/day=1") == ["part-0.parquet"]
    assert [name for name in cluster.hdfs_list(target) if name.startswith(".yarnspec-")] == []
    wait_for("nothing left", lambda: not leftovers(cluster, submission.application_id()), 20)
