"""Staging is where Skein puts it; sweeping deletes what ended applications of ours left there, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.yarn.rm.test_resource_manager import CLUSTER, app
from tests.yarn.server import documents
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.rm.resource_manager import ResourceManager
from yarnspec.yarn.skein.staging_directory import staging_directory, sweep


def test_staging_is_where_skein_puts_it() -> None:
    assert staging_directory("/user/ada/", "application_1_0001") == "/user/ada/.skein/application_1_0001"


def test_only_ended_applications_of_this_user_and_type_are_swept(tmp_path: Path) -> None:
    ids = {
        "killed": "application_1_0001",
        "running": "application_1_0002",
        "other_type": "application_1_0003",
        "other_user": "application_1_0004",
        "unknown": "application_1_0005",
        "gone": "application_1_0006",
    }
    for name, identifier in ids.items():
        if name != "gone":
            directory = tmp_path / ".skein" / identifier
            directory.mkdir(parents=True)
            (directory / ".skein.pem").touch()
    # A ResourceManager that ignored the filters: the answer is looked at again.
    reports = [
        app(id=ids["killed"], state="KILLED"),
        app(id=ids["running"], state="RUNNING"),
        app(id=ids["other_type"], state="KILLED", applicationType="skein"),
        app(id=ids["other_user"], state="KILLED", user="bob"),
        app(id=ids["gone"], state="FINISHED"),
    ]
    files = LocalFiles(home=tmp_path)
    with (
        documents({f"{CLUSTER}/apps": {"apps": {"app": reports}}}) as server,
        ResourceManager([server.address()], user="ada", timeout_s=5) as manager,
    ):
        assert sweep(files, manager) == [ids["killed"]]
        assert sweep(files, manager) == []
    left = {path.name for path in (tmp_path / ".skein").iterdir()}
    assert left == {ids["running"], ids["other_type"], ids["other_user"], ids["unknown"]}


def test_nothing_there_asks_nobody(tmp_path: Path) -> None:
    with documents({}) as server, ResourceManager([server.address()], user="ada", timeout_s=5) as manager:
        assert sweep(LocalFiles(home=tmp_path), manager) == []
        (tmp_path / ".skein").mkdir()
        assert sweep(LocalFiles(home=tmp_path), manager) == []
    assert server.requests == []
