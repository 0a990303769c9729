"""The protocol over local directories; the same promises are tested on HDFS by the integration tests."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from yarnspec.errors import UsageError
from yarnspec.yarn.files.cluster_files import open_files, path_of
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.deadlines import DeadlinePassed, run_with_deadline
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.hadoop.site_files import Property


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(home=tmp_path)


def test_a_whole_file_is_replaced_in_one_step_and_is_private(files: LocalFiles) -> None:
    path = f"{files.home}/x"
    files.write(path, b"one")
    files.write(path, b"two")
    assert files.read(path) == b"two"
    assert files.read(path, offset=1, size_bytes=1) == b"w"
    info = files.info(path)
    assert (info.name, info.size_bytes, info.is_directory, info.mode) == ("x", 3, False, 0o600)
    assert [entry.name for entry in files.list(files.home)] == ["x"]


def test_a_growing_file_is_readable_after_sync_and_never_begun_twice(files: LocalFiles) -> None:
    path = f"{files.home}/log"
    log = files.open_log(path)
    log.append(b"a")
    log.sync()
    assert files.read(path) == b"a"
    with pytest.raises(FileExistsError):
        files.open_log(path)
    log.append(b"b")
    log.close()
    log.close()
    files.recover_log(path)
    assert files.read(path) == b"ab"
    with pytest.raises(ValueError, match="closed"):
        log.append(b"c")


def test_missing_things(files: LocalFiles) -> None:
    path = f"{files.home}/nothing"
    assert not files.exists(path)
    assert not files.delete(path)
    for ask in (files.info, files.read, files.list, files.recover_log):
        with pytest.raises(FileNotFoundError):
            ask(path)


def test_directories_upload_rename_and_delete(files: LocalFiles, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * 5_000_000)
    directory = f"{files.home}/a/b"
    files.make_directories(directory)
    files.make_directories(directory)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    files.upload(source, f"{directory}/copy", mode=0o644)
    assert files.info(f"{directory}/copy").size_bytes == 5_000_000
    assert files.info(f"{directory}/copy").mode == 0o644
    files.write(f"{directory}/other", b"")
    with pytest.raises(FileExistsError):
        files.rename(f"{directory}/copy", f"{directory}/other")
    files.rename(f"{directory}/copy", f"{directory}/other", overwrite=True)
    assert [entry.name for entry in files.list(directory)] == ["other"]
    assert files.delete(f"{files.home}/a")
    assert not files.exists(directory)


def test_a_failed_write_leaves_nothing(files: LocalFiles, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.upload(tmp_path / "none", f"{files.home}/x")
    assert files.list(files.home) == []


def test_the_url_says_which_file_system() -> None:
    conf = HadoopConf({"core-site.xml": [Property("fs.defaultFS", "file:///")]})
    assert isinstance(open_files(conf), LocalFiles)
    assert isinstance(open_files(conf, "file:///tmp/x"), LocalFiles)
    with pytest.raises(UsageError, match="s3a://"):
        open_files(conf, "s3a://bucket/x")
    assert path_of("hdfs://nn:1/a%20b") == "/a b"
    assert path_of("/a%20b") == "/a%20b"
    assert path_of("file:/a") == "/a"


def test_a_call_that_does_not_return_passes_its_deadline() -> None:
    import threading

    released = threading.Event()
    with pytest.raises(DeadlinePassed, match=r"waiting did not return within 0\.05 s"):
        run_with_deadline(released.wait, 0.05, "waiting")
    released.set()
    assert run_with_deadline(lambda: 3, 5, "counting") == 3
    with pytest.raises(KeyError):
        run_with_deadline(lambda: dict[str, int]()["x"], 5, "looking")
