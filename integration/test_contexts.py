"""A program that stops its SparkContext and makes another one, again and again."""

from __future__ import annotations

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec

OPTIONS = ["--num-executors", "2", "--executor-memory", "512m", "--driver-memory", "512m"]


@pytest.mark.one_a_day("executors of all kinds")
def test_every_context_gets_executors_of_its_own(submit: Submit, yarnspec: Yarnspec, cluster: Cluster) -> None:
    submission = submit("contexts.py", "3", options=OPTIONS)
    application = submission.application_id()
    result = submission.wait().expect(0)
    assert [(line["context"], line["sum"]) for line in result.lines] == [(number, 28) for number in range(1, 4)]
    used = [container for line in result.lines for container in line["containers"]]
    assert len(used) == len(set(used))
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    # What an old context's executors came to is told to nobody: no later context knew them.
    assert [record for record in records if record["type"] == "RemoveExecutor"] == []
