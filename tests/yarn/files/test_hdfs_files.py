"""HDFS is asked again when it does not answer, for a while, and only where that does no harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hdfs_native
import pytest

from yarnspec.errors import ClusterUnreachable
from yarnspec.yarn.files import hdfs_files
from yarnspec.yarn.files.hdfs_files import HdfsFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

REFUSED = "IO error occurred while communicating with HDFS: Connection refused (os error 111)"
STANDBY = "RPC error: org.apache.hadoop.ipc.StandbyException"
QUOTA = "RPC error: org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"


class Writer:
    """A file that is being written."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        self._keep = keep
        self._data = b""

    def write(self, data: bytes) -> None:
        self._data += data

    def hsync(self) -> None:
        """The DataNodes' disks have it; `hflush` would leave it in their memory."""
        self._keep(self._data)

    def close(self) -> None:
        self._keep(self._data)


class NameNode:
    """What is used of hdfs_native.Client; the next calls meet ``errors``."""

    def __init__(self, *_: object) -> None:
        self.errors: list[str] = []
        self.calls: list[str] = []
        self.files: dict[str, bytes] = {}

    def _called(self, what: str) -> None:
        self.calls.append(what)
        if self.errors:
            raise RuntimeError(self.errors.pop(0))

    def delete(self, path: str, _recursive: bool) -> bool:
        self._called("delete")
        return self.files.pop(path, None) is not None

    def create(self, path: str, _options: Any) -> Writer:
        self._called("create")
        return Writer(lambda data: self.files.update({path: data}))

    def rename(self, source: str, target: str, _overwrite: bool) -> None:
        self._called("rename")
        self.files[target] = self.files.pop(source)


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> NameNode:
    made = NameNode()
    monkeypatch.setattr(hdfs_native, "Client", lambda *_: made)
    monkeypatch.setattr(hdfs_files, "_FIRST_PAUSE_S", 0.001)
    return made


@pytest.fixture
def files(node: NameNode) -> HdfsFiles:  # noqa: ARG001 - there before
    return HdfsFiles(HadoopConf({}, environ={"HADOOP_USER_NAME": "me"}), "hdfs://n:1", timeout_s=5)


def test_what_can_be_done_twice_is_tried_again(files: HdfsFiles, node: NameNode) -> None:
    node.files["/f"] = b"x"
    node.errors = [REFUSED, STANDBY]
    assert files.delete("/f")
    assert node.calls == ["delete"] * 3


def test_a_whole_file_is_written_again_from_its_beginning(files: HdfsFiles, node: NameNode) -> None:
    node.errors = [REFUSED]
    files.write("/d/f", b"all of it")
    assert node.files == {"/d/f": b"all of it"}


def test_what_another_try_would_not_change_is_told_at_once(files: HdfsFiles, node: NameNode) -> None:
    node.errors = [QUOTA]
    with pytest.raises(ClusterUnreachable, match="DSQuotaExceeded"):
        files.delete("/f")
    assert node.calls == ["delete"]


def test_a_rename_and_a_new_log_are_tried_once(files: HdfsFiles, node: NameNode) -> None:
    node.errors = [REFUSED, REFUSED]
    with pytest.raises(ClusterUnreachable, match="refused"):
        files.rename("/a", "/b")
    with pytest.raises(ClusterUnreachable, match="refused"):
        files.open_log("/log")
    assert node.calls == ["rename", "create"]


def test_what_a_log_has_synced_is_on_disks_before_the_log_is_closed(files: HdfsFiles, node: NameNode) -> None:
    log = files.open_log("/log")
    log.append(b"one")
    assert "/log" not in node.files
    log.sync()
    log.append(b"two")
    assert node.files == {"/log": b"one"}


def test_it_gives_up_after_a_while(files: HdfsFiles, node: NameNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_files, "_AGAIN_S", 0.05)
    node.errors = [REFUSED] * 1000
    with pytest.raises(ClusterUnreachable, match="refused"):
        files.delete("/f")
    assert 1 < len(node.calls) < 1000
