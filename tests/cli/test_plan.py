"""The picture of hosts, containers and slots."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from rich.console import Console

from tests.cli.conftest import Run
from tests.gateway.cluster import APP
from yarnspec.cli.plan import print_plan
from yarnspec.core.options.placement import PlacementSettings
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.submit.placement_plan import PlacementPlan, plan_of_application, rules
from yarnspec.observe.forms.document import (
    AskStatus,
    BlockedHost,
    ContainerStatus,
    ProfileStatus,
    Relaxation,
    StatusDocument,
)
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


def plan_of(document: StatusDocument) -> PlacementPlan:
    cluster = SimpleNamespace(rm=SimpleNamespace(hosts=lambda _: (host("b"), host("a"), host("c"))))
    return plan_of_application(cast(Application, SimpleNamespace(status=lambda: document, cluster=cluster)))


def picture(plan: PlacementPlan) -> list[str]:
    console = Console(width=200, record=True, color_system=None, highlight=False)
    print_plan(plan, console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_picture_of_an_application_shows_what_is_there_and_what_is_asked_for() -> None:
    plan = plan_of(DOCUMENT)
    assert picture(plan)[:6] == [
        "a          4.0g free  [1 ●●]",
        "b          4.0g free  [2 ◐] [spread ○]",
        "c          4.0g free  takes none: a disk",
        "any host              [○] [○]",
        "",
        "mode blacklist",
    ]
    assert "b gave none" in picture(plan)


def test_executors_of_a_profile_are_drawn_with_its_number_and_told_with_its_size() -> None:
    document = msgspec.structs.replace(
        DOCUMENT,
        containers=(
            ContainerStatus(id="c2", host="a", role="executor", state="RUNNING", executor_id="1", cores=2),
            ContainerStatus(id="c3", host="b", role="executor", state="RUNNING", executor_id="2", cores=8, profile=3),
        ),
        asks=(AskStatus(rule="spread", containers=1, hosts=("b",), profile=3), AskStatus(rule="", containers=1)),
        profiles=(ProfileStatus(id=3, wanted=2, memory_mb=4096, cores=8, slots=4, resources={"yarn.io/gpu": 1}),),
    )
    plan = plan_of(document)
    assert picture(plan) == [
        "a          4.0g free  [1 ●●]",
        "b          4.0g free  [2 profile 3 ●●●●] [profile 3 spread ○○○○]",
        "c          4.0g free  takes none: a disk",
        "any host              [○]",
        "",
        "mode blacklist",
        "profile 3: 2 executors are wanted, each with 4096 MiB, 8 cores, 1 of yarn.io/gpu and 4 slots",
        "b gave none",
        "[executor profile rule slots]  ● runs  ◐ has its container  ○ is asked for, or would be",
    ]
    assert json.loads(msgspec.json.encode(plan))["hosts"][1]["containers"] == [
        {"executor_id": "2", "state": "RUNNING", "slots": 4, "profile": 3, "rule": "", "hosts": []},
        {"executor_id": "", "state": "asked", "slots": 4, "profile": 3, "rule": "spread", "hosts": ["b"]},
    ]


def test_the_rules_say_what_gives_way_and_what_does_not() -> None:
    assert rules(PlacementSettings(spread=False)) == ("hard: no container on a blocked host",)
    assert rules(PlacementSettings(max_per_host=2, constraint="python=3")) == (
        "hard: no container on a blocked host",
        "hard: python=3",
        "hard: at most 2 executors on one host",
        "soft: spread. What does not come within 4 s may come on another host below the limit",
    )


@pytest.mark.usefixtures("cluster")
def test_options_after_an_application_are_not_lost(yarnspec: Run) -> None:
    done = yarnspec("plan", APP, "-o", "json")
    assert (done.code, done.out) == (2, "")
    assert f"yarnspec plan -o json {APP}" in done.err
