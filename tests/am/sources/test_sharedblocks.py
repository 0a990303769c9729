"""The cluster's list of blocked hosts, as a running application looks at it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from yarnspec.am.sources.sharedblocks import SharedBlocks
from yarnspec.core.messages.events import ClusterBlocksRead, Event
from yarnspec.errors import ClusterUnreachable
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks
from yarnspec.yarn.files.local_files import LocalFiles

NOW_MS = 1_700_000_000_000


class Moody(LocalFiles):
    """Files of a cluster that is away now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.away = 0

    def list(self, path: str):  # type: ignore[no-untyped-def]
        if self.away:
            self.away -= 1
            message = "HDFS does not answer"
            raise ClusterUnreachable(message)
        return super().list(path)


class Looking:
    def __init__(self, directory: Path) -> None:
        self.files = Moody()
        self.now_ms = NOW_MS
        self.user = LocalFiles().info(str(directory)).owner
        self.list = ClusterBlocks(self.files, str(directory / "shared"), self.user)
        self.posted: list[Event] = []
        self.pauses: list[float] = []
        self.shared = SharedBlocks(lambda: self.list, self.posted.append, 30.0, lambda: self.now_ms)
        self.shared.watcher.pause = self.pauses.append  # type: ignore[method-assign,assignment]

    def look(self) -> ClusterBlocksRead | None:
        before = len(self.posted)
        self.shared._step()
        if len(self.posted) == before:
            return None
        (event,) = self.posted[before:]
        assert isinstance(event, ClusterBlocksRead)
        return event

    def block(self, host: str, duration_ms: int | None = None) -> None:
        self.list.block(host, reason="r", duration_ms=duration_ms, now_ms=self.now_ms)


@pytest.fixture
def looking(tmp_path: Path) -> Looking:
    return Looking(tmp_path)


def hosts(event: ClusterBlocksRead | None) -> list[str] | None:
    return None if event is None else [block.host for block in event.blocks]


def test_an_empty_list_is_nothing_to_tell(looking: Looking) -> None:
    assert looking.look() is None
    assert looking.shared.wait_for_first_look(0)


def test_the_list_is_told_whole_when_it_changed_and_only_then(looking: Looking) -> None:
    looking.block("h1")
    assert hosts(looking.look()) == ["h1"]
    assert looking.look() is None
    looking.block("h2", 5_000)
    assert hosts(looking.look()) == ["h1", "h2"]
    looking.now_ms += 5_000
    assert hosts(looking.look()) == ["h1"]
    looking.list.unblock("h1")
    assert hosts(looking.look()) == []


def test_who_comes_later_is_later_whatever_the_files_time(looking: Looking) -> None:
    looking.now_ms = int(time.time() * 1000)
    looking.block("h2")
    looking.look()
    looking.now_ms += 30_000
    looking.list.block("h1", reason="r", duration_ms=None, now_ms=5_000)
    os.utime(looking.list._path("h1", looking.user), (5, 5))
    event = looking.look()
    assert event is not None
    assert [one.host for one in sorted(event.blocks, key=lambda one: one.since_ms)] == ["h2", "h1"]
    looking.now_ms += 30_000
    assert looking.look() is None


def test_short_trouble_is_nothing_to_tell(looking: Looking) -> None:
    looking.block("h1")
    looking.files.away = 2
    event = looking.look()
    assert hosts(event) == ["h1"]
    assert event is not None
    assert event.problems == ()
    assert len(looking.pauses) == 2


def test_in_lasting_trouble_what_was_read_holds_and_the_trouble_is_told_once(looking: Looking) -> None:
    looking.block("h1")
    looking.look()
    looking.files.away = 1_000
    event = looking.look()
    assert hosts(event) == ["h1"]
    assert event is not None
    assert "HDFS does not answer" in event.problems[0]
    assert looking.look() is None
    looking.files.away = 0
    event = looking.look()
    assert event is not None
    assert event.problems == ()


def test_a_list_that_cannot_be_opened_is_trouble_too(looking: Looking) -> None:
    def away() -> ClusterBlocks | None:
        message = "no NameNode"
        raise ClusterUnreachable(message)

    shared = SharedBlocks(away, looking.posted.append, 30.0)
    shared.watcher.pause = looking.pauses.append  # type: ignore[method-assign,assignment]
    shared._step()
    (event,) = looking.posted
    assert isinstance(event, ClusterBlocksRead)
    assert "no NameNode" in event.problems[0]
    assert shared.wait_for_first_look(0)


def test_without_a_list_nothing_is_told(looking: Looking) -> None:
    shared = SharedBlocks(lambda: None, looking.posted.append, 30.0)
    shared.watcher.start()
    assert shared.wait_for_first_look(10)
    shared.watcher.stop()
    assert looking.posted == []


def test_expired_entries_of_the_user_are_swept_at_the_start(looking: Looking) -> None:
    looking.block("h1", 1_000)
    looking.now_ms += 86_400_000
    looking.look()
    assert looking.files.list(str(Path(looking.list._directory))) == []
