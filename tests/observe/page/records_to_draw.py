"""Histories to draw: recorded from the simulator, where the real core decides, or made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from yarnspec.core.copies.speculationview import SpeculationView
from yarnspec.core.lifecycle.restarts import first_epoch
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, Observed, TimerFired
from yarnspec.core.messages.settings import Settings
from yarnspec.core.negotiator import Negotiator
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.observation_lines import lines
from yarnspec.observe.forms.records import Record, decode, record_of
from yarnspec.observe.page.page import page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.observe.status.status_fold import About, StatusFold
from yarnspec.simulate.world.run import Run
from yarnspec.simulate.world.scenario import Scenario

APP = "application_1750000000000_0001"
START_MS = 1_750_000_000_000
AM = "container_1750000000000_0001_01_000001"


def recorded(seed: int) -> list[Record]:
    """What the event log of a simulated run would hold: the real negotiator decides in it."""
    found: list[Record] = []

    class Recorder:
        def __init__(self, settings: Settings) -> None:
            self._core = Negotiator(settings)

        def handle(self, event: Event, now_ms: int) -> list[Command]:
            answer = self._core.handle(event, now_ms)
            if isinstance(event, Observed):
                told = lines(event.rows, seq=len(found) + 1, time_ms=now_ms, epoch=1)
                found.extend([decode(line) for _, line in told])
            elif not isinstance(event, TimerFired):
                found.append(record_of(event, seq=len(found) + 1, time_ms=now_ms, epoch=1))
            for one in answer:
                found.append(record_of(one, seq=len(found) + 1, time_ms=now_ms, epoch=1))
            return answer

        def speculation_view(self, now_ms: int) -> SpeculationView:
            return self._core.speculation_view(now_ms)

    Run(Scenario.draw(seed), Recorder).to_the_end()
    # The simulator goes on for hours, to see whether everything comes to rest.
    last = max(at for at, one in enumerate(found) if one.type in {"TaskFinished", "StageFinished"})
    end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
    return [*found[: last + 1], record_of(end, seq=last + 2, time_ms=found[last].time_ms + 500, epoch=1)]


def told(*messages: Event | Command, epoch: int = 1, step_ms: int = 1_000) -> list[Record]:
    """Records of these messages, one each second."""
    return [
        record_of(one, seq=seq, time_ms=START_MS + seq * step_ms, epoch=epoch)
        for seq, one in enumerate(messages, start=1)
    ]


def epoch_of(attempt: int) -> int:
    """The first driver epoch of an application attempt, with the usual number of restarts: 1, 6, 11."""
    return first_epoch(attempt, 4)


def attempt(number: int = 1, before: str = "") -> events.AttemptStarted:
    return events.AttemptStarted(
        application_id=APP, attempt=number, epoch=epoch_of(number), container_id=AM.replace("_01_", f"_{number:02d}_"),
        host="am-host", placement_mode="blacklist", attempt_before=before,
    )  # fmt: skip


def task(index: int, **changes: Any) -> events.TaskFinished:
    fields: dict[str, Any] = {
        "stage": 0, "stage_attempt": 0, "index": index, "attempt": 0, "task_id": index, "executor_id": "1",
        "host": "w1", "state": "SUCCESS", "launch_ms": START_MS + 3_000, "finish_ms": START_MS + 4_000,
    }  # fmt: skip
    return events.TaskFinished(**{**fields, **changes})


def begun(task_id: int, **changes: Any) -> events.AttemptsStarted:
    fields: dict[str, Any] = {
        "stage": 0, "stage_attempt": 0, "index": task_id, "attempt": 0, "task_id": task_id, "executor_id": "1",
        "host": "w1", "launch_ms": START_MS + 3_000,
    }  # fmt: skip
    return events.AttemptsStarted(attempts=(events.RunningAttempt(**{**fields, **changes}),))


LONG_REASON = "java.io.IOException: no space left on device while spilling to /data/3/yarn/local/usercache/me: " * 2


def many(
    tasks: int, hosts: int = 100, slow: int = 3, copies: int = 500, *, stages: int = 10, failing: float = 0.0,
    host_name: str = "worker-{:03d}",
) -> Iterator[Record]:  # fmt: skip
    """A long application: ``tasks`` attempts on many hosts, of which some are slow; a share of them fails."""
    rng = random.Random(7)  # noqa: S311
    seq = 0

    def record(message: Event | Command, time_ms: int) -> Record:
        nonlocal seq
        seq += 1
        return record_of(message, seq=seq, time_ms=time_ms, epoch=1)

    yield record(attempt(), START_MS)
    for host in range(hosts):
        container = f"container_1750000000000_0001_01_{host + 2:06d}"
        yield record(
            events.ContainerStarted(
                executor_id=str(host + 1), container_id=container, host=host_name.format(host), cores=8
            ),
            START_MS + 2_000,
        )  # fmt: skip
    at_ms, task_id = START_MS + 3_000, 0
    free = [[at_ms] * 8 for _ in range(hosts)]
    for stage in range(stages):
        begin = max(max(slots) for slots in free)
        free = [[begin] * 8 for _ in range(hosts)]
        each = tasks // stages
        yield record(
            events.StageStarted(stage=stage, stage_attempt=0, name=f"map at job.py:{stage}", tasks=each), begin
        )
        for index in range(each):
            host = index % hosts
            slot = min(range(8), key=lambda one: free[host][one])
            launch = free[host][slot]
            took = int(rng.lognormvariate(8, 0.3)) * (6 if host < slow else 1)
            free[host][slot] = launch + took
            copied = stage and index < copies // (stages - 1) and host < slow
            end = launch + took // 2 if copied else launch + took
            yield record(
                task(index, stage=stage, task_id=task_id, executor_id=str(host + 1), host=host_name.format(host),
                     launch_ms=launch, finish_ms=end, state="KILLED" if copied else "SUCCESS"), end,
            )  # fmt: skip
            task_id += 1
            if failing and rng.random() < failing:
                yield record(
                    task(index, stage=stage, task_id=task_id, executor_id=str(host + 1), host=host_name.format(host),
                         attempt=7, launch_ms=launch, finish_ms=end, state="FAILED",
                         failure=f"{LONG_REASON}task {task_id}"), end,
                )  # fmt: skip
                task_id += 1
            if copied:
                other = slow + index % (hosts - slow)
                yield record(
                    task(index, stage=stage, task_id=task_id, executor_id=str(other + 1), host=host_name.format(other),
                         attempt=1, launch_ms=launch + took // 3, finish_ms=end, speculative=True), end,
                )  # fmt: skip
                task_id += 1
        last = max(max(slots) for slots in free)
        yield record(events.StageFinished(stage=stage, stage_attempt=0), last)
        if stage == 0:
            for host in range(slow):
                yield record(
                    commands.BlockHost(reason=f"tasks on {host_name.format(host)} take 6.0 x as long",
                                       host=host_name.format(host), until_ms=None, by="detector", cause="slow"), last,
                )  # fmt: skip
    yield record(commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0), last)


def folded(records: Iterable[Record], name: str = "a job") -> tuple[PageFold, StatusDocument]:
    """Both folds after these records."""
    drawn, status = PageFold(), StatusFold(APP)
    for record in records:
        drawn.apply(record)
        status.apply(record)
    return drawn, status.document(About(name=name, user="me", queue="default"))


def drawn(records: Iterable[Record], now_ms: int | None = None) -> str:
    """The page of these records."""
    fold, document = folded(records)
    return page(fold, document, now_ms or max(fold.last_ms, START_MS))
