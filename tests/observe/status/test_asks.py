"""What the status says of containers that are asked for."""

from __future__ import annotations

import pytest

from yarnspec.core.messages import commands as cm
from yarnspec.core.messages import events as ev
from yarnspec.observe.forms.document import AskStatus, Relaxation
from yarnspec.observe.status.asks import AsksFold


def wanted(number: int, rule: cm.PlacementRule = "", *hosts: str) -> cm.WantedContainer:
    return cm.WantedContainer(id=str(number), memory_mb=1, vcores=1, hosts=hosts, strict=bool(hosts), rule=rule)


def test_alike_asks_are_one_row_and_what_came_is_not_asked_for() -> None:
    asks = AsksFold()
    all_wanted = (wanted(1, "spread", "a"), wanted(2, "spread", "a"), wanted(3), wanted(4, "several", "b", "c"))
    asks.apply(cm.UpdatePlacement(reason="r", version=1, blocked_hosts=(), wanted=all_wanted), 1)
    assert asks.came(ev.ContainerAllocated(executor_id="3", container_id="c", host="a", wanted_id="4")) == "several"
    assert asks.came(ev.ContainerAllocated(executor_id="9", container_id="d", host="a")) == ""
    assert asks.status() == (
        AskStatus(rule="spread", containers=2, hosts=("a",)),
        AskStatus(rule="", containers=1),
    )
    asks.apply(ev.DriverFinished(exit_code=0), 3)
    assert asks.status() == ()


def placed(asks: AsksFold, *all_wanted: cm.WantedContainer) -> None:
    asks.apply(cm.UpdatePlacement(reason="r", version=1, blocked_hosts=(), wanted=all_wanted), 1)


def relaxed(asks: AsksFold, reason: str, *numbers: int) -> None:
    asks.apply(cm.RelaxPlacement(reason=reason, rule="spread", wanted=tuple(map(str, numbers))), 1)


def holding(asks: AsksFold) -> list[str]:
    return [one.reason for one in asks.relaxations() if one.holds]


def test_a_relaxation_holds_as_long_as_one_of_its_containers_is_asked_for_so() -> None:
    asks = AsksFold()
    placed(asks, wanted(1, "spread", "a"), wanted(2, "spread", "a"))
    relaxed(asks, "one other host", 1, 2)
    placed(asks, wanted(1, "spread", "b"), wanted(2, "spread", "c"))
    assert holding(asks) == ["one other host"]
    asks.came(ev.ContainerAllocated(executor_id="1", container_id="c", host="b"))
    assert holding(asks) == ["one other host"]
    relaxed(asks, "anywhere", 2)
    placed(asks, wanted(2), wanted(3, "spread", "a"))
    assert holding(asks) == ["anywhere"]
    placed(asks, wanted(2, "spread", "a"))  # there is room again
    assert holding(asks) == []
    assert len(asks.relaxations()) == 2


@pytest.mark.parametrize(
    "end",
    [
        ev.ContainerAllocated(executor_id="8", container_id="c", host="b", wanted_id="1"),
        cm.UpdatePlacement(reason="r", version=2, blocked_hosts=(), wanted=()),
        ev.DriverFinished(exit_code=0),
        cm.FinishApplication(reason="r", status="SUCCEEDED", exit_code=0),
    ],
)
def test_no_relaxation_holds_when_nothing_is_asked_for(end: ev.Event | cm.Command) -> None:
    asks = AsksFold()
    relaxed(asks, "full", 1)
    placed(asks, wanted(1, "limit", "a"))
    placed(asks, wanted(1, "limit", "b"))
    assert holding(asks) == ["full"]
    asks.apply(end, 2)
    if isinstance(end, ev.ContainerAllocated):
        asks.came(end)
    assert holding(asks) == []


def test_the_newest_relaxations_are_kept() -> None:
    asks = AsksFold()
    for number in range(30):
        asks.apply(cm.RelaxPlacement(reason=f"reason {number}", rule="spread", wanted=("1", "2")), number)
    assert len(asks.relaxations()) == 20
    assert asks.relaxations()[-1] == Relaxation(time_ms=29, rule="spread", containers=2, reason="reason 29", holds=True)
