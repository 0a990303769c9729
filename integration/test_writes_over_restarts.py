"""The driver is killed after it has written files: on YARN nothing is written twice, and no change is applied twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.programs.adds import ROWS
from integration.waiting import wait_for

ON = ["--set", "recovery.enabled=true"]


@pytest.mark.parametrize("case", ["others", *(pytest.param(one, marks=pytest.mark.soak) for one in ("own", "second"))])
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
        assert "which an earlier life of it has changed since" in ended.stderr
        assert "twice" in str(status["final"])
        assert actions[-1] == "stop"
    else:
        assert ended.expect(0).lines[-1]["rows"] == ROWS
        assert actions.count("skip") == 1
        assert status["recovery"]["skipped_writes"] == 1
        assert not [one for one in records if one["type"] == "RecordWrite" and one["epoch"] == 2]
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
