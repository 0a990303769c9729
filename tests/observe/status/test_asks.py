"""What the status says of containers that are asked for."""

from __future__ import annotations

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


def test_the_newest_relaxations_are_kept() -> None:
    asks = AsksFold()
    for number in range(30):
        asks.apply(cm.RelaxPlacement(reason=f"reason {number}", rule="spread", wanted=("1", "2")), number)
    assert len(asks.relaxations()) == 20
    assert asks.relaxations()[-1] == Relaxation(time_ms=29, rule="spread", containers=2, reason="reason 29")
