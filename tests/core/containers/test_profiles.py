"""Executors of other sizes: how many of each, where they are asked for, and what the usual ones notice of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.world import HOSTS, World, names, of, only
from yarnspec.core.containers.capacity import Slots
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.containers.placing import SPREAD_TIMER
from yarnspec.core.containers.profiles import USUAL, Profiles, lacks
from yarnspec.core.messages import events as ev
from yarnspec.core.messages.commands import (
    Command,
    FinishApplication,
    ReleaseContainer,
    RequestContainers,
    SetTimer,
    UpdatePlacement,
    WantedContainer,
    Warn,
)
from yarnspec.core.messages.settings import PlacementSettings, Settings
from yarnspec.core.tasks.task_table import TaskTable

GPU = {"yarn.io/gpu": 1}
LARGE = ev.ExecutorProfile(
    id=3, count=2, memory_mb=4096, heap_mb=3000, cores=4, slots=2, resources=GPU
)  # fmt: skip

SET_IN_CODE = ev.ExecutorProfile(id=USUAL, count=0, memory_mb=896, heap_mb=512, cores=2, slots=2)


def started(**changes: Any) -> World:
    world = World(initial_executors=1, **changes)
    world.start()
    world.driver_ready()
    world.run("1")
    return world


def target(count: int, *profiles: ev.ExecutorProfile) -> ev.TargetExecutorsChanged:
    return ev.TargetExecutorsChanged(count=count, profiles=profiles)


def large(count: int) -> ev.ExecutorProfile:
    return msgspec.structs.replace(LARGE, count=count)


def wanted(world: World) -> list[WantedContainer]:
    return list(of(UpdatePlacement, world.commands)[-1].wanted)


def test_executors_of_a_profile_are_asked_for_in_their_size() -> None:
    world = started()
    answer = world.tell(target(2, LARGE))
    usual, large_ones = of(RequestContainers, answer)
    assert (usual.executor_ids, usual.profile) == (("2",), None)
    assert (large_ones.executor_ids, large_ones.profile) == (("3", "4"), LARGE)
    assert "2 containers of resource profile 3 are missing" in large_ones.reason
    assert [(one.id, one.profile, one.memory_mb, one.vcores, one.resources) for one in wanted(world)] == [
        ("2", 0, 1408, 1, {}),
        ("3", 3, 4096, 4, {"yarn.io/gpu": 1}),
        ("4", 3, 4096, 4, {"yarn.io/gpu": 1}),
    ]
    assert world.tell(target(2, LARGE)) == []


def test_sizes_are_those_that_yarn_gives() -> None:
    """They are multiples of a step, but the largest container is no such multiple here."""
    profiles = Profiles(
        Settings(initial_executors=1, executor_memory_mb=1408, memory_step_mb=1024, largest_container=(5000, 8))
    )
    assert profiles.usual.memory_mb == 2048
    profiles.aim([msgspec.structs.replace(LARGE, memory_mb=4097)])
    assert profiles.of(LARGE.id).memory_mb == 5000
    profiles.aim([msgspec.structs.replace(LARGE, memory_mb=5001)])
    assert profiles.of(LARGE.id).memory_mb == 5001  # YARN gives none
    assert not profiles.take_usual(msgspec.structs.replace(profiles.usual, memory_mb=1500))
    assert profiles.take_usual(msgspec.structs.replace(profiles.usual, memory_mb=2049))
    assert profiles.usual.memory_mb == 3072


def test_fewer_are_withdrawn_and_a_lost_one_is_replaced_in_its_size() -> None:
    world = started()
    world.tell(target(1, LARGE))
    world.run("2")
    answer = world.tell(target(1, large(1)))
    assert only(ReleaseContainer, answer).executor_id == "3"
    answer = world.lose("2", exit_code=-100)
    assert only(RequestContainers, answer).profile == large(1)
    assert only(RequestContainers, answer).executor_ids == ("4",)
    # Spark lets go: it ends the executor, and wants none.
    world.run("4")
    world.tell(target(1))
    answer = world.tell(ev.ExecutorsUnwanted(executor_ids=("4",)))
    assert only(ReleaseContainer, answer).executor_id == "4"
    assert of(RequestContainers, world.lose("4", exit_code=0)) == []


def test_one_container_is_never_taken_for_one_of_another_size() -> None:
    """The usual executor's container comes under a name that is gone: the newest ask of its own size goes."""
    world = started()
    world.tell(target(2, large(1)))
    world.allocate("2", wanted_id="gone")
    assert [one.id for one in wanted(world)] == ["2", "3"], "no version for an allocation alone"
    world.tell(target(3, large(1)))
    assert [(one.id, one.profile) for one in wanted(world)] == [("3", 3), ("4", 0)]


