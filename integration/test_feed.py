"""Everything that Spark's own event log tells of a job's tasks has come through the feed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from integration.conftest import Submit, Yarnspec
from integration.taskends import difference, launches, of_spark, of_yarnspec
from yarnspec.core.messages.observations import RowKind, State
from yarnspec.feed.sparklog import observations

TASKS = 4_000


@pytest.mark.one_a_day("features of YARN")
def test_no_task_of_many_is_missing(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """Thousands of tasks, some fail and one is killed: the launches, ends, states and times of Spark's log."""
    events = tmp_path / "spark-events"
    events.mkdir()
    options = [
        *("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={events.as_uri()}"),
        *("--conf", "spark.eventLog.compress=false", "--conf", "spark.eventLog.rolling.enabled=false"),
        *("--conf", "spark.task.maxFailures=2"),
        # A task that failed is kept off its host: the other one has a slot for it beside the task that is to be killed.
        *("--executor-cores", "2"),
    ]
    submission = submit("many_tasks.py", str(TASKS), options=options)
    application = submission.application_id()
    result = submission.wait(240).expect(0)
    assert (result.lines[-1]["total"], result.lines[-1]["failed"]) == (36, True)

    (log,) = events.iterdir()
    spark = of_spark(log)
    # How many of the last job's attempts are told of before it is given up differs.
    assert spark.tasks.total() > TASKS + 9 + 3
    assert {end.state for end in spark.tasks} == {"SUCCESS", "FAILED", "KILLED"}
    records = yarnspec("events", application, "-o", "json", timeout_s=120).expect(0).lines
    found = difference(spark, of_yarnspec(records))
    assert (found.missing[:3], found.added[:3]) == ([], []), (len(found.missing), len(found.added))
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))

    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert status["tasks"]["launched"] == launches(log) >= spark.tasks.total()
    assert status["tasks"]["finished"] == sum(n for end, n in spark.tasks.items() if end.state == "SUCCESS")
    assert status["tasks"]["failed"] == sum(n for end, n in spark.tasks.items() if end.state == "FAILED")
    assert not [warning for warning in status["warnings"] if "lost on their way" in warning]

    # The log gives the same observations again, for whoever wants to replay the decisions.
    rows = observations(log)
    ended = rows.kind == RowKind.TASK_ENDED
    assert np.count_nonzero(ended) == spark.tasks.total()
    assert np.count_nonzero(rows.state[ended] == State.SUCCESS) == status["tasks"]["finished"]
    assert np.count_nonzero(rows.kind == RowKind.TASK_STARTED) == launches(log)
