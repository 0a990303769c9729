"""What holds whatever happens, in whatever order."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.core.shufflehistories import shuffle_events
from tests.core.view import view_of
from tests.core.world import HOSTS, START_MS, World, of
from tests.core.world import settings as core_settings
from tests.core.writehistories import write_events
from yarnspec.core.blocking.blocklist import SUBMIT
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec
from yarnspec.core.messages.commands import (
    AbandonAttempt,
    AskHeldBlocks,
    BeginEpoch,
    BlockHost,
    Command,
    FinishApplication,
    RequestContainers,
    SetTimer,
    StartDriver,
    UnblockHost,
    UpdatePlacement,
    UpdateTaskBlocks,
)
from yarnspec.core.messages.observations import ObservationsBuilder, RowKind
from yarnspec.core.messages.settings import BlockSettings, RecoverySettings
from yarnspec.core.negotiator import Negotiator

ENDS = (FinishApplication, AbandonAttempt)
SHARE = 0.5

host_names = st.sampled_from([*HOSTS, "127.0.0.99", ""])
executor_ids = st.sampled_from([str(n) for n in range(8)] + ["100001", "x", ""])
container_ids = st.sampled_from(["", *(f"c{n}" for n in range(4))])
exit_codes = st.sampled_from([0, 1, 137, 143, -100, -101, -102, -104, -105, -1000])
states = st.sampled_from(["RUNNING", "RUNNING", "RUNNING", "LOST", "SHUTDOWN", "UNHEALTHY", "?"])
profiles = st.lists(
    st.builds(ev.ExecutorProfile, id=st.integers(1, 3), count=st.integers(0, 3), memory_mb=st.just(2048)),
    max_size=2,
    unique_by=lambda one: one.id,
).map(tuple)
local_tasks = st.lists(
    st.builds(
        ev.LocalTasks,
        profile=st.integers(0, 3),
        tasks=st.integers(0, 9),
        total=st.integers(0, 9),
        hosts=st.dictionaries(st.sampled_from(HOSTS), st.integers(0, 5)),
    ),
    max_size=2,
).map(tuple)
timer_names = st.sampled_from(
    [
        "resource-wait",
        "replacement-backoff",
        "hosts-wait",
        "judge-tasks",
        "journal-replay",
        "recovery-window",
        "driver-restart",
        "left-over-executors",
        "x",
        "removed:1",
        *(f"block:{h}" for h in HOSTS),
    ]
)
durations_ms = st.none() | st.integers(-1, 100_000)
small = st.integers(-2, 6)
times_ms = st.integers(-5, 400_000)
reports = st.builds(
    ev.HostsReported,
    hosts=st.lists(
        st.builds(ev.HostReport, host=host_names, rack=st.just("/r"), state=states, memory_mb=small, vcores=small)
    ).map(tuple),
)
block_requests = st.builds(
    ev.BlockRequested,
    host=host_names,
    reason=st.just("slow"),
    by=st.sampled_from(["user", SUBMIT, "detector"]),
    duration_ms=durations_ms,
    force=st.booleans(),
    automatic=st.booleans(),
)
starts = st.builds(
    ev.AttemptStarted,
    application_id=st.just("application_1_0001"),
    attempt=st.integers(1, 2),
    epoch=st.integers(1, 3),
    container_id=st.just("c0"),
    host=host_names,
    placement_mode=st.sampled_from(["blacklist", "constraints"]),
)
tasks = st.builds(
    ev.TaskFinished,
    stage=small,
    stage_attempt=small,
    index=small,
    attempt=small,
    task_id=small,
    executor_id=executor_ids,
    host=host_names,
    state=st.sampled_from(["FINISHED", "FAILED", "KILLED", ""]),
    launch_ms=times_ms,
    finish_ms=times_ms,
    failure=st.text(max_size=3),
)
text = st.text(max_size=10)
row_kinds = st.sampled_from(list(RowKind))
rows = st.lists(
    st.fixed_dictionaries(
        {
            "kind": row_kinds,
            "time_ms": times_ms.map(lambda ms: START_MS + ms),
            "stage": st.integers(-1, 2),
            "stage_attempt": st.integers(0, 1),
            "index": st.integers(-1, 4),
            "attempt": st.integers(-1, 2),
            "task_id": st.integers(-1, 12),
            "host": host_names,
            "executor": executor_ids,
            "speculative": st.integers(-1, 1),
            "state": st.integers(-1, 3),
            "failure": st.integers(-1, 7),
            "launch_ms": st.just(-1) | times_ms.map(lambda ms: START_MS + ms),
            "finish_ms": st.just(-1) | times_ms.map(lambda ms: START_MS + ms),
            "tasks": st.integers(-1, 6),
            "flags": st.integers(-1, 63),
        }
    ),
    max_size=12,
)


def batch(of_rows: list[dict[str, Any]]) -> ev.Observed:
    builder = ObservationsBuilder()
    for row in of_rows:
        builder.add(row["kind"], **{name: value for name, value in row.items() if name != "kind"})
    return ev.Observed(rows=builder.take())


observed = rows.map(batch)
cluster_blocks = st.builds(
    ev.ClusterBlock,
    host=host_names,
    reason=st.just("disk"),
    by=st.just("admin"),
    since_ms=times_ms,
    until_ms=st.none() | times_ms.map(lambda ms: START_MS + ms),
)
some_ids = st.lists(executor_ids, max_size=4).map(tuple)

# Most of a random history should happen inside an attempt that has not ended.
middle_events: st.SearchStrategy[ev.Event] = st.one_of(
    reports,
    block_requests,
    st.builds(ev.UnblockRequested, host=host_names, by=text),
    st.builds(ev.HostExcluded, host=host_names, failures=small),
    st.builds(ev.HostUnexcluded, host=host_names),
    st.builds(ev.DriverStarted, pid=small),
    st.builds(ev.DriverReady, driver_url=text, dynamic_bounds=st.sampled_from([None, (0, 0), (1, 4)])),
    st.builds(ev.DriverStopping),
    st.builds(ev.DriverLost, exit_code=small, reason=text),
    st.builds(ev.TargetExecutorsChanged, count=small, profiles=profiles, local_tasks=local_tasks),
    st.builds(ev.ScaleRequested, least=st.integers(0, 4), most=st.integers(0, 5), by=text, force=st.booleans()),
    st.builds(ev.ExecutorsUnwanted, executor_ids=some_ids),
    st.builds(ev.ExecutorsDecommissioned, executor_ids=some_ids),
    st.builds(
        ev.ContainerAllocated,
        executor_id=executor_ids,
        container_id=container_ids,
        host=host_names,
        wanted_id=executor_ids,
    ),
    st.builds(ev.RequestFailed, executor_ids=some_ids, message=text),
    st.builds(ev.ContainerStarted, executor_id=executor_ids, container_id=container_ids, host=host_names, cores=small),
    st.builds(ev.ContainerDropped, container_id=container_ids, host=host_names),
    st.builds(
        ev.ContainerLost,
        executor_id=executor_ids,
        container_id=container_ids,
        host=host_names,
        exit_code=exit_codes,
        diagnostics=text,
    ),
    st.builds(ev.ExecutorRemoved, executor_id=executor_ids, reason=text),
    st.builds(ev.ContainersPreempted, container_ids=st.lists(container_ids).map(tuple), strict=st.booleans()),
    st.builds(ev.FeedLagged, count=small),
    st.builds(ev.PlacementAcknowledged, version=small),
    st.builds(ev.ResourceManagerReconnected),
    st.builds(ev.ProblemNoticed, message=text),
    st.builds(ev.PendingExplained, reason=text),
    st.builds(ev.StageStarted, stage=small, stage_attempt=small, name=text, tasks=small),
    st.builds(ev.StageFinished, stage=small, stage_attempt=small, failure=text),
    tasks,
    observed,
    st.builds(ev.JobStarted, job=small, stages=st.lists(small, max_size=3).map(tuple)),
    st.builds(ev.JobEnded, job=small),
    st.builds(ev.CopyRefused, stage=small, stage_attempt=small, index=small, why=text),
    st.builds(ev.HeldBlocksTold, executor_id=executor_ids, count=small | st.just(ev.ONLY_MAP_OUTPUTS)),
    st.builds(ev.ClusterBlocksRead, blocks=st.lists(cluster_blocks, max_size=3).map(tuple)),
    st.builds(ev.ProgramWarned, key=text, value=text, message=text),
    st.builds(ev.TimerFired, name=timer_names, at_ms=times_ms.map(lambda ms: START_MS + ms)),
    shuffle_events,
    write_events,
)
last_events: st.SearchStrategy[ev.Event] = st.one_of(
    starts,
    st.builds(ev.DriverFinished, exit_code=small, reason=text, traceback=text),
    st.builds(ev.DriverLost, exit_code=small, reason=text),
)
histories = st.tuples(
    st.lists(middle_events, max_size=4),
    starts,
    st.lists(middle_events, max_size=30),
    st.lists(last_events | middle_events, max_size=4),
).map(lambda parts: [*parts[0], parts[1], *parts[2], *parts[3]])
settings_of_core = st.builds(
    core_settings,
    initial_executors=st.integers(0, 4),
    excluded_hosts=st.lists(host_names, max_size=3).map(tuple),
    force_excluded=st.booleans(),
    resource_wait_ms=st.sampled_from([0, 1_000, 300_000]),
    max_executor_failures=st.sampled_from([None, 0, 2]),
    decommissions=st.booleans(),
    recovery=st.builds(
        RecoverySettings,
        enabled=st.booleans(),
        off=st.sampled_from(["", "encrypted"]),
        driver_restarts=st.integers(0, 3),
    ),
)


def test_every_event_of_the_core_takes_part() -> None:
    """So that an event that is added is not forgotten here."""
    named = {kind.__name__ for kind in ev.Event.__subclasses__()}
    seen = {"AttemptStarted", "DriverFinished"}
    assert named - seen == {
        "HostsReported", "BlockRequested", "UnblockRequested", "HostExcluded", "HostUnexcluded", "DriverStarted",
        "DriverReady", "DriverStopping",
        "TargetExecutorsChanged", "ExecutorsUnwanted", "ExecutorsDecommissioned", "ContainerAllocated", "RequestFailed",
        "ContainerStarted",
        "DriverLost", "ContainerDropped", "ContainerLost", "PlacementAcknowledged", "ResourceManagerReconnected",
        "ProblemNoticed",
        "PendingExplained", "StageStarted", "StageFinished", "AttemptsStarted", "TaskFinished", "ProgramWarned",
        "TimerFired",
        "ExecutorRemoved", "ScaleRequested", "ContainersPreempted", "FeedLagged", "Observed", "JobStarted", "JobEnded",
        "CopyRefused",
        "ClusterBlocksRead", "JournalReplayed", "RecordingEnded", "SavedUnreadable", "ShuffleDeclared",
        "ShuffleRestored", "ShuffleForgotten", "RecordingStopped", "MapOutputsRecorded", "OutputsDurable",
        "OutputsReported", "OutputsKept",
        "AdoptionOff", "LiveAdoptionBegan", "LiveAdoptionEnded",
        "HeldBlocksTold", "WritesAsked", "WriteResolved", "WriteDeclared", "WriteMissing",
        "WriteBeginning", "WriteClearing", "WriteDeleting", "WriteCommitBeginning", "WriteAborting", "WriteFinished",
        "WriteRefused", "InputRead", "Unrecorded", "EpochRefused",
    }  # fmt: skip


def check_shape(commands: list[Command]) -> None:
    """What holds for every answer by itself."""
    kinds = [type(command) for command in commands]
    assert all(command.reason.strip() for command in commands)
    assert kinds.count(UpdatePlacement) <= 1
    requests = of(RequestContainers, commands)
    assert len({one.profile and one.profile.id for one in requests}) == len(requests)
    ends = [n for n, kind in enumerate(kinds) if issubclass(kind, ENDS)]
    assert ends in ([], [len(kinds) - 1])
    if RequestContainers in kinds:
        assert kinds.index(UpdatePlacement) < kinds.index(RequestContainers)
        (placement,) = of(UpdatePlacement, commands)
        wanted = {one.id: one.profile for one in placement.wanted}
        for request in requests:
            assert request.executor_ids
            profile = request.profile.id if request.profile else 0
            assert all(wanted.get(executor_id) == profile for executor_id in request.executor_ids)
    for placement in of(UpdatePlacement, commands):
        blocked = set(placement.blocked_hosts)
        assert not any(blocked & set(one.hosts) for one in placement.wanted)


@settings(max_examples=400)
@given(settings_of_core, histories, st.lists(times_ms, min_size=40, max_size=40))
def test_no_history_raises_and_the_same_history_gives_the_same_commands(
    core: object, history: list[ev.Event], clock: list[int]
) -> None:
    assert isinstance(core, type(core_settings()))
    first, second = Negotiator(core), Negotiator(core)
    requested: list[str] = []
    ended = False
    for event, at_ms in zip(history, clock, strict=False):
        answer = first.handle(event, START_MS + at_ms)
        assert answer == second.handle(event, START_MS + at_ms)
        assert view_of(first) == view_of(second)
        assert not view_of(first).stopped
        check_shape(answer)
        assert not (ended and answer)
        ended = ended or any(isinstance(command, ENDS) for command in answer)
        requested += [executor_id for one in of(RequestContainers, answer) for executor_id in one.executor_ids]
    assert len(requested) == len(set(requested))


class Cluster(RuleBasedStateMachine):
    """A cluster that behaves: containers come and go, hosts come and go, timers fire when they are due."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(
            initial_executors=3,
            blocked_share=SHARE,
            blocks=BlockSettings(faulty_duration_ms=20_000),
            recovery=RecoverySettings(enabled=True, driver_restarts=5),
        )
        self.epoch = 1
        self.requested: set[str] = set()
        self.timers: dict[str, int] = {}
        self.hosts: dict[str, str] = dict.fromkeys(HOSTS, "RUNNING")
        self.versions = 0
        self.asked: list[str] = []
        self.taskless: set[str] = set()
        self.ready = False
        self.ended = False

    def tell(self, event: ev.Event) -> list[Command]:
        answer = self.world.tell(event)
        check_shape(answer)
        assert not (self.ended and answer)
        for command in answer:
            if isinstance(command, SetTimer):
                assert command.at_ms >= self.world.now_ms
                self.timers[command.name] = command.at_ms
            elif isinstance(command, RequestContainers):
                assert self.requested.isdisjoint(command.executor_ids)
                self.requested.update(command.executor_ids)
            elif isinstance(command, AskHeldBlocks):
                self.asked.append(command.executor_id)
            elif isinstance(command, UpdateTaskBlocks):
                self.taskless = set(command.executors)
            elif isinstance(command, UpdatePlacement):
                self.versions += 1
                assert command.version == self.versions
            elif isinstance(command, BeginEpoch):
                self.epoch += 1
                assert command.epoch == self.epoch
            elif isinstance(command, ENDS):
                self.ended = True
        if of(BeginEpoch, answer):
            self.journal_is_read()
        return answer

    def journal_is_read(self) -> None:
        """As soon as it is asked for; each epoch has finished something."""
        earlier = tuple(range(1, self.epoch))
        answer = self.tell(rec.JournalReplayed(epochs=earlier, progress=self.epoch - 1))
        assert [one.epoch for one in of(StartDriver, answer)] == ([self.epoch] if earlier else [])

    def ids(self, *states_: str) -> list[str]:
        return [one.executor_id for one in self.world.view().containers if one.state in states_]

    def running_hosts(self) -> set[str]:
        return {host for host, state in self.hosts.items() if state == "RUNNING"}

    def blocked(self) -> set[str]:
        return {block.host for block in self.world.view().blocked_hosts}

    def report(self) -> list[Command]:
        return self.tell(
            ev.HostsReported(hosts=tuple(ev.HostReport(host=host, state=state) for host, state in self.hosts.items()))
        )

    @initialize()
    def begin(self) -> None:
        self.tell(
            ev.AttemptStarted(
                application_id="a", attempt=1, epoch=1, container_id="c0", host=HOSTS[0], placement_mode="blacklist"
            )
        )
        self.report()
        self.journal_is_read()

    @rule(
        host=st.sampled_from(HOSTS),
        duration_ms=st.none() | st.integers(1, 60_000),
        force=st.booleans(),
        automatic=st.booleans(),
    )
    def block(self, host: str, duration_ms: int | None, force: bool, automatic: bool) -> None:
        before = self.blocked()
        wish = ev.BlockRequested(
            host=host, reason="slow", by="someone", duration_ms=duration_ms, force=force, automatic=automatic
        )
        done = of(BlockHost, self.tell(wish))
        if done and host not in before:
            after = before | {host}
            assert self.running_hosts() - after, "a host is left"
            if automatic or not force:
                assert len((before & self.running_hosts()) | {host}) <= max(1, int(SHARE * len(self.running_hosts())))
            assert not automatic or done[0].until_ms is not None

    @rule(host=st.sampled_from(HOSTS))
    def unblock(self, host: str) -> None:
        was = host in self.blocked()
        assert bool(of(UnblockHost, self.tell(ev.UnblockRequested(host=host, by="user")))) == (was and not self.ended)

    @rule(host=st.sampled_from(HOSTS), state=st.sampled_from(["RUNNING", "LOST", "SHUTDOWN"]))
    def host_changes(self, host: str, state: str) -> None:
        self.hosts[host] = state
        assert of(BlockHost, self.report()) == []

    @rule(count=st.integers(0, 6))
    def target(self, count: int) -> None:
        self.tell(ev.TargetExecutorsChanged(count=count))

    @rule(most=st.integers(1, 5))
    def scale(self, most: int) -> None:
        self.tell(ev.ScaleRequested(least=1, most=most, by="ann", force=True))

    @precondition(lambda self: self.ready)
    @rule(begins=st.booleans())
    def job(self, begins: bool) -> None:
        self.tell(ev.JobStarted(job=0, stages=(0,)) if begins else ev.JobEnded(job=0))

    @precondition(lambda self: self.ready and self.asked)
    @rule(count=st.sampled_from([0, 0, 1, ev.ONLY_MAP_OUTPUTS]))
    def driver_tells_what_executors_hold(self, count: int) -> None:
        asked, self.asked = self.asked, []
        for executor_id in asked:
            self.tell(ev.HeldBlocksTold(executor_id=executor_id, count=count))

    @precondition(lambda self: self.world.negotiator.hears(self.epoch))
    @rule()
    def driver_listens(self) -> None:
        self.ready = True
        self.tell(ev.DriverReady(driver_url="spark://x"))

    @precondition(lambda self: self.ids("wanted"))
    @rule(data=st.data(), host=st.sampled_from(HOSTS))
    def allocate(self, data: st.DataObject, host: str) -> None:
        wanted = self.ids("wanted")
        executor_id = data.draw(st.sampled_from(wanted))
        self.tell(
            ev.ContainerAllocated(
                executor_id=executor_id,
                container_id=f"c{executor_id}",
                host=host,
                wanted_id=data.draw(st.sampled_from(["", *wanted])),
            )
        )

    @precondition(lambda self: self.ready and self.ids("wanted"))
    @rule(host=st.sampled_from(HOSTS))
    def all_come(self, host: str) -> None:
        for executor_id in self.ids("wanted"):
            container_id = f"c{executor_id}"
            self.tell(ev.ContainerAllocated(executor_id=executor_id, container_id=container_id, host=host))
            self.tell(ev.ContainerStarted(executor_id=executor_id, container_id=container_id, host=host))

    @precondition(lambda self: self.ready and self.ids("allocated"))
    @rule(data=st.data(), host=st.sampled_from(HOSTS))
    def register(self, data: st.DataObject, host: str) -> None:
        executor_id = data.draw(st.sampled_from(self.ids("allocated")))
        self.tell(ev.ContainerStarted(executor_id=executor_id, container_id=f"c{executor_id}", host=host))

    @precondition(lambda self: self.ids("allocated", "running", "releasing"))
    @rule(data=st.data(), exit_code=exit_codes)
    def lose(self, data: st.DataObject, exit_code: int) -> None:
        executor_id = data.draw(st.sampled_from(self.ids("allocated", "running", "releasing")))
        self.tell(
            ev.ContainerLost(
                executor_id=executor_id, container_id=f"c{executor_id}", host=HOSTS[0], exit_code=exit_code
            )
        )

    @precondition(lambda self: self.ids("running"))
    @rule(data=st.data())
    def unwanted(self, data: st.DataObject) -> None:
        self.tell(ev.ExecutorsUnwanted(executor_ids=(data.draw(st.sampled_from(self.ids("running"))),)))

    @precondition(lambda self: self.ids("running"))
    @rule(data=st.data())
    def given_up(self, data: st.DataObject) -> None:
        self.tell(ev.ExecutorRemoved(executor_id=data.draw(st.sampled_from(self.ids("running"))), reason="broke"))

    @precondition(lambda self: self.ready and not self.ended)
    @rule()
    def context_stops(self) -> None:
        self.ready = False
        self.tell(ev.DriverStopping())
        assert self.ids("wanted", "allocated", "running") == []

    @precondition(lambda self: self.world.negotiator.hears(self.epoch) and not self.ended)
    @rule()
    def driver_dies(self) -> None:
        self.ready = False
        before, epoch = set(self.ids("wanted", "allocated", "running")), self.epoch
        self.tell(ev.DriverLost(exit_code=-9, reason="killed"))
        assert self.ended or not before & set(self.ids("wanted", "allocated", "running"))
        assert not self.world.negotiator.hears(epoch) or self.ended

    @precondition(lambda self: self.ids("wanted"))
    @rule()
    def requests_fail(self) -> None:
        self.tell(ev.RequestFailed(executor_ids=tuple(self.ids("wanted"))))

    @rule(ms=st.integers(1, 60_000))
    def time_passes(self, ms: int) -> None:
        until_ms = self.world.now_ms + ms
        while self.timers and min(self.timers.values()) <= until_ms:
            name = min(self.timers, key=lambda one: (self.timers[one], one))
            at_ms = self.timers.pop(name)
            self.world.now_ms = max(self.world.now_ms, at_ms)
            self.tell(ev.TimerFired(name=name, at_ms=at_ms))
        self.world.now_ms = until_ms

    @invariant()
    def no_more_is_asked_for_than_wanted(self) -> None:
        view = self.world.view()
        if view.wanted and not self.ended:
            assert view.wanted + view.allocated + view.running + view.held_back <= view.target

    @invariant()
    def what_is_missing_is_asked_for_or_held_back(self) -> None:
        view = self.world.view()
        if view.phase in ("waiting", "executing"):
            assert view.wanted + view.allocated + view.running + view.held_back >= view.target

    @invariant()
    def only_blocked_executors_and_those_too_many_take_no_task(self) -> None:
        view = self.world.view()
        blocked = {block.executor_id for block in view.blocks}
        extra = {one.executor_id for one in view.containers if one.extra}
        there = {one.executor_id for one in view.containers}
        if not self.ended:
            assert self.taskless & there <= blocked | extra

    @invariant()
    def blocks_end(self) -> None:
        if not self.ended:
            for block in self.world.view().blocked_hosts:
                assert block.until_ms is None or block.until_ms >= self.world.now_ms
                assert block.until_ms is not None or not block.automatic

    @invariant()
    def guesses_never_take_the_last_host(self) -> None:
        view = self.world.view()
        running = self.running_hosts()
        if not self.ended and running and running <= self.blocked():
            assert not any(block.automatic and block.host in running for block in view.blocked_hosts)

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        view = self.world.view()
        if view.phase == "waiting" and view.target and self.ready:
            assert "resource-wait" in self.timers

    @invariant()
    def what_is_held_back_is_waited_for(self) -> None:
        view = self.world.view()
        if view.held_back and self.ready and not self.ended:
            assert "replacement-backoff" in self.timers

    @invariant()
    def the_newest_placement_has_the_blocked_hosts(self) -> None:
        placements = of(UpdatePlacement, self.world.commands)
        if not self.ended:
            assert set(placements[-1].blocked_hosts if placements else ()) == self.blocked()


Cluster.TestCase.settings = settings(max_examples=120, stateful_step_count=40)
TestCluster = Cluster.TestCase