def test_a_container_that_no_ask_of_its_size_is_for_takes_none_away() -> None:
    world = started()
    world.tell(target(2, large(1)))
    world.allocate("3", wanted_id="2")
    world.allocate("2", wanted_id="gone")
    world.tell(target(3, large(1)))
    assert [one.id for one in wanted(world)] == ["3", "4"]


def test_one_that_dies_young_waits_before_it_is_asked_for_again() -> None:
    world = started()
    world.tell(target(1, large(1)))
    world.run("2")
    answer = world.lose("2", exit_code=1)
    assert of(RequestContainers, answer) == []
    timer = of(SetTimer, answer)[-1]
    assert only(RequestContainers, world.fire(timer.name, timer.at_ms)).profile == large(1)


def test_as_many_executors_of_a_profile_may_die_young_as_usual_ones() -> None:
    world = started()
    world.tell(target(0, large(4)))
    world.tell(ev.ExecutorsUnwanted(executor_ids=("1",)))
    world.lose("1", exit_code=0)
    for count in range(2, 10):
        answer = world.lose(str(count), exit_code=1)
        assert "FinishApplication" not in names(answer)
        for timer in of(SetTimer, answer):
            if timer.name == "replacement-backoff":
                world.fire(timer.name, timer.at_ms)
    assert "FinishApplication" in names(world.lose("10", exit_code=1))


def test_a_failed_request_that_nothing_came_of_holds_no_profile_back() -> None:
    world = started()
    world.tell(target(1, large(1)))
    world.run("2")
    world.tell(ev.RequestFailed(executor_ids=("2",), message="late"))
    assert only(RequestContainers, world.tell(target(1, large(2)))).profile == large(2)


def test_a_job_waits_for_resources_when_only_a_profile_is_wanted() -> None:
    world = World(initial_executors=0)
    world.start()
    world.driver_ready()
    answer = world.tell(target(0, large(1)))
    (wait,) = [one for one in of(SetTimer, answer) if one.name == "resource-wait"]
    failed = world.fire(wait.name, wait.at_ms)
    assert "profile 3: 1 of 1" in only(FinishApplication, failed).reason
    assert "FinishApplication" in names(failed)


def test_a_new_context_begins_with_usual_executors_alone() -> None:
    world = started()
    world.tell(target(1, LARGE))
    world.run("2")
    answer = world.driver_ready()
    assert {one.executor_id for one in of(ReleaseContainer, answer)} >= {"3"}
    assert {one.profile for one in of(RequestContainers, answer)} == {None}


def test_sizes_and_resource_types_count_where_containers_are_spread() -> None:
    world = World(initial_executors=2, placement=PlacementSettings())
    world.start(report=False)
    # The first two hosts have room for three usual ones or one large one, and only the last two have GPUs.
    free_mb = (4300, 4300, 4300, 1500)
    gpus: tuple[dict[str, int], ...] = ({}, {}, GPU, GPU)
    world.tell(
        ev.HostsReported(
            hosts=tuple(
                ev.HostReport(host=host, free_memory_mb=mb, resources=types, free_resources=types)
                for host, mb, types in zip(HOSTS, free_mb, gpus, strict=True)
            )
        )
    )
    world.driver_ready()
    world.tell(target(2, LARGE))
    by_id = {one.id: one for one in wanted(world)}
    places = Counter(one.hosts for one in by_id.values() if one.profile)
    # One host has memory and a GPU, unless a usual one has taken its memory; the other may come anywhere.
    assert sum(places.values()) == 2
    assert all(hosts in ((HOSTS[2],), ()) for hosts in places)
    assert places[HOSTS[2],] <= 1


def test_a_host_that_gives_none_of_one_size_is_asked_for_another() -> None:
    world = World(initial_executors=0, placement=PlacementSettings())
    world.start(report=False)
    report = ev.HostsReported(
        hosts=tuple(
            ev.HostReport(host=host, free_memory_mb=mb, resources=GPU, free_resources=GPU)
            for host, mb in zip(HOSTS, (9500, 9000), strict=False)
        )
    )
    world.tell(report)
    world.driver_ready()
    world.tell(target(0, large(1)))
    (silent,) = wanted(world)[0].hosts
    (other,) = {*HOSTS[:2]} - {silent}
    world.tell(ev.PlacementAcknowledged(version=of(UpdatePlacement, world.commands)[-1].version))
    timer = [one for one in of(SetTimer, world.commands) if one.name == SPREAD_TIMER][-1]
    world.fire(timer.name, timer.at_ms)
    world.tell(target(1, large(1)))
    assert [(one.profile, one.hosts) for one in wanted(world)] == [(3, (other,)), (0, (silent,))]


