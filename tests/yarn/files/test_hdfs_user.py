"""Acting for another user of HDFS: the environment is theirs for the time of a call, and nobody else's call is."""

from __future__ import annotations

import os
import threading

import pytest

from yarnspec.yarn.files.hdfs_user import UserClaim, connecting_as

NAME = "HADOOP_USER_NAME"
ALICE, BOB = UserClaim(NAME, "alice"), UserClaim(NAME, "bob")
WAIT_S = 10


@pytest.mark.parametrize("before", [None, "me"])
def test_the_claim_holds_for_the_time_of_the_call(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if before is not None:
        monkeypatch.setenv(NAME, before)
    with connecting_as(ALICE, WAIT_S):
        assert os.environ[NAME] == "alice"
        with connecting_as(ALICE, WAIT_S):
            pass
        assert os.environ[NAME] == "alice"
    assert os.environ.get(NAME) == before
    with pytest.raises(KeyError), connecting_as(ALICE, WAIT_S):
        raise KeyError
    assert os.environ.get(NAME) == before


def test_without_a_claim_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "me")
    with connecting_as(None, WAIT_S), connecting_as(None, WAIT_S):
        assert os.environ[NAME] == "me"


@pytest.mark.parametrize("other", [BOB, None])
def test_calls_for_different_users_take_turns(other: UserClaim | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    seen: list[str | None] = []
    came = threading.Event()

    def call() -> None:
        came.set()
        with connecting_as(other, WAIT_S):
            seen.append(os.environ.get(NAME))

    with connecting_as(ALICE, WAIT_S):
        thread = threading.Thread(target=call)
        thread.start()
        assert came.wait(WAIT_S)
        with pytest.raises(TimeoutError, match="another user"), connecting_as(BOB, 0.01):
            pass
        assert seen == []
    thread.join(WAIT_S)
    assert seen == [None if other is None else "bob"]
    assert NAME not in os.environ
