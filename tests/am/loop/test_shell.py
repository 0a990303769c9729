"""The loop: events in, commands performed, in order, whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.am.world import APP, HandMadeBridge, HandMadeService
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.executors.placement_file import PlacementFile
from yarnspec.am.journal.background_journal import BackgroundJournal
from yarnspec.am.loop.shell import Shell
from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.all_messages import COMMANDS
from yarnspec.core.messages.carried import CarriedBlocks
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.status.status_fold import About, StatusFold
from yarnspec.plan import PLACEMENT_FILE
from yarnspec.spark.bridge import DriverBridge

FINISH = commands.FinishApplication(reason="a test ends it", status="SUCCEEDED", exit_code=0)
STARTED = events.DriverStarted(pid=1)


class Script:
    """A core that answers what a test wrote down, and remembers what it was told."""

    def __init__(self, answers: dict[type[Event], list[Command]]) -> None:
        self.answers = answers
        self.told: list[Event] = []
        self.dead: set[int] = set()

    def hears(self, epoch: int) -> bool:
        return epoch not in self.dead

    def refuse(self, _event: Event, epoch: int) -> EpochRefused:
        return EpochRefused(epoch=epoch, refused={"messages": 1})

    def handle(self, event: Event, now_ms: int) -> list[Command]:  # noqa: ARG002
        self.told.append(event)
        return self.answers.get(type(event), [])


class Driver:
    def __init__(self, done: list[str], recording: BackgroundJournal) -> None:
        self.address = "h:1"
        self.epoch = 1
        self.recording = recording
        self.done = done
        self.fails = False

    def start(self, *, awaits_negotiator: bool) -> int:
        if self.fails:
            raise FileNotFoundError("no java")
        self.done.append("driver started, which waits" if awaits_negotiator else "driver started")
        return 42

    def begin(self, epoch: int) -> None:
        if self.fails:
            raise OSError("no port is free")
        self.epoch = epoch
        self.done.append(f"epoch {epoch}")

    def listens_at(self, address: str) -> None:
        self.address = address

    def open_gate(self) -> None:
        self.done.append("gate opened")

    def close_gate(self) -> None:
        self.done.append("gate closed")

    def stop(self) -> None:
        self.done.append("driver stopped")


class Kept:
    """The journal, which remembers what it was to do."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def perform(self, command: Command) -> None:
        self.done.append(type(command).__name__)


class World:
    """A shell and everything that it moves."""

    def __init__(self, directory: Path, core: Script | Negotiator) -> None:
        self.directory = directory
        self.core = core
        self.done: list[str] = []
        self.service = HandMadeService()
        self.kept = Kept()
        self.driver = Driver(self.done, cast(BackgroundJournal, self.kept))
        self.log = EventLogs(1)
        self.now_ms = 1_000_000
        self.shell = Shell(
            negotiator=cast(Negotiator, core),
            log=self.log,
            fold=StatusFold(APP),
            containers=ExecutorContainers(self.service),
            placement=PlacementFile(directory, "blacklist", "a"),
            driver=self.driver,
            executor_environment=lambda executor_id, _: {"ID": executor_id},
            check_hosts=lambda hosts: self.done.append(f"checks {', '.join(hosts)}"),
            clock_ms=self._clock,
        )

    def _clock(self) -> int:
        self.now_ms += 10  # time passes by being looked at
        return self.now_ms

    def run(self, *posted: Event) -> Any:
        for event in posted:
            self.shell.post(event)
        ending = self.shell.run()
        self.shell.in_force(0.2)
        return ending

    @property
    def logged(self) -> list[str]:
        lines = self.log.after(1, 0, 1 << 20).lines
        return [msgspec.json.decode(line.data)["type"] for line in lines]

    @property
    def placement(self) -> dict[str, Any]:
        return msgspec.json.decode((self.directory / PLACEMENT_FILE).read_bytes(), type=dict[str, Any])


Make = Callable[[dict[type[Event], list[Command]]], World]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    worlds = []

    def make_world(answers: dict[type[Event], list[Command]]) -> World:
        worlds.append(World(tmp_path, Script(answers)))
        return worlds[-1]

    yield make_world
    for world in worlds:
        world.log.close(5)


def told(world: World) -> list[Event]:
    assert isinstance(world.core, Script)
    return world.core.told