def limited(gpus: tuple[int, ...], *, executors: int) -> World:
    """An attempt with a limit of one executor a host; so many GPUs has each host."""
    world = World(initial_executors=executors, placement=PlacementSettings(max_per_host=1))
    world.start(report=False)
    hosts = [
        ev.HostReport(host=host, free_memory_mb=9000, resources=types, free_resources=types)
        for host, types in zip(HOSTS, ({"yarn.io/gpu": count} for count in gpus), strict=False)
    ]
    world.tell(ev.HostsReported(hosts=tuple(hosts)))
    world.driver_ready()
    return world


def test_under_the_limit_places_are_counted_for_each_size() -> None:
    world = limited((0, 1), executors=1)
    world.run("1", host=HOSTS[1])
    # A host without a GPU has a place, and the only one with a GPU has none.
    assert of(RequestContainers, world.tell(target(1, large(1)))) == []
    assert "1 executor is not asked for: at most 1 may be on one host" in world.warnings[-1]
    answer = world.tell(target(2, large(1)))
    assert only(RequestContainers, answer).profile is None
    assert [one.hosts for one in wanted(world)] == [(HOSTS[0],)]


def test_usual_executors_leave_the_few_hosts_with_a_resource_type_to_those_that_need_it() -> None:
    world = limited((1, 0), executors=0)
    world.tell(target(2, large(1)))
    assert {(one.profile, one.hosts) for one in wanted(world)} == {(3, (HOSTS[0],)), (0, (HOSTS[1],))}
    # The other usual one has no place. It comes when there is one, and nothing is asked for before.
    assert "1 executor is not asked for" in world.warnings[-1]
    world.tell(target(2))
    assert {(one.profile, one.hosts) for one in wanted(world)} == {(0, (HOSTS[0],)), (0, (HOSTS[1],))}


def test_the_usual_size_has_slots_by_cores_and_resources() -> None:
    settings = Settings(
        initial_executors=1, executor_memory_mb=1, executor_vcores=8, task_cpus=2, executor_tasks_max=3
    )  # fmt: skip
    assert Profiles(settings).usual.slots == 3
    assert Profiles(settings).of(9).id == USUAL


def ready(world: World, size: ev.ExecutorProfile | None) -> list[Command]:
    return world.tell(ev.DriverReady(driver_url="spark://CoarseGrainedScheduler@127.0.0.2:1", executor=size))


def test_the_size_that_a_program_sets_replaces_what_was_asked_for_before() -> None:
    world = World(initial_executors=2, executor_memory_mb=1408, executor_heap_mb=1024)
    world.start()
    world.allocate("1")
    answer = ready(world, SET_IN_CODE)
    assert {one.executor_id for one in of(ReleaseContainer, answer)} == {"1", "2"}
    # YARN may start the old ones for a while yet: they do not come to the driver, and the new ones do.
    assert names(answer).index("CloseGate") < names(answer).index("RequestContainers")
    said = "2 containers of 1408 MiB and 1 cores are given back; the job starts sooner with --executor-memory 512m"
    assert said in only(Warn, answer).reason
    (request,) = of(RequestContainers, answer)
    assert (len(request.executor_ids), request.profile and request.profile.heap_mb) == (2, 512)
    assert {(one.memory_mb, one.vcores, one.profile) for one in wanted(world)} == {(896, 2, USUAL)}
    (more,) = of(RequestContainers, world.tell(target(3)))
    assert more.profile == request.profile


def test_a_program_that_sets_the_submitted_size_changes_nothing() -> None:
    world = World(initial_executors=1, executor_memory_mb=1408, executor_heap_mb=1024)
    world.start()
    same = ev.ExecutorProfile(id=USUAL, count=0, memory_mb=1408, heap_mb=1024, cores=1)
    assert not {"ReleaseContainer", "CloseGate", "Warn"} & set(names(ready(world, same)))
    (request,) = of(RequestContainers, world.commands)
    assert request.profile is None


