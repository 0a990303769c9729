"""NodeManagers that are asked whether they are there."""

from __future__ import annotations

import errno

import pytest

from yarnspec.am.sources.nodemanager_check import NodeManagerCheck, answers

IDS = {"a": "a:1", "b": "b:1"}


class Asked:
    """NodeManagers of which some are dead, and a check of them."""

    def __init__(self) -> None:
        self.dead: set[str] = set()
        self.asked: list[str] = []
        self.check = NodeManagerCheck(self._answers)

    def _answers(self, node_id: str) -> bool:
        self.asked.append(node_id)
        return node_id not in self.dead


def test_a_host_that_answers_is_asked_less_and_less_often_and_then_no_more() -> None:
    asked = Asked()
    asked.check.doubt(["a"])
    times = [now_s for now_s in range(60) if not asked.check.look(IDS, float(now_s)) and len(asked.asked) > 0]
    assert asked.asked == ["a:1"] * 5
    assert asked.check.unreachable == frozenset()
    assert len(times) == 60


def test_a_host_that_dies_a_little_later_is_found() -> None:
    asked = Asked()
    asked.check.doubt(["a", "b"])
    assert not asked.check.look(IDS, 0.0)
    asked.dead.add("b:1")
    assert asked.check.look(IDS, 1.0)
    assert asked.check.unreachable == {"b"}


def test_a_host_that_does_not_answer_is_asked_until_it_does_or_yarn_knows() -> None:
    asked = Asked()
    asked.dead |= {"a:1", "b:1"}
    asked.check.doubt(["a", "b"])
    assert asked.check.look(IDS, 0.0)
    assert not any(asked.check.look(IDS, float(now_s)) for now_s in range(1, 100))
    asked.dead.remove("a:1")
    assert asked.check.look(IDS, 200.0)
    assert asked.check.unreachable == {"b"}
    assert asked.check.look({"a": "a:1"}, 200.1)
    assert asked.check.unreachable == frozenset()


def test_a_name_that_cannot_be_looked_up_says_nothing_about_the_host() -> None:
    assert answers("no-such-host.invalid:1")
    assert answers("an id without a port")


@pytest.mark.parametrize("error", [errno.EHOSTUNREACH, errno.ECONNREFUSED, errno.EHOSTDOWN])
def test_what_the_network_says_of_a_dead_host_means_that_it_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(error, "said by the network")

    monkeypatch.setattr("yarnspec.am.sources.nodemanager_check.socket.socket.connect", refuse)
    assert not answers("127.0.0.1:1")


def test_what_is_wrong_on_this_side_says_nothing_about_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "no port is free here")

    monkeypatch.setattr("yarnspec.am.sources.nodemanager_check.socket.socket.connect", refuse)
    assert answers("127.0.0.1:1")
