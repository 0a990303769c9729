"""The status fold: what a list of records says about an application."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.observe.messages import messages
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.observe.forms.document import ProfileStatus, StatusDocument
from yarnspec.observe.forms.records import Record, record_of
from yarnspec.observe.status.status_fold import About, StatusFold, fold

APP = "application_1_0001"
AM = "container_1_0001_01_000001"
FIRST = "container_1_0001_01_000002"


def records(*logged: Event | Command, epoch: int = 1) -> list[Record]:
    return [record_of(one, seq=seq, time_ms=1000 + seq, epoch=epoch) for seq, one in enumerate(logged, start=1)]


def status(*logged: Event | Command) -> StatusDocument:
    return fold(APP, records(*logged))


def attempt(number: int = 1, host: str = "127.0.0.2") -> events.AttemptStarted:
    return events.AttemptStarted(
        application_id=APP,
        attempt=number,
        epoch=number,
        container_id=AM.replace("_01_", f"_0{number}_"),
        host=host,
        placement_mode="blacklist",
    )


READY = events.DriverReady(driver_url="spark://h:1", ui_url="http://h:4040")
STARTED = events.ContainerStarted(executor_id="1", container_id=FIRST, host="127.0.0.4")
BLOCK = commands.BlockHost(reason="slow disk", host="127.0.0.3", until_ms=9000, by="me")


def task(index: int, state: str, attempt_number: int = 0) -> events.TaskFinished:
    return events.TaskFinished(
        stage=0,
        stage_attempt=0,
        index=index,
        attempt=attempt_number,
        task_id=index,
        executor_id="1",
        host="h",
        state=state,
        launch_ms=0,
        finish_ms=1,
    )


@given(st.lists(messages, max_size=30), st.integers(1, 3))
def test_no_records_make_it_raise_and_every_prefix_can_be_shown(logged: list[Event | Command], epoch: int) -> None:
    state = StatusFold(APP)
    for record in records(*logged, epoch=epoch):
        state.apply(record)
        document = state.document(About(name="n"), warnings=["w"])
        assert msgspec.json.decode(msgspec.json.encode(document), type=StatusDocument) == document
        ids = [container.id for container in document.containers]
        assert len(ids) == len(set(ids))
        assert document.tasks.finished <= document.tasks.total


def test_an_application_that_runs() -> None:
    document = status(
        attempt(),
        events.DriverStarted(pid=1),
        READY,
        events.TargetExecutorsChanged(count=2),
        events.ContainerAllocated(executor_id="1", container_id=FIRST, host="127.0.0.4"),
        STARTED,
        events.PendingExplained(reason="the queue is full"),
    )
    assert (document.state, document.phase, document.attempt, document.epoch) == ("RUNNING", "executing", 1, 1)
    assert [(one.id, one.host, one.role, one.state) for one in document.containers] == [
        (AM, "127.0.0.2", "am", "RUNNING"),
        (FIRST, "127.0.0.4", "executor", "RUNNING"),
    ]
    assert (document.running_containers, document.wanted_containers) == (1, 2)
    assert document.pending_reason == "the queue is full"
    assert document.links.spark_ui == "http://h:4040"


def test_sparks_page_is_linked_through_yarns_proxy() -> None:
    about = About(resource_manager_url=f"http://rm:8088/cluster/app/{APP}")
    document = fold(APP, records(attempt(), events.DriverStarted(pid=1), READY), about)
    assert document.links.spark_ui == f"http://rm:8088/proxy/{APP}/"


def test_phases_follow_each_other() -> None:
    logged: list[Event | Command] = [
        attempt(),
        events.DriverStarted(pid=1),
        READY,
        events.TargetExecutorsChanged(count=1),
        STARTED,
        events.DriverStopping(),
        commands.FinishApplication(reason="done", status="SUCCEEDED", exit_code=0),
        events.ContainerLost(executor_id="1", container_id=FIRST, host="127.0.0.4", exit_code=0),
    ]
    phases = [status(*logged[:length]).phase for length in range(1, len(logged) + 1)]
    assert phases == [
        "starting", "starting", "executing", "waiting", "executing", "finishing", "finishing", "ended"
    ]  # fmt: skip


def test_executors_of_other_sizes_count_and_are_told_apart() -> None:
    profile = events.ExecutorProfile(id=3, count=2, memory_mb=2048)
    document = status(
        attempt(),
        READY,
        events.TargetExecutorsChanged(count=1, profiles=(profile,)),
        commands.RequestContainers(reason="a test", executor_ids=("1",), profile=profile),
        STARTED,
    )
    assert document.wanted_containers == 3
    assert [(one.executor_id, one.profile) for one in document.containers] == [(None, 0), ("1", 3)]
    assert [(one.id, one.wanted, one.memory_mb) for one in document.profiles] == [(3, 2, 2048)]


def test_a_container_keeps_the_rule_by_which_it_was_asked_for() -> None:
    wanted = commands.WantedContainer(id="1", memory_mb=1, vcores=1, hosts=("127.0.0.4",), strict=True, rule="spread")
    logged: list[Event | Command] = [
        attempt(),
        READY,
        commands.UpdatePlacement(reason="a test", version=1, blocked_hosts=(), wanted=(wanted,)),
        events.ContainerAllocated(executor_id="1", container_id=FIRST, host="127.0.0.4"),
    ]
    assert [(one.rule, one.state) for one in status(*logged).containers] == [("", "RUNNING"), ("spread", "ALLOCATED")]
    assert [(one.rule, one.state) for one in status(*logged, STARTED).containers][1] == ("spread", "RUNNING")


def test_the_options_of_placement_are_those_of_the_newest_attempt() -> None:
    held = events.PlacementInEffect(spread=True, spread_wait_ms=4_000, max_per_host=2, label="gpu")
    told = msgspec.structs.replace(attempt(), placement=held)
    assert (status(attempt()).placement, status(told).placement) == (None, held)


def test_the_usual_size_is_the_one_that_the_program_sets() -> None:
    size = events.ExecutorProfile(id=0, count=0, memory_mb=2000, cores=2, slots=2)
    logged = [attempt(), msgspec.structs.replace(READY, executor=size), events.TargetExecutorsChanged(count=4)]
    assert status(attempt()).usual_executor is None
    told = status(*logged).usual_executor
    assert told == ProfileStatus(id=0, wanted=4, memory_mb=2000, cores=2, slots=2)


def test_a_profile_is_told_as_long_as_an_executor_has_it() -> None:
    profile = events.ExecutorProfile(id=3, count=1, memory_mb=2048)
    wanted = commands.WantedContainer(id="1", memory_mb=2048, vcores=1, profile=3)
    logged: list[Event | Command] = [
        attempt(),
        READY,
        events.TargetExecutorsChanged(count=1, profiles=(profile,)),
        commands.UpdatePlacement(reason="a test", version=1, blocked_hosts=(), wanted=(wanted,)),
        commands.RequestContainers(reason="a test", executor_ids=("1",), profile=profile),
    ]
    assert [(one.profile, one.containers) for one in status(*logged).asks] == [(3, 1)]
    logged += [STARTED, events.TargetExecutorsChanged(count=1)]
    assert [(one.id, one.wanted) for one in status(*logged).profiles] == [(3, 0)]
    logged.append(events.ContainerLost(executor_id="1", container_id=FIRST, host="127.0.0.4", exit_code=0))
    assert status(*logged).profiles == ()


def test_a_reason_for_waiting_is_gone_when_nothing_is_waited_for() -> None:
    waiting = [attempt(), events.TargetExecutorsChanged(count=1), events.PendingExplained(reason="full")]
    assert status(*waiting).pending_reason == "full"
    assert status(*waiting, STARTED).pending_reason == ""


def test_blocked_hosts_with_reason_and_end() -> None:
    blocked = status(attempt(), BLOCK)
    assert [(one.host, one.reason, one.until_ms) for one in blocked.blocked_hosts] == [("127.0.0.3", "slow disk", 9000)]
    assert not blocked.am_on_blocked_host
    assert status(attempt(), BLOCK, commands.UnblockHost(reason="over", host="127.0.0.3")).blocked_hosts == ()


def test_the_application_master_on_a_blocked_host_is_a_warning() -> None:
    document = status(attempt(host="127.0.0.3"), BLOCK)
    assert document.am_on_blocked_host
    assert "blocked host" in document.warnings[0]


def test_a_lost_container_stays_with_its_exit_code() -> None:
    lost = events.ContainerLost(
        executor_id="1", container_id=FIRST, host="127.0.0.4", exit_code=137, diagnostics="Killed"
    )
    document = status(attempt(), STARTED, lost, STARTED)
    (executor,) = [one for one in document.containers if one.role == "executor"]
    assert (executor.state, executor.exit_code, executor.diagnostics) == ("COMPLETE", 137, "Killed")
    assert document.running_containers == 0


def test_an_executor_that_registers_before_its_allocation_is_heard_of_runs() -> None:
    early = events.ContainerStarted(executor_id="1", container_id="", host="127.0.0.4", cores=2)
    allocated = events.ContainerAllocated(executor_id="1", container_id=FIRST, host="127.0.0.4")
    document = status(attempt(), early, allocated)
    (executor,) = [one for one in document.containers if one.role == "executor"]
    assert (executor.id, executor.state, executor.cores) == (FIRST, "RUNNING", 2)
    assert document.running_containers == 1


def test_a_dropped_container_is_counted_and_not_listed() -> None:
    document = status(attempt(), events.ContainerDropped(container_id=FIRST, host="127.0.0.3"))
    assert (document.dropped_containers, len(document.containers)) == (1, 1)


def test_tasks_count_once_for_each_partition() -> None:
    stage = events.StageStarted(stage=0, stage_attempt=0, name="count", tasks=3)
    document = status(
        stage, task(0, "SUCCESS"), task(0, "SUCCESS", 1), task(1, "FAILED"), task(2, "KILLED"), task(9, "SUCCESS")
    )
    (shown,) = document.stages
    assert (shown.finished, shown.failed, shown.tasks, shown.state) == (1, 1, 3, "RUNNING")
    assert (document.tasks.finished, document.tasks.total) == (1, 3)
    ended = status(stage, task(0, "SUCCESS"), events.StageFinished(stage=0, stage_attempt=0, failure="no"))
    assert (ended.stages[0].state, ended.tasks.total) == ("FAILED", 1)


def test_warnings_come_once() -> None:
    warned = commands.Warn(reason="the program sets spark.master")
    refused = commands.RefuseBlock(reason="at most 1 host is blocked", host="127.0.0.4")
    earlier = commands.RefuseBlock(reason="at most 2 hosts are blocked", host="127.0.0.4")
    lost = commands.Warn(reason="observations were lost", times=7)
    asking = [commands.Warn(reason=f"asking failed: {why}", about="asking") for why in ("no route", "refused")]
    document = fold(APP, records(warned, earlier, warned, lost, *asking, refused))
    blocked = "not blocked: 127.0.0.4: at most 1 host is blocked"
    assert document.warnings == (
        "the program sets spark.master",
        "observations were lost",
        "asking failed: refused",
        blocked,
    )
    counts = {"the program sets spark.master": 2, "observations were lost": 7, "asking failed: refused": 2, blocked: 2}
    assert document.warning_counts == counts


def test_how_it_ended() -> None:
    document = status(
        attempt(), commands.FinishApplication(reason="ValueError", status="FAILED", exit_code=1, diagnostics="line 3")
    )
    assert (document.state, document.ended) == ("FAILED", True)
    assert document.final is not None
    assert (document.final.exit_code, document.final.reason) == (1, "ValueError")


def test_a_second_attempt_begins_anew_and_keeps_what_was_placed() -> None:
    first = records(attempt(), READY, events.TargetExecutorsChanged(count=1), STARTED, BLOCK)
    second = records(msgspec.structs.replace(attempt(2), attempt_before="exit code 137: killed"), epoch=2)
    document = fold(APP, [*first, *second])
    assert (document.attempt, document.epoch, document.phase, document.wanted_containers) == (2, 2, "starting", 0)
    assert document.warnings == ("application attempt 1 was lost: exit code 137: killed",)
    given_up = records(commands.AbandonAttempt(exit_code=9, reason="the driver was lost", diagnostics=""))
    told = fold(APP, [*first, *given_up, *second]).warnings
    assert told == ("application attempt 1 was given up: the driver was lost",)
    assert [(one.attempt, one.role, one.state) for one in document.containers] == [
        (1, "am", "COMPLETE"),
        (1, "executor", "COMPLETE"),
        (2, "am", "RUNNING"),
    ]


def test_what_the_caller_knows_is_in_the_document() -> None:
    about = About(name="etl", user="me", queue="root.a", resource_manager_url="http://rm/app")
    document = fold(APP, records(attempt()), about)
    assert (document.name, document.user, document.queue) == ("etl", "me", "root.a")
    assert document.links.resource_manager == "http://rm/app"


AGAIN = commands.BeginEpoch(epoch=2, restart=1, reason="the driver of epoch 1 was lost; it is started again")


def test_a_driver_that_is_started_again_is_told_with_one_warning_and_begins_its_stages_anew() -> None:
    stage = events.StageStarted(stage=0, stage_attempt=0, name="count", tasks=4)
    lost = events.DriverLost(exit_code=-9, reason="killed")
    before = (attempt(), READY, STARTED, stage, task(0, "SUCCESS"), lost)
    document = fold(APP, [*records(*before), *records(AGAIN, epoch=2)])
    assert (document.attempt, document.epoch, document.phase) == (1, 2, "starting")
    assert document.driver_restarts is not None
    assert (document.driver_restarts.count, document.driver_restarts.why) == (1, AGAIN.reason)
    assert document.warnings == (AGAIN.reason,)
    assert (document.stages, document.tasks.finished) == ((), 0)
    # Its executors end by themselves, one after the other.
    assert [one.state for one in document.containers if one.role == "executor"] == ["RUNNING"]
    assert fold(APP, [*records(*before, AGAIN), *records(attempt(2), epoch=6)]).driver_restarts is None


def test_what_was_refused_of_epochs_that_were_over_adds_up_over_all_of_them() -> None:
    first = [*records(attempt(), EpochRefused(epoch=1, refused={"messages": 1}), AGAIN)]
    assert fold(APP, first).refused == {"messages": 1}
    more = [EpochRefused(epoch=1, refused={"messages": 3}), EpochRefused(epoch=1, refused={"records": 7})]
    # The next attempt tells at first what it knows of the ones before, and what their masters leave word of.
    second = records(*more, attempt(2), EpochRefused(epoch=2, refused={"messages": 2}), epoch=6)
    assert fold(APP, [*first, *second]).refused == {"messages": 5, "records": 7}
