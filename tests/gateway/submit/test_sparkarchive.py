"""Spark's jars in the cluster's file system: made once, shared where all may read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.gateway.cluster import HandMadeCluster
from yarnspec.errors import UsageError
from yarnspec.gateway.submit import sparkarchive
from yarnspec.gateway.submit.sparkarchive import spark_jars_file
from yarnspec.yarn.files.local_files import LocalFiles


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HandMadeCluster:
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    for name in ("spark-core_2.13-4.3.0.jar", "other.jar"):
        (home / "jars" / name).write_text(name)
    (home / "jars" / "readme.txt").write_text("not a jar")
    monkeypatch.setattr(sparkarchive, "spark_home", lambda: home)
    monkeypatch.setattr(sparkarchive, "open_files", lambda *_, **__: LocalFiles())
    return HandMadeCluster(tmp_path)


def test_it_is_made_once(cluster: HandMadeCluster, tmp_path: Path) -> None:
    path = tmp_path / "shared" / "spark-4.3.zip"
    file = spark_jars_file(f"file://{path}", cluster)
    assert (file.source, file.kind) == (path.as_uri(), "ARCHIVE")
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["other.jar", "spark-core_2.13-4.3.0.jar"]
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    written = path.stat().st_mtime_ns
    assert spark_jars_file(f"file://{path}", cluster) == file
    assert path.stat().st_mtime_ns == written
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_one_that_an_admin_put_there_is_taken_as_it_is(cluster: HandMadeCluster, tmp_path: Path) -> None:
    path = tmp_path / "spark.zip"
    archive_with(path, "spark-core_2.13-4.3.0.jar", "theirs.jar")
    before = path.read_bytes()
    spark_jars_file(f"file://{path}", cluster)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            ("spark-core_2.13-4.2.1.jar",),
            "has spark-core_2.13-4.2.1.jar at its top, and the installed",
        ),
        (("jars/spark-core_2.13-4.3.0.jar",), "has no spark-core jar at its top"),
        ((), "is no zip archive"),
    ],
)
def test_jars_of_another_spark_are_refused(
    names: tuple[str, ...], said: str, cluster: HandMadeCluster, tmp_path: Path
) -> None:
    path = tmp_path / "spark.zip"
    if names:
        archive_with(path, *names)
    else:
        path.write_text("no archive")
    with pytest.raises(UsageError, match=said):
        spark_jars_file(f"file://{path}", cluster)


def test_of_two_first_submits_the_second_takes_the_first_ones_archive(
    cluster: HandMadeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spark.zip"
    upload = LocalFiles.upload

    def overtaken(self: LocalFiles, local: Path, target: str, *, mode: int = 0o600) -> None:
        upload(self, local, target, mode=mode)
        archive_with(path, "spark-core_2.13-4.3.0.jar", "theirs.jar")

    monkeypatch.setattr(LocalFiles, "upload", overtaken)
    spark_jars_file(f"file://{path}", cluster)
    with zipfile.ZipFile(path) as archive:
        assert "theirs.jar" in archive.namelist()
    assert [entry.name for entry in tmp_path.iterdir() if "spark.zip" in entry.name] == ["spark.zip"]


def test_an_upload_that_breaks_off_leaves_nothing(
    cluster: HandMadeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalFiles, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spark_jars_file(f"file://{tmp_path}/spark.zip", cluster)
    assert [entry.name for entry in tmp_path.iterdir() if "spark.zip" in entry.name] == []


def archive_with(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name * 1000)


def test_only_what_everybody_can_reach_is_shared_between_users(
    cluster: HandMadeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Above this directory everything may be entered; what pytest makes may not.
    modes: dict[str, int] = {}
    info = LocalFiles.info

    def open_above(self: LocalFiles, path: str) -> object:
        import msgspec

        found = info(self, path)
        return found if path.startswith(str(tmp_path)) else msgspec.structs.replace(found, mode=0o755)

    monkeypatch.setattr(LocalFiles, "info", open_above)
    directory = tmp_path / "shared"
    path = directory / "spark.zip"
    tmp_path.chmod(0o755)
    for name, directory_mode, file_mode in (("open", 0o755, 0o644), ("file", 0o755, 0o640), ("dir", 0o700, 0o644)):
        directory.mkdir(exist_ok=True)
        archive_with(path, "spark-core_2.13-4.3.0.jar")
        directory.chmod(directory_mode)
        path.chmod(file_mode)
        modes[name] = spark_jars_file(f"file://{path}", cluster).visibility == "PUBLIC"
        directory.chmod(0o755)
    assert modes == {"open": True, "file": False, "dir": False}


def test_a_dry_run_uploads_nothing(cluster: HandMadeCluster, tmp_path: Path) -> None:
    path = tmp_path / "spark.zip"
    file = spark_jars_file(f"file://{path}", cluster, dry=True)
    assert file.source == path.as_uri()
    assert not path.exists()