def test_commands_are_logged_first_and_performed_in_order(make: Make) -> None:
    world = make(
        {
            events.AttemptStarted: [
                commands.UpdatePlacement(reason="r", version=1, blocked_hosts=("127.0.0.3",), wanted=()),
                commands.StartDriver(reason="r", epoch=1, awaits_negotiator=True),
                commands.RequestContainers(reason="r", executor_ids=("1", "2")),
                commands.ReleaseContainer(reason="r", executor_id="1"),
            ],
            events.DriverStarted: [commands.StopDriver(reason="r"), FINISH],
        }
    )
    began = events.AttemptStarted(
        application_id=APP, attempt=1, epoch=1, container_id="c", host="h", placement_mode="blacklist"
    )
    assert world.run(began) is FINISH
    assert world.done == ["driver started, which waits", "driver stopped"]
    assert world.service.asked == [{"ID": "1"}, {"ID": "2"}]
    assert world.service.killed == [0]
    assert world.placement["blocked_hosts"] == ["127.0.0.3"]
    assert told(world) == [began, events.DriverStarted(pid=42, address="h:1")]
    assert world.logged == [
        "AttemptStarted",
        "UpdatePlacement",
        "StartDriver",
        "RequestContainers",
        "ReleaseContainer",
        "DriverStarted",
        "StopDriver",
        "FinishApplication",
    ]


def test_a_driver_that_cannot_be_started_is_a_lost_driver(make: Make) -> None:
    world = make(
        {events.TargetExecutorsChanged: [commands.StartDriver(reason="r", epoch=1)], events.DriverLost: [FINISH]}
    )
    world.driver.fails = True
    world.run(events.TargetExecutorsChanged(count=1))
    lost = told(world)[-1]
    assert isinstance(lost, events.DriverLost)
    assert (lost.exit_code, "no java" in lost.reason) == (127, True)


