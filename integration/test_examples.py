"""PySpark's own examples run as they are, in `make soak`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit
from integration.examples import DATA, DIRECTORY, EXAMPLES, MADE, PANDAS, names, pattern_of, running
from integration.packages import install
from integration.submitting import ONE_EXECUTOR
from integration.tpch.data import made_once

SIDE_BY_SIDE = 3
BATCHES = -(-len(running()) // SIDE_BY_SIDE)


@pytest.fixture(scope="module")
def archive(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What examples read, in the user's home in HDFS and in an archive; what they have saved in another run goes."""
    home = f"/user/{cluster.user}"
    for path in DATA.rglob("*.*"):
        cluster.hdfs_write(f"{home}/data/{path.relative_to(DATA)}", path.read_bytes())
    for name, text in MADE.items():
        cluster.hdfs_write(f"{home}/{name}", text.encode())
    if cluster.hdfs_status(f"{home}/target"):
        cluster.hdfs_delete(f"{home}/target")
    path = tmp_path_factory.mktemp("examples") / "examples.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in MADE.items():
            packed.writestr(name.removeprefix("examples/"), text)
    return path


def _filled_in(option: str, archive: Path) -> str:
    """An option of an example; the packages of PANDAS are installed when the first one asks for them."""
    if "{pandas}" in option:
        there = made_once(f"examples-{'-'.join(PANDAS)}", lambda place: install(place, *PANDAS))
        return option.format(pandas=there)
    return option.format(archive=archive)


@pytest.mark.soak
@pytest.mark.parametrize("batch", range(BATCHES))
def test_examples_run_as_they_are(batch: int, submit: Submit, archive: Path) -> None:
    """Those of a batch run side by side, each in an application of its own."""
    examples = list(running().items())[batch::BATCHES]
    submissions = [
        submit(
            str(DIRECTORY / name),
            *each.arguments.split(),
            options=[*ONE_EXECUTOR, *(_filled_in(word, archive) for word in each.options)],
        )
        for name, each in examples
    ]
    for (name, each), submission in zip(examples, submissions, strict=True):
        result = submission.wait(240).expect(0)
        if each.says is not None:
            assert result.stdout.strip(), f"{name} has printed nothing"
            assert each.says in result.stdout, f"{name} has printed {result.stdout[-2000:]}"


def test_the_table_tells_of_every_example_and_of_no_other() -> None:
    """A later PySpark may have more of them."""
    assert {pattern_of(name) for name in names()} == set(EXAMPLES)