def test_a_size_that_an_earlier_attempt_was_told_is_asked_for_at_once() -> None:
    world = World(initial_executors=2, executor_memory_mb=1408, executor_heap_mb=1024, executor_told=SET_IN_CODE)
    world.start()
    (request,) = of(RequestContainers, world.commands)
    assert request.profile
    assert (request.profile.memory_mb, request.profile.cores) == (896, 2)
    assert {one.memory_mb for one in wanted(world)} == {896}
    assert not {"ReleaseContainer", "CloseGate", "Warn"} & set(names(ready(world, SET_IN_CODE)))
    # The program may have changed: where it sets no size, those go back.
    same = ev.ExecutorProfile(id=USUAL, count=0, memory_mb=1408, heap_mb=1024, cores=1)
    assert only(RequestContainers, ready(world, same)).profile is None


def test_a_resource_type_that_a_program_sets_is_asked_for_beside_those_of_the_submit() -> None:
    world = World(initial_executors=1, executor_memory_mb=896, executor_heap_mb=512, executor_vcores=2,
                  executor_resources={"pen": 2})  # fmt: skip
    world.start()
    (request,) = of(RequestContainers, ready(world, msgspec.structs.replace(SET_IN_CODE, resources=GPU)))
    assert request.profile is not None
    assert [one.resources for one in wanted(world)] == [{"pen": 2, **GPU}] == [request.profile.resources]
    # The next SparkContext names none.
    assert of(RequestContainers, ready(world, SET_IN_CODE))[-1].profile is None


def test_the_cores_of_a_task_that_a_program_sets_change_slots_and_no_container() -> None:
    world = World(initial_executors=1, executor_memory_mb=896, executor_heap_mb=512, executor_vcores=2)
    world.start()
    assert world.negotiator._containers.profiles.usual.slots == 2
    answer = ready(world, msgspec.structs.replace(SET_IN_CODE, slots=1))
    assert not of(ReleaseContainer, answer)
    world.allocate("1")
    world.tell(ev.ContainerStarted(executor_id="1", container_id="c1", host=HOSTS[1], cores=2))
    slots = Slots(world.negotiator._settings, world.negotiator._containers, TaskTable())
    assert (slots.of_new_executor, slots.free()) == (1, {"1": 1})


def test_a_size_set_in_the_code_that_fits_nowhere_is_told() -> None:
    world = World(initial_executors=1, executor_memory_mb=1408, executor_heap_mb=1024)
    world.start()
    world.tell(ev.HostsReported(hosts=(ev.HostReport(host=HOSTS[1], memory_mb=8192, vcores=8),)))
    # The second SparkContext sets another size.
    for memory_mb in (10**5, 10**6):
        ready(world, msgspec.structs.replace(SET_IN_CODE, memory_mb=memory_mb))
        world.tell(target(1))
        needs = f"the size that the program sets (spark.executor.memory, .cores, .resource.*) needs {memory_mb} MiB"
        assert needs in world.warnings[-1]
    wait = [one for one in of(SetTimer, world.commands) if one.name == "resource-wait"][-1]
    assert needs in only(FinishApplication, world.fire(wait.name, wait.at_ms)).reason


