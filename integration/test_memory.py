"""The hosts end containers that use more memory than they asked for; ours keep within it (all tests run like this)."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.conftest import Submit, Yarnspec

OVER_MEMORY = -104


@pytest.mark.one_a_day("the end is in the way")
def test_a_container_over_its_memory_is_ended_and_replaced(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """The reason is YARN's, the executor is replaced, and the job ends right: the check is on, and only one exceeds."""
    marker = tmp_path / "marker"
    submission = submit("hog.py", str(marker))
    result = submission.wait().expect(0)
    assert result.stdout == "sum 6\n"
    records = yarnspec("events", submission.application_id(), "-o", "json").expect(0).lines
    over = [record for record in records if record["type"] == "ContainerLost" and record["exit_code"] == OVER_MEMORY]
    assert [record["container_id"] for record in over] == [marker.read_text()]
    assert "physical memory" in over[0]["diagnostics"]
