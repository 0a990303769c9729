"""yarnspec.sink on HDFS and local files: what attempts leave that are killed, fail or are late, at each of their steps.

The driver's steps are in test_sink.py and tests/sink.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import NUMBERS, Submit
from integration.programs.attempts import BYTES, OUTPUT, PARTITIONS, STEPS, WAYS

OPTIONS = (
    # Executors on two hosts: a copy never starts where its task runs.
    *("--executor-memory", "4g", "--set", "blocklist.enabled=false", "--conf", "spark.executor.maxNumFailures=20"),
)
SPARKS_COPIES = (
    # They come when they are told to; a Python worker is not killed before it has written.
    *("--set", "speculation.enabled=false", "--conf", "spark.speculation=true"),
    *("--conf", "spark.speculation.quantile=0.5", "--conf", "spark.speculation.minTaskRuntime=500ms"),
    *("--conf", "spark.python.task.killTimeout=120s"),
)


@pytest.mark.soak
@pytest.mark.parametrize("where", ["hdfs", "file"])
@pytest.mark.parametrize("way", WAYS)
def test_an_attempt_at_every_step(
    submit: Submit, cluster: Cluster, tmp_path: Path, sink_steps: Path, *, way: str, where: str
) -> None:
    """Whatever it leaves, and whenever it ends, nobody reads it; the output is another attempt's, and whole."""
    marks = tmp_path / "marks"
    marks.mkdir()
    path = f"/user/{cluster.user}/sinks-{next(NUMBERS)}" if where == "hdfs" else str(tmp_path / "out")
    directory = f"{cluster.mini.default_fs if where == 'hdfs' else 'file://'}{path}"
    jar = [f"{key}={sink_steps}" for key in ("spark.driver.extraClassPath", "spark.executor.extraClassPath")]
    options = [*OPTIONS, *(SPARKS_COPIES if way == "held" else ()), "--conf", jar[0], "--conf", jar[1]]
    told = submit("attempts.py", way, str(marks), directory, options=options).wait(240).expect(0).lines
    assert [each["step"] for each in told] == list(STEPS)
    for each in told:
        step, lost = each["step"], f"e1.t{each['task']}"
        assert each["contents"] == [[str(number), BYTES, 1] for number in range(PARTITIONS)], step
        parts = {name: size for name, size in each["within"].items() if name.startswith("part-")}
        assert list(parts.values()) == [BYTES] * PARTITIONS, step
        assert sorted(each["published"]) == sorted(parts), step
        assert sorted(name[:9] for name in each["within"].keys() - parts.keys()) == ["_SUCCESS", "_yarnspec"], step
        assert each["within"] == each["at once"], step
        assert each["around"] == [OUTPUT], step
        sets = each["attempts"]
        assert len(sets["all"]) == PARTITIONS + 1, step
        assert lost in sets["all"], step
        assert lost not in [*sets["fast"], *sets["finished"]], step
        assert (len(sets["fast"]), len(sets["finished"])) == ((1, PARTITIONS - 1) if way == "held" else (0, PARTITIONS))
        assert sets["slow"] == ([lost] if (way, step) == ("held", "renamed") else []), step
    if where == "file":
        # As the file system itself lists it, checksums and all.
        assert sorted(entry.name for entry in Path(path).iterdir()) == sorted(STEPS)
        assert {entry.name for step in STEPS for entry in Path(path, step).iterdir()} == {OUTPUT}
        assert all(len(list(Path(path, step, OUTPUT).iterdir())) == PARTITIONS + 2 for step in STEPS)
