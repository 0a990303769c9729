"""The list of blocked hosts that all applications share, on real files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.core.messages.events import ClusterBlock
from yarnspec.errors import NotAllowed, NotFound, UsageError
from yarnspec.yarn.files import cluster_blocks
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks, Standing
from yarnspec.yarn.files.cluster_files import FileInfo
from yarnspec.yarn.files.local_files import LocalFiles
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

NOW_MS = 1_700_000_000_000


class SharedFiles(LocalFiles):
    """A sticky directory that several users share: each file is whose a test says that it is."""

    def __init__(self, user: str, owners: dict[str, str]) -> None:
        super().__init__(user=user)
        self.name = user
        self.owners = owners
        self.reads: list[str] = []
        self.unreadable: set[str] = set()

    def info(self, path: str) -> FileInfo:
        return msgspec.structs.replace(super().info(path), owner=self.owners.get(Path(path).name, "?"))

    def list(self, path: str) -> list[FileInfo]:
        return [msgspec.structs.replace(one, owner=self.owners.get(one.name, "?")) for one in super().list(path)]

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:
        self.reads.append(path)
        if Path(path).name in self.unreadable:
            message = f"{self.name} may not read {path}"
            raise NotAllowed(message)
        return super().read(path, offset=offset, size_bytes=size_bytes)

    def write(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        super().write(path, data, mode=mode)
        self.owners[Path(path).name] = self.name

    def delete(self, path: str) -> bool:
        if self.owners.get(Path(path).name) != self.name:
            message = f"{path} is not yours"
            raise NotAllowed(message)
        return super().delete(path)


class Shared:
    def __init__(self, directory: Path) -> None:
        self.directory = directory / "shared"
        self.owners: dict[str, str] = {}

    def of(self, user: str) -> ClusterBlocks:
        return ClusterBlocks(self.files(user), str(self.directory), user)

    def files(self, user: str) -> SharedFiles:
        return SharedFiles(user, self.owners)

    def put(self, name: str, owner: str, content: Any) -> None:
        self.directory.mkdir(exist_ok=True)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (self.directory / name).write_bytes(data)
        self.owners[name] = owner


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def entry(host: str = "worker7", by: str = "ann", **more: Any) -> dict[str, Any]:
    return {"schema": 1, "host": host, "reason": "slow disk", "by": by, "since_ms": NOW_MS, "until_ms": None} | more


def test_nobody_is_older_than_the_file_that_says_so(shared: Shared) -> None:
    shared.put("worker7@ann.json", "ann", entry(since_ms=5))
    modified_s = NOW_MS // 1000
    os.utime(shared.directory / "worker7@ann.json", (modified_s, modified_s))
    (block,) = shared.of("bob").read(NOW_MS).blocks
    assert block.since_ms == NOW_MS


def test_nobody_gets_before_others_with_a_file_whose_time_is_set_back(shared: Shared) -> None:
    def put(host: str, by: str, *, set_back_to_s: int) -> None:
        shared.put(f"{host}@{by}.json", by, entry(host=host, by=by, since_ms=5))
        os.utime(shared.directory / f"{host}@{by}.json", (set_back_to_s, set_back_to_s))

    def oldest_first(now_ms: int) -> list[tuple[str, str]]:
        return [(one.by, one.host) for one in sorted(carl.read(now_ms).blocks, key=lambda one: one.since_ms)]

    carl = shared.of("carl")
    shared.of("ann").block("worker7", reason="r", duration_ms=None, now_ms=NOW_MS)
    put("worker8", "bob", set_back_to_s=5)
    # At the first look nobody can tell.
    assert oldest_first(NOW_MS) == [("bob", "worker8"), ("ann", "worker7")]
    put("worker1", "mallory", set_back_to_s=4)
    assert oldest_first(NOW_MS + 1_000) == [("bob", "worker8"), ("ann", "worker7"), ("mallory", "worker1")]
    found = carl.read(NOW_MS + 2_000)
    assert {one.host: one.since_ms for one in found.blocks}["worker1"] == NOW_MS + 1
    assert found == carl.read(NOW_MS + 3_000)  # nothing new to tell
    # Nor by a change of what is there, nor behind a longer entry about the same host.
    put("worker8", "bob", set_back_to_s=4)
    shared.of("mallory").block("worker7", reason="r", duration_ms=None, now_ms=NOW_MS)
    assert oldest_first(NOW_MS + 4_000)[-1] == ("bob", "worker8")
    with pytest.raises(NotAllowed, match="only ann"):
        shared.of("mallory").unblock("worker7")
    assert oldest_first(NOW_MS + 5_000)[0] == ("ann", "worker7")


def test_a_shorter_block_does_not_shorten_ones_own_and_a_longer_one_extends_it(shared: Shared) -> None:
    ann = shared.of("ann")
    ann.block("worker7", reason="an hour", duration_ms=3_600_000, now_ms=NOW_MS)
    for duration_ms in (60_000, 3_600_000):
        kept = ann.block("worker7", reason="again", duration_ms=duration_ms, now_ms=NOW_MS)
        assert isinstance(kept, Standing)
        assert (kept.reason, kept.until_ms) == ("an hour", NOW_MS + 3_600_000)
        assert [one.reason for one in ann.read(NOW_MS).blocks] == ["an hour"]
    longer = ann.block("worker7", reason="longer", duration_ms=60_000, now_ms=NOW_MS + 3_550_000)
    assert not isinstance(longer, Standing)
    assert ann.block("worker7", reason="for ever", duration_ms=None, now_ms=NOW_MS).until_ms is None
    assert isinstance(ann.block("worker7", reason="r", duration_ms=10**9, now_ms=NOW_MS), Standing)
    # Who wants a shorter one unblocks first. Another user's is another one.
    ann.unblock("worker7")
    for user in (ann, shared.of("bob")):
        short = user.block("worker7", reason="short", duration_ms=1_000, now_ms=NOW_MS)
        assert (type(short), short.until_ms) == (ClusterBlock, NOW_MS + 1_000)


def test_what_is_not_to_be_believed_of_ones_own_gives_way_to_a_block(shared: Shared) -> None:
    shared.put("worker7@ann.json", "ann", entry(by="root"))
    assert not isinstance(shared.of("ann").block("worker7", reason="r", duration_ms=1, now_ms=NOW_MS), Standing)
    assert [one.by for one in shared.of("bob").read(NOW_MS).blocks] == ["ann"]


def test_a_block_of_one_user_is_read_by_another_and_ends_by_itself(shared: Shared) -> None:
    shared.of("ann").block("worker7", reason="slow disk", duration_ms=60_000, now_ms=NOW_MS)
    bob = shared.of("bob")
    (block,) = bob.read(NOW_MS + 59_999).blocks
    assert (block.host, block.by, block.reason) == ("worker7", "ann", "slow disk")
    assert block.until_ms == NOW_MS + 60_000
    assert bob.read(NOW_MS + 60_000).blocks == ()


def test_a_directory_that_nobody_made_is_an_empty_list(shared: Shared) -> None:
    assert shared.of("bob").read(NOW_MS).blocks == ()
    assert shared.of("bob").sweep(NOW_MS) == 0


def test_the_first_to_block_makes_a_directory_for_everybody(shared: Shared) -> None:
    shared.of("ann").block("worker7", reason="r", duration_ms=None, now_ms=NOW_MS)
    assert stat.S_IMODE(shared.directory.stat().st_mode) == 0o1777
    (file,) = shared.directory.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert json.loads(file.read_text()) == entry(reason="r")


def test_nobody_else_can_put_a_list_in_the_place_of_this_one(tmp_path: Path) -> None:
    """The file system gives the directories above the mode that it is asked for, as HDFS does."""
    made: list[tuple[str, int]] = []

    class Telling(LocalFiles):
        def make_directories(self, path: str, *, mode: int = 0o700) -> None:
            made.append((path, mode))
            super().make_directories(path, mode=mode)

    blocks = ClusterBlocks(Telling(), str(tmp_path / "yarnspec" / "blocklist"), "ann")
    blocks.block("worker7", reason="r", duration_ms=None, now_ms=NOW_MS)
    assert made == [(str(tmp_path / "yarnspec"), 0o755), (str(tmp_path / "yarnspec" / "blocklist"), 0o1777)]


def test_one_whose_directory_is_refused_hears_what_an_admin_can_do(tmp_path: Path) -> None:
    class Refusing(LocalFiles):
        def make_directories(self, path: str, *, mode: int = 0o700) -> None:
            message = f"{path} may not be made with {mode}"
            raise NotAllowed(message)

    blocks = ClusterBlocks(Refusing(), str(tmp_path / "none"), "ann")
    with pytest.raises(NotAllowed, match="chmod 1777"):
        blocks.block("worker7", reason="r", duration_ms=None, now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"schema": 1, "host": "wor', "broken"),
        (b"\xff\xfe", "broken"),
        (b"[" * 10_000, "broken"),
        (b"x" * 20_000, "20000 bytes"),
        (entry(by="root"), "forged"),
        (entry(schema=2), "schema 2"),
        (entry(host="../../etc"), "names no host"),
        (entry(host="worker8"), "its name is that of another host"),
        (entry(until_ms="tomorrow"), "broken"),
        (entry(until_ms=10**400), "times are none"),
        (entry(since_ms=-1), "times are none"),
    ],
)
def test_what_is_not_to_be_believed_is_told_and_the_rest_holds(shared: Shared, content: Any, words: str) -> None:
    shared.put("worker7@ann.json", "ann", content)
    shared.put("worker9@bob.json", "bob", entry(host="worker9", by="bob"))
    found = shared.of("carl").read(NOW_MS)
    assert [block.host for block in found.blocks] == ["worker9"]
    (problem,) = found.problems
    assert words in problem
    assert "worker7@ann.json is ignored" in problem


def test_an_entry_that_may_not_be_read_is_told_and_the_rest_holds(shared: Shared) -> None:
    shared.of("admin").block("worker7", reason="disk", duration_ms=None, now_ms=NOW_MS)
    shared.of("mallory").block("worker1", reason="r", duration_ms=None, now_ms=NOW_MS)
    files = shared.files("ann")
    files.unreadable = {"worker1@mallory.json"}
    ann = ClusterBlocks(files, str(shared.directory), "ann")
    found = ann.read(NOW_MS)
    assert [block.host for block in found.blocks] == ["worker7"]
    (problem,) = found.problems
    assert "worker1@mallory.json is ignored: it may not be read" in problem
    ann.block("worker2", reason="r", duration_ms=None, now_ms=NOW_MS)
    assert ann.unblock("worker2") == ("ann",)
    files.unreadable = set()  # a change of mode leaves the time of the file's last change as it was
    assert [block.host for block in ann.read(NOW_MS).blocks] == ["worker1", "worker7"]


def test_of_many_broken_entries_some_are_named_and_the_others_counted(shared: Shared) -> None:
    for number in range(30):
        shared.put(f"h{number}@ann.json", "ann", b"{")
    problems = shared.of("bob").read(NOW_MS).problems
    assert (len(problems), problems[-1]) == (21, "and 10 more are ignored")


def test_nobody_crowds_out_the_directorys_owner(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_blocks, "_MOST_ENTRIES", 3)
    for host in ("a1", "a2", "a3", "a4"):
        shared.of("mallory").block(host, reason="r", duration_ms=None, now_ms=NOW_MS)
    shared.of("admin").block("worker7", reason="disk", duration_ms=None, now_ms=NOW_MS)
    shared.owners[shared.directory.name] = "admin"
    found = shared.of("ann").read(NOW_MS)
    assert [block.host for block in found.blocks] == ["a1", "a2", "worker7"]
    assert len(found.problems) == 2


def test_files_that_are_being_written_and_other_files_are_no_entries(shared: Shared) -> None:
    shared.put(".worker7@ann.json.0123", "ann", b"{")
    shared.put("README", "ann", b"hello")
    assert shared.of("bob").read(NOW_MS).problems == ()


def test_of_two_users_blocks_the_longer_holds_until_both_are_gone(shared: Shared) -> None:
    ann, bob = shared.of("ann"), shared.of("bob")
    ann.block("worker7", reason="short", duration_ms=1000, now_ms=NOW_MS)
    bob.block("worker7", reason="long", duration_ms=None, now_ms=NOW_MS)
    (both,) = ann.read(NOW_MS).blocks
    assert (both.by, both.until_ms, both.reason) == ("ann", None, "short; bob: long")
    with pytest.raises(NotAllowed, match="only bob"):
        ann.unblock("worker7")
    assert [block.by for block in ann.read(NOW_MS).blocks] == ["bob"]
    assert bob.unblock("worker7") == ("bob",)
    assert ann.read(NOW_MS).blocks == ()


def test_the_word_of_the_directorys_owner_counts_more_than_a_longer_one_of_another(shared: Shared) -> None:
    shared.of("ann").block("worker7", reason="short", duration_ms=1000, now_ms=NOW_MS)
    shared.of("bob").block("worker7", reason="long", duration_ms=None, now_ms=NOW_MS)
    shared.of("bob").block("worker8", reason="his", duration_ms=None, now_ms=NOW_MS)
    shared.owners[shared.directory.name] = "ann"
    found = shared.of("carl").read(NOW_MS).blocks
    assert [(one.host, one.reason, one.admin) for one in found] == [
        ("worker7", "short", True),
        ("worker8", "his", False),
    ]


def test_an_unblock_of_what_is_not_blocked(shared: Shared) -> None:
    with pytest.raises(NotFound, match="worker7 is not on the cluster's list"):
        shared.of("ann").unblock("worker7")


def test_ones_own_broken_entry_can_be_removed(shared: Shared) -> None:
    shared.put("worker7@ann.json", "ann", b"{")
    assert shared.of("ann").unblock("worker7") == ("ann",)
    assert shared.of("ann").read(NOW_MS).problems == ()


def test_what_expired_is_swept_by_its_owner_only(shared: Shared) -> None:
    for user in ("ann", "bob"):
        shared.of(user).block("worker7", reason="r", duration_ms=1000, now_ms=NOW_MS)
        shared.of(user).block("worker8", reason="r", duration_ms=None, now_ms=NOW_MS)
    assert shared.of("ann").sweep(NOW_MS + 2_000) == 0  # another host's clock may be behind
    assert shared.of("ann").sweep(NOW_MS + 3_600_000) == 1
    assert sorted(path.name for path in shared.directory.iterdir()) == [
        "worker7@bob.json",
        "worker8@ann.json",
        "worker8@bob.json",
    ]


def test_a_file_that_did_not_change_is_read_once(shared: Shared) -> None:
    shared.put("worker7@ann.json", "ann", entry())
    files = shared.files("bob")
    blocks = ClusterBlocks(files, str(shared.directory), "bob")
    assert blocks.read(NOW_MS) == blocks.read(NOW_MS)
    assert len(files.reads) == 1
    shared.put("worker7@ann.json", "ann", entry(reason="another, longer reason"))
    assert blocks.read(NOW_MS).blocks[0].reason == "another, longer reason"
    shared.owners["worker7@ann.json"] = "mallory"  # the owner counts at each look
    assert "forged" in blocks.read(NOW_MS).problems[0]


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=10).filter(lambda user: user.isprintable()))
def test_no_name_leads_out_of_the_directory(host: str, user: str) -> None:
    path = ClusterBlocks(LocalFiles(), "/shared", user)._path(host, user)
    assert path.startswith("/shared/")
    assert path.count("/") == 2


@pytest.mark.parametrize("host", ["", "a/b", "..", "a b", ".x", "a\n"])
def test_a_name_that_no_host_has_is_refused(shared: Shared, host: str) -> None:
    with pytest.raises(UsageError):
        shared.of("ann").block(host, reason="r", duration_ms=None, now_ms=NOW_MS)


def test_the_options_value(tmp_path: Path) -> None:
    conf = HadoopConf({}, environ={"HADOOP_USER_NAME": "me"})
    assert ClusterBlocks.of(conf, "none", timeout_s=5) is None
    blocks = ClusterBlocks.of(conf, f"file://{tmp_path}/list", timeout_s=5)
    assert blocks is not None
    assert blocks.directory == f"file://{tmp_path}/list"
    for wrong in ("relative/path", "hdfs://nn:8020", "/"):
        with pytest.raises(UsageError, match="cluster_directory"):
            ClusterBlocks.of(conf, wrong, timeout_s=5)