@pytest.mark.parametrize("size", [{"memory_mb": 8193}, {"cores": 5}])
def test_a_size_set_in_the_code_above_yarns_largest_container_ends_the_application_at_once(size: Any) -> None:
    world = World(initial_executors=1, largest_container=(8192, 4))
    world.start()
    ready(world, msgspec.structs.replace(SET_IN_CODE, **size))
    end = only(FinishApplication, world.tell(target(1)))
    assert end.exit_code == 6
    assert "YARN's largest container here is 8192 MiB and 4 cores" in end.reason


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.dictionaries(st.integers(1, 3), st.integers(0, 4), max_size=3),
            st.sampled_from(["", "allocate", "start", "lose", "release"]),
            st.integers(0, 10),
        ),
        max_size=25,
    )
)
def test_any_wishes_leave_as_many_executors_as_spark_wants(
    steps: list[tuple[int, dict[int, int], str, int]],
) -> None:
    """Whatever comes and goes: as many of each profile as wanted are there or to come, or more that still run."""
    table = ExecutorTable(Settings(initial_executors=0, executor_memory_mb=1000))
    for count, profiles, what, which in steps:
        table.aim(count)
        table.profiles.aim(
            ev.ExecutorProfile(id=number, count=wants, memory_mb=1000 * number) for number, wants in profiles.items()
        )
        rows = table.rows
        if rows:
            row = rows[which % len(rows)]
            event = {"executor_id": row.executor_id, "container_id": f"c{row.executor_id}", "host": "h"}
            match what:
                case "allocate":
                    other = next(one for one in rows if one.profile == row.profile)
                    table.allocated(ev.ContainerAllocated(**event, wanted_id=other.executor_id))
                case "start":
                    table.started(ev.ContainerStarted(**event, cores=1), 0)
                case "lose":
                    table.lost(ev.ContainerLost(**event, exit_code=1, diagnostics=""))
                case "release":
                    table.release(row.executor_id, "a test")
        table.withdraw_surplus()
        table.ask()
        asked = Counter(one.profile for one in table.asks.wanted)
        for number in (USUAL, 1, 2, 3):
            live = [one for one in table.rows if one.profile == number and one.state != "releasing"]
            least = count if number == USUAL else profiles.get(number, 0)
            assert len(live) >= least
            assert len(live) == least or not any(one.state == "wanted" for one in live)
            # Each request that stands has one ask of its own size.
            assert asked[number] == sum(one.state == "wanted" for one in live)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"memory_mb": 3000}, "it has 3000 MiB, and an executor needs 4096"),
        ({"vcores": 3, "free_vcores": 3}, "it has 3 cores, and an executor needs 4"),
        ({"resources": {}}, "it has no yarn.io/gpu"),
        ({"resources": {"yarn.io/gpu": 0}}, "it has no yarn.io/gpu"),
        ({"labels": ("gpu",)}, "it has the node label gpu, and executors have none"),
        ({"suits": False}, "your constraint does not hold there"),
    ],
)
def test_a_profile_that_no_host_takes_is_a_warning_once(changed: dict[str, Any], why: str) -> None:
    host = ev.HostReport(host=HOSTS[1], memory_mb=9000, vcores=8, resources=GPU)
    without = msgspec.structs.replace(host, host=HOSTS[0], resources={})
    lost = msgspec.structs.replace(host, host=HOSTS[2], state="LOST")
    world = started()
    world.tell(ev.HostsReported(hosts=(msgspec.structs.replace(host, **changed), without, lost)))
    world.tell(target(1, LARGE))
    world.tell(target(1, large(1)))
    (warned,) = [one for one in world.warnings if "resource profile" in one]
    assert warned.startswith(
        "an executor of resource profile 3 needs 4096 MiB, 4 cores, 1 of yarn.io/gpu, and no running host takes one: "
    )
    assert f"{HOSTS[1]}: {why}" in warned or f"{HOSTS[0]}, {HOSTS[1]}: {why}" in warned
    assert warned.endswith("; its tasks wait")
    assert world.tell(ev.HostsReported(hosts=(host, without))) is not None
    world.tell(target(1, msgspec.structs.replace(LARGE, id=4)))
    assert not [one for one in world.warnings if "resource profile 4" in one]


def test_a_profile_whose_only_host_is_blocked_is_a_warning() -> None:
    host = ev.HostReport(host=HOSTS[1], memory_mb=9000, vcores=8, resources=GPU)
    world = started()
    world.tell(ev.HostsReported(hosts=(host, msgspec.structs.replace(host, host=HOSTS[0], resources={}))))
    world.block(HOSTS[1])
    world.tell(target(1, LARGE))
    assert f"{HOSTS[1]}: it is blocked; its tasks wait" in world.warnings[-1]


def test_a_host_with_too_few_of_a_resource_type_is_no_place_for_such_an_executor() -> None:
    world = limited((1, 2, 4), executors=0)
    wish = msgspec.structs.replace(LARGE, count=3, resources={"yarn.io/gpu": 2})
    answer = world.tell(target(0, wish))
    assert {one.hosts for one in wanted(world)} == {(HOSTS[1],), (HOSTS[2],)}
    assert len(only(RequestContainers, answer).executor_ids) == 2
    assert "1 executor is not asked for" in world.warnings[-1]


def test_what_a_host_has_too_little_of_is_said() -> None:
    host = ev.HostReport(host="h", memory_mb=5000, resources={"yarn.io/gpu": 2})
    assert lacks(host, LARGE) == ""
    assert lacks(host, msgspec.structs.replace(LARGE, memory_mb=6000)) == "it has 5000 MiB, and an executor needs 6000"
    few_cores = msgspec.structs.replace(host, vcores=1)
    assert lacks(few_cores, LARGE) == ""
    counted = msgspec.structs.replace(few_cores, free_vcores=0)
    assert lacks(counted, LARGE) == f"it has 1 cores, and an executor needs {LARGE.cores}"
    four = msgspec.structs.replace(LARGE, resources={"yarn.io/gpu": 4})
    assert lacks(host, four) == "it has 2 of yarn.io/gpu, and an executor needs 4"
    assert lacks(ev.HostReport(host="h"), LARGE) == "it has no yarn.io/gpu"