def test_a_command_that_fails_does_not_end_the_loop(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    world = make(
        {
            events.DriverStarted: [
                commands.ReleaseContainer(reason="r", executor_id="1"),
                commands.RequestContainers(reason="r", executor_ids=("2",)),
            ],
            events.ProblemNoticed: [FINISH],
        }
    )

    def fail(*_: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(ExecutorContainers, "release", fail)
    assert world.run(STARTED) is FINISH
    assert world.service.asked == [{"ID": "2"}]
    problem = told(world)[-1]
    assert isinstance(problem, events.ProblemNoticed)
    assert problem.message.startswith("a decision was not carried out: ReleaseContainer (r)")
    assert problem.message.endswith(": the disk is full")


def test_what_could_not_be_asked_for_is_told_by_name(make: Make) -> None:
    world = make(
        {
            events.DriverStarted: [commands.RequestContainers(reason="r", executor_ids=("1", "2", "3"))],
            events.RequestFailed: [FINISH],
        }
    )
    world.service.refuses = True
    world.run(STARTED)
    assert told(world)[-1] == events.RequestFailed(executor_ids=("1", "2", "3"), message="Skein's AM: gone")


def test_timers_fire_in_order_and_one_that_was_replaced_does_not(make: Make) -> None:
    world = make(
        {
            events.DriverStarted: [
                commands.SetTimer(reason="r", name="late", at_ms=1_000_500),
                commands.SetTimer(reason="r", name="moved", at_ms=1_000_100),
                commands.SetTimer(reason="r", name="early", at_ms=1_000_200),
                commands.SetTimer(reason="r", name="moved", at_ms=1_000_300),
            ]
        }
    )
    script = world.core
    assert isinstance(script, Script)
    fired: list[tuple[str, int]] = []

    def handle(event: Event, now_ms: int) -> list[Command]:
        if isinstance(event, events.TimerFired):
            assert now_ms >= event.at_ms
            fired.append((event.name, event.at_ms))
            return [FINISH] if event.name == "late" else []
        return script.answers.get(type(event), [])

    script.handle = handle  # type: ignore[method-assign]
    world.run(STARTED)
    assert fired == [("early", 1_000_200), ("moved", 1_000_300), ("late", 1_000_500)]


def test_a_look_that_finds_nothing_is_not_logged(make: Make) -> None:
    again = commands.SetTimer(reason="r", name="look", at_ms=1_000_200)
    world = make({events.DriverStarted: [commands.SetTimer(reason="r", name="look", at_ms=1_000_100)]})
    script = world.core
    assert isinstance(script, Script)

    def handle(event: Event, now_ms: int) -> list[Command]:  # noqa: ARG001
        if isinstance(event, events.TimerFired):
            return [again] if event.at_ms == 1_000_100 else [commands.Summarize(reason="r"), again, FINISH]
        return script.answers.get(type(event), [])

    script.handle = handle  # type: ignore[method-assign]
    world.run(STARTED)
    assert world.logged == ["DriverStarted", "SetTimer", "TimerFired", "Summarize", "SetTimer", "FinishApplication"]


def test_an_answer_goes_to_who_asked(make: Make) -> None:
    refusal = commands.RefuseBlock(reason="too many", host="h")
    world = make({events.BlockRequested: [refusal], events.DriverStopping: [FINISH]})
    loop = threading.Thread(target=world.shell.run)
    loop.start()
    try:
        assert world.shell.ask(events.BlockRequested(host="h", reason="r", by="me")) == [refusal]
    finally:
        world.shell.post(events.DriverStopping())
        loop.join(10)
    assert not loop.is_alive()


def test_who_asks_a_loop_that_does_not_run_gets_an_error(make: Make) -> None:
    with pytest.raises(TimeoutError, match="did not answer"):
        make({}).shell.ask(events.DriverStopping(), deadline_s=0.01)


def test_the_core_can_be_looked_at_while_the_loop_runs_and_after_its_end(make: Make) -> None:
    world = make({events.DriverStopping: [FINISH]})
    loop = threading.Thread(target=world.shell.run)
    loop.start()
    try:
        core, now_ms = world.shell.inspect(lambda core, now_ms: (core, now_ms))
        assert core is world.core
        assert now_ms > 1_000_000
        with pytest.raises(ZeroDivisionError):
            world.shell.inspect(lambda core, now_ms: 1 // 0)  # noqa: ARG005
    finally:
        world.shell.post(events.DriverStopping())
        loop.join(10)
    assert not loop.is_alive()
    assert world.shell.inspect(lambda core, _: core, deadline_s=0.01) is world.core


def test_the_driver_hears_of_blocked_hosts_when_it_connects_and_when_they_change(make: Make) -> None:
    def update(*hosts: str) -> commands.UpdatePlacement:
        return commands.UpdatePlacement(reason="r", version=1, blocked_hosts=hosts, wanted=())

    world = make(
        {
            events.DriverStarted: [update("a")],
            events.DriverReady: [update("a"), update("a", "b")],
            events.DriverStopping: [FINISH],
        }
    )
    bridge = HandMadeBridge()
    script = world.core
    assert isinstance(script, Script)
    script.answers[events.DriverStarted].append(commands.StopDriver(reason="r"))
    world.driver.stop = lambda: world.shell.driver_connected(cast(DriverBridge, bridge))  # type: ignore[method-assign]
    world.run(STARTED, events.DriverReady(driver_url="u", ui_url="http://ui"), events.DriverStopping())
    assert bridge.told[0] == ("blocked", ("a",))
    assert bridge.told[-1] == ("blocked", ("a", "b"))
    assert [one for one in bridge.told[1:-1] if one != ("blocked", ("a",))] == []
    assert world.placement["tracking_url"] == "http://ui"


def test_a_driver_that_has_gone_does_not_stop_anything(make: Make) -> None:
    world = make(
        {
            events.DriverStarted: [
                commands.UpdatePlacement(reason="r", version=2, blocked_hosts=("a",), wanted=()),
                commands.RemoveExecutor(reason="gone", executor_id="1", exit_code=137, caused_by_app=False),
                FINISH,
            ]
        }
    )
    bridge = HandMadeBridge()
    world.shell.driver_connected(cast(DriverBridge, bridge))
    bridge.broken = True
    assert world.run(STARTED) is FINISH
    assert world.placement["version"] == 2
    assert events.ProblemNoticed not in {type(event) for event in told(world)}
    assert world.shell.document(About(name="n")).tasks.running == 0


def test_spark_is_told_why_an_executor_is_gone(make: Make) -> None:
    remove = commands.RemoveExecutor(reason="preempted", executor_id="1", exit_code=-102, caused_by_app=False)
    world = make({events.DriverStarted: [remove, FINISH]})
    bridge = HandMadeBridge()
    world.shell.driver_connected(cast(DriverBridge, bridge))
    world.run(STARTED)
    assert bridge.told[-1] == ("removed", "1", -102, False, "preempted")
    assert world.shell.document(About(name="n")).tasks.running == 3


def test_the_real_core_runs_a_program_to_its_end(tmp_path: Path) -> None:
    core = Negotiator(Settings(initial_executors=1, executor_memory_mb=1000, excluded_hosts=("127.0.0.3",)))
    world = World(tmp_path, core)
    hosts = tuple(events.HostReport(host=f"127.0.0.{number}", memory_mb=4000, vcores=4) for number in range(2, 6))
    ending = world.run(
        events.AttemptStarted(
            application_id=APP, attempt=1, epoch=1, container_id="c", host="127.0.0.2", placement_mode="blacklist"
        ),
        events.HostsReported(hosts=hosts),
        events.PlacementAcknowledged(version=1),
        events.DriverReady(driver_url="u"),
        events.DriverFinished(exit_code=1, reason="ValueError: no", traceback="Traceback …\nValueError: no"),
    )
    assert isinstance(ending, commands.FinishApplication)
    assert (ending.status, ending.exit_code) == ("FAILED", 1)
    assert "driver started" in world.done
    assert len(world.service.asked) == 1
    assert world.placement["blocked_hosts"] == ["127.0.0.3"]
    assert [one["host"] for one in world.placement["all_hosts"]] == [one.host for one in hosts]
    world.log.close(5)


def test_executors_are_told_the_port_that_the_driver_really_has(make: Make) -> None:
    ready = events.DriverReady(driver_url="spark://CoarseGrainedScheduler@h:2")
    world = make({events.DriverReady: [commands.RequestContainers(reason="r", executor_ids=("1",)), FINISH]})
    addresses = []
    world.shell._executor_environment = lambda *_: addresses.append(world.driver.address) or {}  # type: ignore[func-returns-value]
    world.run(ready)
    assert addresses == ["h:2"]


def test_executors_pass_when_those_that_go_are_shut_out(make: Make) -> None:
    request = commands.RequestContainers(reason="r", executor_ids=("2",))
    world = make({events.DriverReady: [commands.CloseGate(reason="r"), request, FINISH]})
    world.shell._executor_environment = lambda *_: world.done.append("asked") or {}  # type: ignore[func-returns-value]
    world.run(events.DriverReady(driver_url="u"))
    assert world.done == ["gate closed", "asked", "gate opened"]


def test_a_placement_that_could_not_be_written_is_told_once_and_written_later(make: Make) -> None:
    update = commands.UpdatePlacement(reason="r", version=1, blocked_hosts=("127.0.0.3",), wanted=())
    world = make({events.DriverStarted: [update], events.DriverStopping: [FINISH]})
    in_the_way = (world.directory / PLACEMENT_FILE).with_suffix(".new")
    in_the_way.mkdir()
    bridge = HandMadeBridge()
    world.shell.driver_connected(cast(DriverBridge, bridge))
    script = world.core
    assert isinstance(script, Script)
    handle = script.handle

    def mended(event: Event, now_ms: int) -> list[Command]:
        if isinstance(event, events.ProblemNoticed):
            assert world.placement["version"] == 0
            in_the_way.rmdir()
            world.now_ms += 2_000
            world.shell.post(events.HostsReported(hosts=(events.HostReport(host="127.0.0.2"),)))
            world.shell.post(events.DriverStopping())
        return handle(event, now_ms)

    script.handle = mended  # type: ignore[method-assign]
    world.run(STARTED, events.DriverReady(driver_url="spark://d@h:1", ui_url="http://h:4040"))
    assert world.logged.count("ProblemNoticed") == 1
    assert world.placement["blocked_hosts"] == ["127.0.0.3"]
    assert world.placement["tracking_url"] == "http://h:4040"
    assert world.placement["all_hosts"] == [{"host": "127.0.0.2", "rack": "/default-rack"}]
    assert ("blocked", ("127.0.0.3",)) in bridge.told


def test_the_log_holds_the_hosts_once_and_then_what_changed(make: Make) -> None:
    world = make({events.DriverStopping: [FINISH]})
    a, b = events.HostReport(host="a", free_memory_mb=9, free_vcores=3), events.HostReport(host="b")
    fuller, lost = (
        events.HostReport(host="a", free_memory_mb=5, free_vcores=2),
        events.HostReport(host="b", state="LOST"),
    )
    # What a host has left changes all the time: that alone is not logged.
    reports = [events.HostsReported(hosts=hosts) for hosts in ((a, b), (fuller, b), (fuller, lost), (a,))]
    world.run(*reports, events.DriverStopping())
    assert told(world)[:4] == reports  # the core has each one whole
    records = [msgspec.json.decode(line.data) for line in world.log.after(1, 0, 1 << 20).lines[:3]]
    assert [([one["host"] for one in record["hosts"]], record["whole"], record["gone"]) for record in records] == [
        (["a", "b"], True, []),
        (["b"], False, []),
        ([], False, ["b"]),
    ]


def test_what_is_to_be_kept_goes_to_the_journal_in_order_and_the_answers_with_it(make: Make) -> None:
    answer = [
        rc.RecordProgram(reason="r"),
        rc.OfferSaved(reason="r", shuffles=(7,)),
        rc.RecordState(reason="r", parts=(CarriedBlocks(epoch=2, time_ms=1),)),
        commands.StartDriver(reason="r", epoch=2),
        rc.RecordShuffle(
            reason="r", shuffle=8, signature="s", maps=1, reduces=1, determinism="determinate", parents=()
        ),
        rc.AnswerShuffle(reason="r", question=1, shuffle=None),
        rc.RefuseShuffles(reason="r", shuffles=(8,)),
        rc.ForgetShuffle(reason="r", shuffle=8),
        rc.RecordProgress(reason="r", epoch=2, jobs=1),
        rc.RecordWrite(reason="r", ordinal=1, signature="s", path="/x", mode="add", job="j", epoch=2, existed=True),
        rc.RecordCommitting(reason="r", ordinal=1, files=1, digest="d", epoch=1, earliest=1, made={}),
        rc.RecordCommit(reason="r", ordinal=1, signature="s", path="/x"),
        rc.ForgetWrites(reason="r", ordinals=(1,)),
        rc.RecordLost(reason="r"),
        rc.AnswerWrite(reason="r", question=2),
        rc.ReportRecoveryLimit(reason="r", recording=True),
    ]
    world = make({STARTED.__class__: [*answer, FINISH]})
    world.run(STARTED)
    assert world.kept.done == [type(one).__name__ for one in answer if one.IN_JOURNAL]
    assert len(world.kept.done) == sum(kind.IN_JOURNAL for kind in COMMANDS)
    assert world.done == ["driver started"]
    # The event log has told each block and verdict when it came.
    lines = [msgspec.json.decode(line.data) for line in world.log.after(1, 0).lines]
    assert [one["parts"] for one in lines if one["type"] == "RecordState"] == [[]]


def test_what_a_dead_driver_told_is_neither_decided_on_nor_logged_but_counted(make: Make) -> None:
    world = make({events.DriverStopping: [FINISH]})
    assert isinstance(world.core, Script)
    world.core.dead.add(1)
    world.shell.post(events.TargetExecutorsChanged(count=9), epoch=1)
    world.shell.post(events.TargetExecutorsChanged(count=4), epoch=2)
    world.run(events.DriverStopping())
    assert told(world) == [events.TargetExecutorsChanged(count=4), events.DriverStopping()]
    assert world.logged == ["EpochRefused", "TargetExecutorsChanged", "DriverStopping", "FinishApplication"]
    assert world.shell.document(About()).refused == {"messages": 1}


def test_a_new_epoch_begins_with_a_log_of_its_own_before_its_driver_starts(make: Make) -> None:
    begins = commands.BeginEpoch(epoch=2, restart=1, reason="the driver of epoch 1 was lost")
    again = [begins, commands.StartDriver(epoch=2, reason="again")]
    world = make({events.DriverLost: again, events.DriverStarted: [FINISH]})
    bridge = HandMadeBridge()
    world.shell.driver_connected(cast(DriverBridge, bridge))
    world.run(events.DriverLost(exit_code=-9, reason="killed"))
    assert world.done == ["epoch 2", "driver started"]
    assert world.logged == ["DriverLost"]
    second = [msgspec.json.decode(line.data) for line in world.log.after(2, 0).lines]
    kinds = ["BeginEpoch", "StartDriver", "DriverStarted", "FinishApplication"]
    assert [(one["type"], one["epoch"], one["seq"]) for one in second] == [
        (kind, 2, number) for number, kind in enumerate(kinds, 1)
    ]
    # Nothing is told to the dead driver any more.
    world.shell.document(About())
    assert world.shell.in_force(0)


def test_what_a_dead_driver_was_still_to_do_is_counted(make: Make) -> None:
    kill = commands.KillAttempt(stage=1, stage_attempt=0, index=4, task_id=7, reason="another attempt won")
    world = make({STARTED.__class__: [kill, kill], events.DriverLost: [FINISH]})
    loop = threading.Thread(target=world.shell.run)
    loop.start()
    try:
        assert world.shell.ask(STARTED) == [kill, kill]
        # What is being told just then is not counted.
        assert world.shell.in_force(10)
    finally:
        world.shell.post(events.DriverLost(exit_code=-9, reason="killed"))
        loop.join(10)
    assert not loop.is_alive()
    assert world.logged[-3:] == ["DriverLost", "EpochRefused", "FinishApplication"]
    assert world.shell.document(About()).refused == {"commands": 2}


def test_a_life_that_cannot_begin_is_a_lost_one(make: Make) -> None:
    begins = commands.BeginEpoch(epoch=2, restart=1, reason="the driver of epoch 1 was lost")
    world = make({events.DriverLost: [FINISH], STARTED.__class__: [begins]})
    world.driver.fails = True
    world.run(STARTED)
    assert isinstance(told(world)[-1], events.DriverLost)
