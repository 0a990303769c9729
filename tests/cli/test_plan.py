"""The picture of hosts, containers and slots."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from rich.console import Console

from tests.cli.conftest import Run
from tests.gateway.calm_cluster import host as calm_host
from tests.gateway.cluster import APP
from yarnspec.cli.plan import print_plan
from yarnspec.core.messages.events import PlacementInEffect
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
        ContainerStatus(id="c2", host="a", role="executor", state="RUNNING", executor_id="1", cores=4, rule="spread"),
        ContainerStatus(id="c3", host="b", role="executor", state="ALLOCATED", executor_id="2"),
        ContainerStatus(id="c4", host="b", role="executor", state="COMPLETE", executor_id="3"),
    ),
    blocked_hosts=(BlockedHost(host="c", reason="a disk", until_ms=None, by="me"),),
    wanted_containers=5,
    asks=(AskStatus(rule="spread", containers=1, hosts=("b",)), AskStatus(rule="", containers=2)),
    usual_executor=ProfileStatus(id=0, wanted=5, memory_mb=1024, cores=4, slots=2),
    relaxations=(Relaxation(time_ms=1, rule="spread", containers=2, reason="b gave none", holds=True),),
)


def host(name: str, **more: Any) -> Host:
    return calm_host(name, **{"used_memory_mb": 4096, **more})


def plan_of(document: StatusDocument, *hosts: Host) -> PlacementPlan:
    there = hosts or (host("b"), host("a"), host("c"))
    cluster = SimpleNamespace(rm=SimpleNamespace(hosts=lambda _: there))
    return plan_of_application(cast(Application, SimpleNamespace(status=lambda: document, cluster=cluster)))


def picture(plan: PlacementPlan) -> list[str]:
    console = Console(width=200, record=True, color_system=None, highlight=False)
    print_plan(plan, console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_picture_of_an_application_shows_what_is_there_and_what_is_asked_for() -> None:
    plan = plan_of(DOCUMENT)
    assert picture(plan)[:6] == [
        "a          4.0g free  [1 spread ●●]",
        "b          4.0g free  [2 ◐◐] [spread ○○]",
        "c          4.0g free  takes none: a disk",
        "any host              [○○] [○○]",
        "",
        "mode blacklist",
    ]
    assert "b gave none" in picture(plan)
    over = Relaxation(time_ms=1, rule="spread", containers=2, reason="b gave none")
    for changes in ({"relaxations": (over,)}, {"state": "KILLED"}):
        assert "b gave none" not in picture(plan_of(msgspec.structs.replace(DOCUMENT, **changes)))
    assert [one.slots for one in plan.anywhere] == [2, 2]
    assert (plan.not_asked_for, plan.why_not_asked_for) == (0, "")


def test_before_the_program_has_told_their_size_executors_have_the_slots_that_are_known() -> None:
    plan = plan_of(msgspec.structs.replace(DOCUMENT, usual_executor=None))
    assert picture(plan)[:2] == ["a          4.0g free  [1 spread ●●●●]", "b          4.0g free  [2 ◐] [spread ○]"]
    assert [one.slots for one in plan.anywhere] == [0, 0]


def test_the_rules_of_an_application_are_those_that_it_runs_by() -> None:
    held = PlacementInEffect(spread=True, spread_wait_ms=4_000, max_per_host=1)
    document = msgspec.structs.replace(
        DOCUMENT, wanted_containers=4, asks=(), placement=held, placement_constraint="python=3.11"
    )
    python = {"attributes": {"rm.yarn.io/python": "3.11"}}
    plan = plan_of(document, host("a", **python), host("b", **python), host("c", **python), host("d"))
    assert plan.rules == rules("python=3.11", held)
    assert [one.why_not for one in plan.hosts] == ["", "", "a disk", "your constraint does not hold there"]
    assert plan.not_asked_for == 2
    assert "2 executors are not asked for now: at most 1 may be on one host (placement.max_per_host)" in picture(plan)
    plan = plan_of(document, host("a", **python), host("b", **python), host("e", **python))
    assert plan.why_not_asked_for == "2 executors are not asked for now"
    plan = plan_of(msgspec.structs.replace(document, wanted_containers=3), host("d"))
    assert plan.why_not_asked_for == "1 executor is not asked for now: no host takes any"


def test_hosts_of_an_application_that_take_nothing_say_why() -> None:
    held = PlacementInEffect(spread=True, spread_wait_ms=4_000, label="gpu")
    gpu = {"labels": ("gpu",)}
    hosts = (
        host("a", **gpu),
        host("b"),
        host("c", **gpu),
        host("d", **gpu, used_memory_mb=8000),
        host("e", **gpu, memory_mb=512, used_memory_mb=0),
        host("f", **gpu, state="LOST"),
    )
    document = msgspec.structs.replace(DOCUMENT, placement=held)
    assert [one.why_not for one in plan_of(document, *hosts).hosts] == [
        "",
        "it does not have the node label gpu",
        "a disk",
        "it has 192 MiB free, and an executor needs 1024",
        "it has 512 MiB, and an executor needs 1024",
        "it is LOST",
    ]
    older = plan_of(DOCUMENT, host("g", **gpu))
    assert (older.hosts[0].why_not, older.rules) == ("", ())


def test_a_host_that_is_large_enough_for_one_size_takes_some() -> None:
    document = msgspec.structs.replace(
        DOCUMENT, profiles=(ProfileStatus(id=3, wanted=2, memory_mb=512, cores=1, slots=1),)
    )
    assert plan_of(document, host("e", memory_mb=512, used_memory_mb=0)).hosts[0].why_not == ""


def test_executors_of_a_profile_are_drawn_with_its_number_and_told_with_its_size() -> None:
    document = msgspec.structs.replace(
        DOCUMENT,
        containers=(
            ContainerStatus(id="c2", host="a", role="executor", state="RUNNING", executor_id="1", cores=4),
            ContainerStatus(id="c3", host="b", role="executor", state="RUNNING", executor_id="2", cores=8, profile=3),
        ),
        asks=(AskStatus(rule="spread", containers=1, hosts=("b",), profile=3), AskStatus(rule="", containers=1)),
        profiles=(ProfileStatus(id=3, wanted=2, memory_mb=4096, cores=8, slots=4, resources={"yarn.io/gpu": 1}),),
    )
    plan = plan_of(document, host("a"), host("b", resources={"yarn.io/gpu": 2}), host("c"))
    assert picture(plan) == [
        "a          4.0g free  [1 ●●]",
        "b          4.0g free  [2 profile 3 ●●●●] [profile 3 spread ○○○○]",
        "c          4.0g free  takes none: a disk",
        "any host              [○○]",
        "1 executor is not asked for now",
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


def test_a_profile_that_no_host_takes_is_told_with_what_keeps_it_off() -> None:
    gpus = ProfileStatus(id=3, wanted=2, memory_mb=4096, cores=8, slots=4, resources={"yarn.io/gpu": 1})
    held = PlacementInEffect(spread=True, spread_wait_ms=4_000)
    document = msgspec.structs.replace(DOCUMENT, profiles=(gpus,), placement=held, wanted_containers=7)
    with_gpu = {"resources": {"yarn.io/gpu": 2}}
    plan = plan_of(document, host("a"), host("c", **with_gpu), host("g", labels=("gpu",), **with_gpu))
    assert plan.warnings == (
        "no running host takes executors of profile 3: a: it has no yarn.io/gpu; c: a disk; "
        "g: it has the node label gpu, and executors have none",
    )
    assert plan.why_not_asked_for == "2 executors are not asked for now: no host takes any of profile 3"
    assert plan.warnings[0] in picture(plan)
    assert plan_of(msgspec.structs.replace(document, state="KILLED"), host("a")).warnings == ()
    no_more = msgspec.structs.replace(document, profiles=(msgspec.structs.replace(gpus, wanted=0),))
    assert plan_of(no_more, host("a")).warnings == ()


def test_the_rules_say_what_gives_way_and_what_does_not() -> None:
    off = PlacementInEffect(spread=False, spread_wait_ms=4_000)
    assert rules("", off) == ("hard: no container on a blocked host", "no spreading: placement.spread is false")
    assert rules("python=3", PlacementInEffect(spread=True, spread_wait_ms=4_000, max_per_host=2, label="gpu")) == (
        "hard: no container on a blocked host",
        "hard: only hosts with the node label gpu",
        "hard: python=3",
        "hard: at most 2 executors on one host",
        "soft: spread (the application's id decides between equal hosts). What does not come within 4 s may come on "
        "one other host, then on any host below the limit",
    )
    assert "hard: at most 1 executor on one host" in rules("", msgspec.structs.replace(off, max_per_host=1))


@pytest.mark.usefixtures("cluster")
def test_options_after_an_application_are_not_lost(yarnspec: Run) -> None:
    done = yarnspec("plan", APP, "-o", "json")
    assert (done.code, done.out) == (2, "")
    assert f"yarnspec plan -o json {APP}" in done.err
