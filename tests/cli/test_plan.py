"""The picture of hosts, containers and slots."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from rich.console import Console

from yarnspec.cli.plan import print_plan
from yarnspec.core.options.placement import PlacementSettings
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.submit.placement_plan import PlacementPlan, plan_of_application, rules
from yarnspec.observe.forms.document import AskStatus, BlockedHost, ContainerStatus, Relaxation, StatusDocument
from yarnspec.yarn.rm.rm_reports import Host

DOCUMENT = StatusDocument(
    application_id="application_1_0001",
    state="RUNNING",
    placement_mode="blacklist",
    containers=(
        ContainerStatus(id="c1", host="a", role="am", state="RUNNING"),
        ContainerStatus(id="c2", host="a", role="executor", state="RUNNING", executor_id="1", cores=2),
        ContainerStatus(id="c3", host="b", role="executor", state="ALLOCATED", executor_id="2"),
        ContainerStatus(id="c4", host="b", role="executor", state="COMPLETE", executor_id="3"),
    ),
    blocked_hosts=(BlockedHost(host="c", reason="a disk", until_ms=None, by="me"),),
    asks=(AskStatus(rule="spread", containers=1, hosts=("b",)), AskStatus(rule="", containers=2)),
    relaxations=(Relaxation(time_ms=1, rule="spread", containers=2, reason="b gave none"),),
)


def host(name: str) -> Host:
    return Host(
        host=name, node_id=f"{name}:1", rack="/r", state="RUNNING", http_address="", memory_mb=8192, vcores=8,
        used_memory_mb=4096, used_vcores=0, containers=0,
    )  # fmt: skip


def picture(plan: PlacementPlan) -> list[str]:
    console = Console(width=200, record=True, color_system=None, highlight=False)
    print_plan(plan, console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_picture_of_an_application_shows_what_is_there_and_what_is_asked_for() -> None:
    cluster = SimpleNamespace(rm=SimpleNamespace(hosts=lambda _: (host("b"), host("a"), host("c"))))
    plan = plan_of_application(cast(Application, SimpleNamespace(status=lambda: DOCUMENT, cluster=cluster)))
    assert picture(plan)[:6] == [
        "a          4.0g free  [1 ●●]",
        "b          4.0g free  [2 ◐] [spread ○]",
        "c          4.0g free  takes none: a disk",
        "any host              [○] [○]",
        "",
        "mode blacklist",
    ]
    assert "b gave none" in picture(plan)


def test_the_rules_say_what_gives_way_and_what_does_not() -> None:
    assert rules(PlacementSettings(spread=False)) == ("hard: no container on a blocked host",)
    assert rules(PlacementSettings(max_per_host=2, constraint="python=3")) == (
        "hard: no container on a blocked host",
        "hard: python=3",
        "hard: at most 2 executors on one host",
        "soft: spread. What does not come within 4 s may come on another host below the limit",
    )
