"""When the tasks of a SparkContext may start: with bounds, by Spark's own rule, and after a driver was lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.world import HOSTS, START_MS, World, hosts, of, only
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import Command, DeclareReady, EnterPhase, FinishApplication, SetTimer
from yarnspec.core.messages.settings import RecoverySettings, ResourcesSettings

S = 1_000
WAIT, RESOURCES = "resource-wait", "resources"


def bounded(least: int, most: int, *, wait_ms: int = 300 * S, recovery: bool = False) -> World:
    resources = ResourcesSettings(min_executors=least, max_executors=most, wait_timeout_ms=wait_ms)
    return World(
        initial_executors=most,
        resources=resources,
        recovery=RecoverySettings(enabled=recovery, driver_restarts=2 if recovery else 0),
    )


def waiting(least: int, most: int, **more: bool) -> World:
    world = bounded(least, most, **more)
    world.start()
    world.driver_ready()
    return world


def phases(commands: list[Command]) -> list[str]:
    return [one.phase for one in of(EnterPhase, commands)]


def is_ready(world: World) -> bool:
    return bool(of(DeclareReady, world.commands))


def test_a_job_starts_at_once_when_all_that_it_can_use_is_there() -> None:
    world = waiting(2, 3)
    assert world.wanted() == ("1", "2", "3")
    world.run("1", "2")
    assert not is_ready(world)
    answer = world.run("3")
    assert "3 executors, sufficient are 2, desired 3" in only(DeclareReady, answer).reason
    assert phases(world.commands) == ["waiting_for_resources", "waiting_for_resources", "creating_graph"]
    assert phases(world.tell(ev.JobStarted(job=0, stages=(0,)))) == ["executing"]


def test_with_the_least_there_it_starts_when_the_stabilization_is_over() -> None:
    world = waiting(2, 4)
    world.run("1")
    world.now_ms = START_MS + 50 * S
    answer = world.run("2")
    assert only(EnterPhase, answer).until_ms == START_MS + 60 * S
    assert only(EnterPhase, answer).waits_for == "more executors"
    assert [one.at_ms for one in of(SetTimer, answer) if one.name == RESOURCES] == [START_MS + 60 * S]
    world.now_ms += 5 * S
    assert not of(SetTimer, world.run("3"))  # one more prolongs nothing
    assert not is_ready(world)
    assert of(DeclareReady, world.fire(RESOURCES, START_MS + 60 * S))


def test_lost_again_within_the_stabilization_the_next_change_begins_a_new_one() -> None:
    world = waiting(2, 4)
    world.run("1", "2")
    world.lose("2", -102)
    world.fire(RESOURCES, START_MS + 10 * S)
    assert not is_ready(world)
    assert only(EnterPhase, [of(EnterPhase, world.commands)[-1]]).waits_for == "at least 2 executors"
    world.now_ms = START_MS + 20 * S
    world.run("3")
    world.fire(RESOURCES, START_MS + 30 * S)
    assert is_ready(world)


def test_below_the_least_the_wait_ends_with_exit_code_6_and_yarns_reason() -> None:
    world = waiting(3, 4)
    world.tell(ev.PendingExplained(reason="queue root.small is over its capacity"))
    world.run("1", "2")
    answer = world.fire(WAIT, START_MS + 300 * S)
    end = only(FinishApplication, answer)
    assert end.exit_code == 6
    assert "only 2 of at least 3 executors came within 300 s" in end.reason
    assert "queue root.small is over its capacity" in end.reason
    assert not is_ready(world)


def test_a_wait_in_vain_says_what_keeps_executors_off_each_host() -> None:
    world = World(initial_executors=2, executor_memory_mb=2048, executor_label="fast")
    world.start(report=False)
    small = ev.HostReport(host=HOSTS[0], memory_mb=1024, labels=("fast",))
    others = [ev.HostReport(host=host, memory_mb=8192) for host in HOSTS[1:3]]
    world.tell(ev.HostsReported(hosts=(small, *others)))
    world.driver_ready()
    end = only(FinishApplication, world.fire(WAIT, START_MS + 300 * S))
    assert (
        "an executor needs 2048 MiB, 1 cores, and no running host takes one: "
        f"{HOSTS[1]}, {HOSTS[2]}: it does not have the node label fast; "
        f"{HOSTS[0]}: it has 1024 MiB, and an executor needs 2048"
    ) in end.reason


def test_when_the_wait_is_over_the_least_is_enough() -> None:
    world = waiting(2, 4)
    world.now_ms = START_MS + 295 * S
    world.run("1", "2")
    assert of(DeclareReady, world.fire(WAIT, START_MS + 300 * S))


def test_executors_on_blocked_hosts_do_not_count() -> None:
    world = waiting(2, 2)
    world.run("1")
    world.block(HOSTS[2])
    world.run("2", host=HOSTS[2])
    assert not is_ready(world)
    world.tell(ev.UnblockRequested(host=HOSTS[2], by="user"))
    assert is_ready(world)


def test_after_the_start_one_executor_is_enough_to_go_on() -> None:
    world = waiting(2, 2)
    world.run("1", "2")
    assert is_ready(world)
    world.lose("1", -102)
    world.now_ms += 1_000 * S
    assert not [one for one in of(SetTimer, world.lose("3", -102)) if one.name == WAIT]
    assert world.view().phase == "executing"


def test_the_next_driver_goes_on_with_sufficient_executors_and_does_not_stabilize_again() -> None:
    world = waiting(2, 4, recovery=True)
    world.tell(rec.JournalReplayed())
    world.run(*world.wanted())
    world.commands.clear()
    world.tell(ev.JobStarted(job=0, stages=(0,)))
    world.tell(ev.DriverLost(exit_code=134, reason="SIGABRT"))
    assert phases(world.commands) == ["executing", "restarting"]
    world.tell(rec.JournalReplayed())
    world.driver_ready()
    first, second = world.wanted()[:2]
    world.run(first)
    assert not is_ready(world)
    world.run(second)
    assert is_ready(world)
    assert phases(world.commands)[-1] == "creating_graph"


def test_so_does_the_next_attempt() -> None:
    world = bounded(2, 4)
    world.tell(
        ev.AttemptStarted(
            application_id="application_1_0001", attempt=2, epoch=4, container_id="c", host=HOSTS[0],
            placement_mode="blacklist",
        )
    )  # fmt: skip
    world.tell(hosts())
    world.driver_ready()
    world.run(*world.wanted()[:2])
    assert is_ready(world)


def test_a_plain_line_starts_when_spark_would() -> None:
    world = World(initial_executors=10)
    world.start()
    world.driver_ready()
    world.run(*world.wanted()[:7])
    assert not is_ready(world)
    answer = world.run(world.wanted()[7])
    assert is_ready(world)
    assert of(DeclareReady, answer)

    world = World(initial_executors=10)
    world.start()
    world.now_ms += 7 * S
    world.driver_ready()
    world.fire(RESOURCES, START_MS + 37 * S)
    assert is_ready(world)


def test_a_job_that_has_begun_waits_no_more() -> None:
    """A program may set another share of executors in its code, and Spark starts by that."""
    world = World(initial_executors=10)
    world.start()
    world.driver_ready()
    world.run(*world.wanted()[:3])
    told = of(EnterPhase, world.commands)[-1]
    assert (told.phase, told.sufficient, told.desired) == ("waiting_for_resources", 0, 8)
    (told,) = of(EnterPhase, world.tell(ev.JobStarted(job=0, stages=(0,))))
    assert (told.phase, told.sufficient, told.desired) == ("executing", 0, 0)


def test_with_dynamic_allocation_what_spark_wants_first_is_desired() -> None:
    resources = ResourcesSettings(min_executors=1, max_executors=8)
    world = World(initial_executors=2, resources=resources)
    world.start()
    world.driver_ready()
    world.run("1", "2")
    assert is_ready(world)


@given(
    st.integers(1, 4),
    st.integers(0, 3),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["run", "lose", "time"])), max_size=40),
)
def test_the_wait_always_ends_within_its_time_and_never_starts_below_the_least(
    least: int, more: int, history: list[tuple[int, str]]
) -> None:
    """However executors come and go: a start, or exit code 6. Timers of what is over change nothing."""
    world = waiting(least, least + more)
    timers: dict[str, int] = {one.name: one.at_ms for one in of(SetTimer, world.commands)}
    running: list[str] = []

    def done() -> bool:
        return bool(of(DeclareReady, world.commands) or of(FinishApplication, world.commands))

    def pass_time(until_ms: int) -> None:
        while not done():
            due = {name: at_ms for name, at_ms in timers.items() if at_ms <= until_ms}
            if not due:
                break
            name = min(due, key=lambda one: due[one])
            at_ms = timers.pop(name)
            answer = world.fire(name, at_ms)
            timers.update({one.name: one.at_ms for one in of(SetTimer, answer)})
        if not done():
            world.now_ms = until_ms

    for pause_s, what in history:
        pass_time(world.now_ms + pause_s * S)
        if done():
            break
        answer: list[Command] = []
        to_come = [row.executor_id for row in world.negotiator._containers.rows if row.state == "wanted"]
        if what == "run" and to_come:
            running.append(to_come[0])
            answer = world.run(running[-1])
        elif what == "lose" and running:
            answer = world.lose(running.pop(), -102)
        timers.update({one.name: one.at_ms for one in of(SetTimer, answer)})
    pass_time(START_MS + 300 * S)
    assert done()
    assert world.now_ms <= START_MS + 300 * S
    if of(DeclareReady, world.commands):
        assert len(world.negotiator._containers.running()) >= least
