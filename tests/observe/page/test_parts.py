"""The parts of the page by themselves: numbers, drawings, sentences."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.observe.page.records_to_draw import START_MS, attempt, begun, folded, many, recorded, task, told
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.observations import State
from yarnspec.core.messages.recoveryevents import ShuffleRestored
from yarnspec.observe.forms.document import CopyTotals, SpeculationStatus
from yarnspec.observe.forms.moments import at_time, day_clock
from yarnspec.observe.page import attempts, page_fold
from yarnspec.observe.page.attempts import LOST_WITH_DRIVER, AttemptTable
from yarnspec.observe.page.container_rows import over_time
from yarnspec.observe.page.drawing import Scale, busy, strip
from yarnspec.observe.page.host_rows import host_rows
from yarnspec.observe.page.missing import FoldedKind, Missing
from yarnspec.observe.page.page import page
from yarnspec.observe.page.scene import Scene, scene_of
from yarnspec.observe.page.sentences import sentences, untold_warnings
from yarnspec.observe.page.stage_rows import lateness_of, stage_rows
from yarnspec.observe.page.task_rows import copy_rows, ledger_of, task_groups
from yarnspec.observe.page.timeline import Timeline, timeline

STAGE = events.StageStarted(stage=0, stage_attempt=0, name="count", tasks=12)


def scene(*messages: events.Event | commands.Command) -> Scene:
    fold, document = folded(told(*messages))
    return scene_of(fold, document, START_MS + 60_000)


def waves(first_ms: int, then_ms: int = 200, **late_ms: int) -> list[events.TaskFinished]:
    """Ten tasks, one after the other, on each of three executors of hosts w0 to w2; ``late_ms``: of w1's by number."""
    found = []
    for host in range(3):
        at_ms = START_MS + 3_000
        for number in range(10):
            took_ms = late_ms.get(f"of_{number}", 0) if host == 1 else 0
            end_ms = at_ms + (took_ms or (then_ms if number else first_ms))
            index = 3 * number + host
            found.append(task(index, host=f"w{host}", executor_id=str(host), launch_ms=at_ms, finish_ms=end_ms))
            at_ms = end_ms
    return found


def drawing(of: Scene) -> Timeline:
    return timeline(of, host_rows(of)[0])


def slow_host(took_ms: int = 30_000) -> list[events.TaskFinished]:
    """Twelve tasks on three hosts; those on the last take longer."""
    return [
        task(
            index,
            host=f"w{index % 3}",
            finish_ms=START_MS + 3_000 + (took_ms if index % 3 == 2 else 5_000),
        )
        for index in range(12)
    ]


class TestAttempts:
    def test_an_output_that_is_lost_later_is_no_further_attempt(self) -> None:
        found = scene(attempt(), STAGE, task(0), task(0, state="FAILED", failure="Resubmitted"))
        assert len(found.attempts) == 1
        assert found.attempts.succeeded.all()

    def test_the_oldest_are_forgotten_and_that_is_said(self) -> None:
        missing = Missing()
        table = AttemptTable(missing, most=10_000)
        for number in range(40_000):
            table.add((0, number, 0, number, 0, 0, int(State.SUCCESS), 0, number, number + 1, -1))
        kept = table.table()
        assert 10_000 <= len(kept) < 40_000
        assert missing.of(FoldedKind.ATTEMPTS) == (40_000 - len(kept), int(kept.launch_ms.min()))

    def test_what_runs_is_there_until_now(self) -> None:
        found = scene(attempt(), STAGE, begun(0), task(0), begun(3, host="w9"))
        assert found.attempts.running.tolist() == [False, True]
        assert int(found.attempts.finish_ms[-1]) == START_MS + 60_000
        bars = {band.host: list(band.bars) for band in drawing(found).bands}
        assert bars == {"w1": ["ok"], "w9": ["running"]}

    @pytest.mark.parametrize(
        ("last", "state"),
        [
            (events.DriverLost(exit_code=137, reason="killed"), LOST_WITH_DRIVER),
            (commands.FinishApplication(reason="killed by me", status="KILLED", exit_code=7), State.KILLED),
            (events.DriverReady(driver_url="spark://d:2"), State.KILLED),
        ],
        ids=["the driver dies", "the application ends", "another context begins"],
    )
    def test_what_ran_when_its_driver_ended(self, last: events.Event | commands.Command, state: int) -> None:
        found = scene(attempt(), STAGE, task(0), begun(3, host="w9"), last)
        assert found.attempts.state.tolist() == [State.SUCCESS, state]
        assert found.attempts.took_ms.tolist() == [1_000, 2_000]
        assert not found.fold.running

    def test_what_ran_when_the_application_master_died(self) -> None:
        fold, document = folded([
            *told(attempt(), STAGE, task(0), begun(3, host="w9")),
            *told(attempt(2, "it was lost"), STAGE, begun(0, launch_ms=START_MS + 10_000), epoch=6, step_ms=9_000),
        ])  # fmt: skip
        found = scene_of(fold, document, START_MS + 60_000)
        assert found.attempts.state.tolist() == [State.SUCCESS, LOST_WITH_DRIVER, State.RUNNING]
        assert found.attempts.took_ms.tolist() == [1_000, 1_000, 50_000]
        assert [one.state for one in fold.stages] == ["FAILED", "RUNNING"]
        assert {band.host: list(band.bars) for band in drawing(found).bands} == {
            "w1": ["ok", "running"],
            "w9": ["lost"],
        }
        assert {one.host: (one.lost, one.killed) for one in host_rows(found)[0]}["w9"] == (1, 0)
        assert [one.lost for one in stage_rows(found)[0]] == [1, 0]
        first = sentences(found)[0].text
        between = f"between {day_clock(START_MS + 4_000)} and {day_clock(START_MS + 9_000)}"
        assert first.startswith(f"B{between[1:]} the application master died: attempt 1 was lost, it was lost. 1 task")
        assert "1 task attempt ran then and was lost" in first
        assert "The first new task began after 6.0 s." in first
        [death] = [one for one in fold.moments if one.kind == "lost"]
        assert (found.scale.at(death.time_ms), "lost", death.text) in drawing(found).moments
        shown = re.sub("<[^>]*>", "", page(fold, document, START_MS + 60_000))
        assert f"{between} (3s) the application master died: attempt 1 was lost, it was lost" in shown

    def test_nothing_runs_in_an_application_that_was_killed(self) -> None:
        fold, document = folded(told(attempt(), STAGE, task(0), begun(3)))
        killed = msgspec.structs.replace(document, state="KILLED")
        assert scene_of(fold, killed, START_MS + 60_000).attempts.lost.tolist() == [False, True]


KEPT: dict[FoldedKind, Callable[[int], events.Event | commands.Command]] = {
    FoldedKind.RUNNING: begun,
    FoldedKind.FAILURES: lambda number: task(number, state="FAILED", failure="no space left"),
    FoldedKind.BLOCKS: lambda number: _block(f"w{number}"),
    FoldedKind.CONTAINERS: lambda number: events.ContainerStarted(
        executor_id="1", container_id=f"c{number}", host="w1"
    ),
    FoldedKind.TURNS: lambda number: commands.BeginEpoch(reason="it died", epoch=number, restart=1),
    FoldedKind.COPIES: lambda number: commands.LaunchCopy(
        stage=0, stage_attempt=0, index=number, not_hosts=(), reason="slow"
    ),
    FoldedKind.WANTED: lambda number: events.TargetExecutorsChanged(count=number),
    FoldedKind.WAITS: lambda number: events.PendingExplained(reason=f"reason {number}"),
    FoldedKind.PHASES: lambda number: commands.EnterPhase(
        reason="r", phase="executing" if number % 2 else "restarting"
    ),
    FoldedKind.RESTORED: lambda number: ShuffleRestored(
        shuffle=number, wanted=1, restored=1, waited_ms=1, by_host={}, not_restored={}
    ),
    FoldedKind.EVENTS: lambda number: commands.Warn(reason=f"warning {number}"),
    FoldedKind.VERDICTS: lambda number: commands.JudgeTasks(
        reason="slow",
        verdicts=(
            commands.Verdict(
                stage=0, stage_attempt=0, index=number, attempt=0, task_id=number, host="w1", executor_id="1",
                detector="execution-time", elapsed_ms=9, reason="slow", numbers={},
            ),
        ),
    ),
}  # fmt: skip
"""Messages of each kind of which a fold keeps only so many."""


def _block(host: str) -> commands.BlockHost:
    return commands.BlockHost(reason="r", host=host, until_ms=None, by="me", cause="asked")


class TestMissing:
    @pytest.mark.parametrize("kind", [one for one in FoldedKind if one is not FoldedKind.ATTEMPTS])
    def test_the_oldest_of_each_kind_are_forgotten_and_that_is_said(
        self, kind: FoldedKind, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for bound in (
            "_MOST_RUNNING",
            "_MOST_BLOCKS",
            "_MOST_CONTAINERS",
            "_MOST_MOMENTS",
            "_MOST_STEPS",
            "_MOST_COPIES",
        ):
            monkeypatch.setattr(page_fold, bound, 40)
        monkeypatch.setattr(attempts, "_MOST_TEXTS", 40)
        fold, document = folded(told(*map(KEPT[kind], range(400))))
        count, until_ms = fold.missing.of(kind)
        assert 0 < count < 400
        assert START_MS < until_ms <= START_MS + 400_000
        sentences_of_it = {
            FoldedKind.EVENTS: "",
            FoldedKind.RUNNING: f"{count:,} task attempts were not drawn while running: too many ran. The newest",
        }
        noun, which = kind.value
        usual = f"The page no longer has {count:,} {noun}s {which}, up to {at_time(until_ms)}."
        assert sentences_of_it.get(kind, usual) in page(fold, document, START_MS)
        if kind is FoldedKind.EVENTS:
            assert not [one for one in fold.missing.sentences() if "event" in one]

    def test_one_of_a_kind_is_told_as_one(self) -> None:
        missing = Missing()
        missing.skip_records(1, START_MS)
        missing.damaged = 1
        missing.forget(FoldedKind.BLOCKS, 1, START_MS)
        record, damaged, block = missing.sentences()
        assert record.startswith("1 record from before")
        assert damaged == "1 damaged record was passed over: the page lacks what it tells."
        assert block.startswith("The page no longer has 1 block that ended, up to")

    def test_blocks_that_hold_outlast_those_that_have_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(page_fold, "_MOST_BLOCKS", 8)
        ended = [
            message
            for number in range(1, 20)
            for message in (
                _block(f"w{number}"),
                commands.UnblockHost(reason="over", host=f"w{number}"),
            )
        ]
        fold, _ = folded(told(attempt(), _block("w0"), *ended))
        assert [one.host for one in fold.blocks if one.ended_ms is None] == ["w0"]
        assert len(fold.blocks) + fold.missing.of(FoldedKind.BLOCKS).number == 20

    def test_gaps_in_an_epoch_and_between_epochs(self) -> None:
        first, _, third = told(attempt(), STAGE, task(0))
        later = told(attempt(2), epoch=6, step_ms=10_000)
        died = events.DriverLost(exit_code=137, reason="killed")
        fourth = told(commands.BeginEpoch(reason="it died", epoch=8, restart=2), died, epoch=8, step_ms=20_000)
        fifth = told(commands.BeginEpoch(reason="it died", epoch=9, restart=3), epoch=9, step_ms=60_000)
        fold, _ = folded([first, third, *later, *fourth, *fifth])
        *gaps, last = fold.missing.sentences()
        assert last == "Before them the records have 1 gap more, with at least 1 record."
        assert "driver epoch 1 stop at" in gaps[0]
        assert "driver epoch 6 stop at" in gaps[1]
        assert "No record of driver epoch 7, before" in gaps[2]

    def test_the_numbers_that_an_attempt_did_not_use_are_no_gap(self) -> None:
        died = events.DriverLost(exit_code=137, reason="killed")
        # Users' wishes of before are told before the attempt begins.
        wish = commands.Warn(reason="not all that users blocked in earlier attempts is known")
        fold, _ = folded([
            *told(attempt(), died),
            *told(commands.BeginEpoch(reason="it died", epoch=2, restart=1), died, epoch=2, step_ms=10_000),
            *told(wish, attempt(2, "it was lost"), died, epoch=6, step_ms=30_000),
        ])  # fmt: skip
        assert fold.missing.sentences() == []
        for record in told(attempt(5), epoch=21, step_ms=90_000):
            fold.apply(record)
        [gap] = fold.missing.sentences()
        assert "No record of application attempts 3 to 4, before" in gap

    def test_a_complete_history_lacks_nothing(self) -> None:
        fold, _ = folded(recorded(6)[:200])
        assert fold.missing.sentences() == []


class TestSpeeds:
    def test_a_host_whose_tasks_take_longer(self) -> None:
        found = scene(attempt(), STAGE, *slow_host())
        rows, more = host_rows(found)
        assert more == 0
        assert [(one.host, one.factor and round(one.factor, 1)) for one in rows if one.done] == [
            ("w2", 6.0), ("w0", 1.0), ("w1", 1.0)
        ]  # fmt: skip
        assert rows[0].tone == "bad"

    def test_a_slow_host_whose_tasks_were_all_killed_is_still_slow(self) -> None:
        killed = [task(index, host="w2", state="KILLED", finish_ms=START_MS + 33_000) for index in (2, 5, 8, 11)]
        found = scene(attempt(), STAGE, *(one for one in slow_host() if one.host != "w2"), *killed)
        assert host_rows(found)[0][0].host == "w2"
        assert found.speeds.slow(found.hosts.index("w2"))

    def test_attempts_that_were_lost_with_their_driver_make_no_host_slow(self) -> None:
        lost = [begun(index, host="w2") for index in (2, 5, 8, 11)]
        ended = [one for one in slow_host() if one.host != "w2"]
        late = [commands.Warn(reason="still here")] * 60
        found = scene(attempt(), STAGE, *ended, *lost, *late, events.DriverLost(exit_code=137, reason="killed"))
        assert found.attempts.took_ms[found.attempts.lost].min() > 60_000
        assert not found.speeds.slow(found.hosts.index("w2"))

    def test_a_host_is_not_slow_because_its_executor_has_just_started(self) -> None:
        started = [
            task(30 + number, host="w3", executor_id="3", launch_ms=START_MS + 6_000, finish_ms=START_MS + 10_600)
            for number in range(4)
        ]
        found = scene(attempt(), STAGE, *waves(4_800), *started)
        assert found.speeds.compared[found.hosts.index("w3")] == 4
        assert {one.host: one.tone for one in host_rows(found)[0] if one.done} == dict.fromkeys(
            ("w0", "w1", "w2", "w3"), "calm"
        )


class TestHosts:
    def test_a_block_of_the_host_is_told_from_blocks_for_a_task_or_of_an_executor(self) -> None:
        for_tasks = [
            message
            for index in (1, 2)
            for message in (
                msgspec.structs.replace(_block("w1"), level="task", stage=0, index=index),
                commands.UnblockHost(reason="over", host="w1", level="task", stage=0, index=index),
            )
        ]
        executor = commands.BlockExecutor(
            reason="r", host="w1", executor_id="3", until_ms=None, by="me", cause="faulty", level="stage", stage=0
        )
        whole = [_block("w1"), commands.UnblockHost(reason="over", host="w1")]
        found = scene(attempt(), STAGE, task(0), *for_tasks, *whole, executor)
        [host] = [one for one in host_rows(found)[0] if one.host == "w1"]
        assert host.state == (
            "executor 3 blocked for stage 0 (faulty); was blocked once; was blocked for single stages or tasks twice"
        )
        assert (host.tone, host.block) == ("warn", None)
        [band] = [one for one in drawing(found).bands if one.host == "w1"]
        assert (len(band.blocks), len(band.narrow), band.blocked) == (1, 3, False)
        assert "blocked once" in band.label
        assert any("blocked for task 0.2 (asked)" in one.text for one in band.narrow)

    def test_the_reason_of_a_host_is_one_for_the_whole_of_it_if_there_is_one(self) -> None:
        narrow = msgspec.structs.replace(_block("w2"), reason="task 0.0 failed", level="task", stage=0, index=0)
        over = commands.UnblockHost(reason="over", host="w2", level="task", stage=0, index=0)
        spared = commands.SlowHostNotBlocked(reason="2 of 3 are blocked", host="w2", cause="slow")
        whole = msgspec.structs.replace(_block("w2"), reason="slow")
        after = commands.UnblockHost(reason="over", host="w2")

        def why(*messages: Command) -> str:
            found = scene(attempt(), STAGE, *slow_host(), *messages)
            return next(one.why for one in host_rows(found)[0] if one.host == "w2")

        assert why(narrow) == "task 0.0 failed (by me)"
        assert why(narrow, over) == "task 0.0 failed"
        assert why(spared, narrow) == why(spared, narrow, over) == "left in use: 2 of 3 are blocked"
        assert why(spared, whole, after, narrow) == "slow"
        assert why(spared, narrow, whole) == "slow (by me)"

    def test_a_block_that_the_next_attempt_carries_on_counts_once(self) -> None:
        ready, again = events.DriverReady(driver_url="spark://d:1"), commands.UnblockHost(reason="over", host="w1")
        fold, document = folded([
            *told(attempt(), ready, *map(_block, ("w1", "w2", "w3", "w4"))),
            *told(_block("w1"), attempt(2, "it was lost"), _block("w2"), ready, _block("w3"), epoch=6, step_ms=10_000),
        ])  # fmt: skip
        spans = [(one.host, one.began_ms - START_MS, one.ended_ms and one.ended_ms - START_MS) for one in fold.blocks]
        assert spans == [
            ("w1", 3_000, None), ("w2", 4_000, None), ("w3", 5_000, 20_000), ("w4", 6_000, 20_000), ("w3", 50_000, None)
        ]  # fmt: skip
        [record] = told(again, epoch=6, step_ms=60_000)
        fold.apply(record)
        [host] = [one for one in host_rows(scene_of(fold, document, START_MS + 90_000))[0] if one.host == "w4"]
        assert host.state == "was blocked once"
        assert fold.blocks[0].ended_ms == START_MS + 60_000

    def test_the_timeline_has_the_order_of_the_table(self) -> None:
        blocks = [_block("w0"), commands.UnblockHost(reason="over", host="w0"), _block("w1")]
        found = scene(attempt(), STAGE, *slow_host(), task(12, host="a9"), *blocks)
        names = [one.host for one in host_rows(found)[0] if one.host != "am-host"]
        assert names == ["w2", "w1", "w0", "a9"]
        assert [one.host for one in drawing(found).bands] == names

    def test_the_rest_of_a_reason_is_folded_and_told_once(self) -> None:
        block = msgspec.structs.replace(_block("w1"), reason="late (by 2 x; by time); 5 tasks are left; 4 slots")
        fold, document = folded(told(attempt(), STAGE, task(0), block))
        text = page(fold, document, START_MS + 60_000).partition('id="hosts"')[2].partition("</section>")[0]
        assert text.count("late (by 2 x; by time)<details") == 1
        assert text.count("5 tasks are left") == 1
        assert "Blocks that hold now" in text


class TestStages:
    def test_a_slow_host_is_told_from_skew(self) -> None:
        assert lateness_of(scene(attempt(), STAGE, *slow_host()), 0).kind == "host"
        even = slow_host(5_000)
        one_late = [*even[:-1], task(11, host="w1", finish_ms=START_MS + 43_000)]
        verdict = lateness_of(scene(attempt(), STAGE, *one_late), 0)
        assert verdict.kind == "uneven"
        assert "task 11 took 8.0 times as long as usual in its stage, and no host is to blame" in verdict.words
        assert lateness_of(scene(attempt(), STAGE, *even), 0).kind == "even"

    def test_the_first_tasks_of_executors_are_compared_with_each_other(self) -> None:
        assert lateness_of(scene(attempt(), STAGE, *waves(4_800)), 0).kind == "even"
        # One of the others is late as well, and by less than the first ones take.
        found = lateness_of(scene(attempt(), STAGE, *waves(4_800, of_5=2_000)), 0)
        assert (
            found.words == "uneven: task 16 took 10.0 times as long as usual in its stage, and no host is to blame; "
            "its input is not in the records"
        )
        assert lateness_of(scene(attempt(), STAGE, *waves(4_800, of_5=700)), 0).kind == "even"
        assert "task 1 took 4.0 times" in lateness_of(scene(attempt(), STAGE, *waves(4_800, of_0=19_200)), 0).words

    def test_a_first_task_that_failed_was_the_first_one(self) -> None:
        # As Spark's log of a job with two executors has it.
        ran = [("1", 0, 4_813, "SUCCESS"), ("1", 4_788, 4_897, "SUCCESS"), ("1", 4_889, 5_026, "SUCCESS"),
               ("2", 51, 4_957, "FAILED"), ("2", 4_989, 5_632, "SUCCESS")]  # fmt: skip
        tasks = [
            task(number, host=f"w{executor}", executor_id=executor, state=state,
                 launch_ms=START_MS + begin_ms, finish_ms=START_MS + end_ms)
            for number, (executor, begin_ms, end_ms, state) in enumerate(ran)
        ]  # fmt: skip
        assert lateness_of(scene(attempt(), STAGE, *tasks), 0).kind == "even"

    def test_a_start_does_not_take_as_long_as_one_likes(self) -> None:
        only = [task(0, finish_ms=START_MS + 63_000), task(1, launch_ms=START_MS + 63_000, finish_ms=START_MS + 68_000),
                task(2, launch_ms=START_MS + 68_000, finish_ms=START_MS + 73_000)]  # fmt: skip
        assert "task 0 took 4.0 times" in lateness_of(scene(attempt(), STAGE, *only), 0).words

    @pytest.mark.parametrize("late_on_w2", [5, 1], ids=["most of its tasks are late", "it was blocked then"])
    def test_a_host_is_to_blame_for_the_worst_task_however_many_are_late_elsewhere(self, late_on_w2: int) -> None:
        late = {"w0": (3, 20), "w1": (3, 20), "w2": (late_on_w2, 50)}  # so many of eight, and for how many seconds
        tasks = [
            task(number, host=host, finish_ms=START_MS + 3_000 + 1_000 * (seconds if number % 8 < count else 5))
            for place, (host, (count, seconds)) in enumerate(late.items())
            for number in range(8 * place, 8 * place + 8)
        ]
        block = commands.BlockHost(reason="slow", host="w2", until_ms=None, by="detector", cause="slow")
        found = lateness_of(scene(attempt(), STAGE, *tasks, *([block] if late_on_w2 == 1 else [])), 0)
        assert (found.kind, found.words) == (
            "host",
            "slow host: task 16 on w2 took 10.0 times as long as usual in its stage; "
            f"6 of {6 + late_on_w2} late tasks ran on other hosts",
        )
        if late_on_w2 == 1:
            assert lateness_of(scene(attempt(), STAGE, *tasks), 0).kind == "uneven"

    def test_the_stages_of_a_driver_that_died_keep_what_was_found_out_about_them(self) -> None:
        copy_ended = task(0, task_id=1, attempt=1, speculative=True, host="w2", finish_ms=START_MS + 5_000)
        original = task(0, state="KILLED", finish_ms=START_MS + 5_000)
        failed = msgspec.structs.replace(copy_ended, index=1, task_id=3, state="FAILED")
        second = msgspec.structs.replace(_copy("slow"), index=1)
        fold, document = folded([
            *told(attempt(), STAGE, KEPT[FoldedKind.VERDICTS](0), _copy("slow"), second, copy_ended, original, failed,
                  events.DriverLost(exit_code=137, reason="killed")),
            *told(commands.BeginEpoch(reason="it died", epoch=2, restart=1), STAGE, epoch=2, step_ms=20_000),
        ])  # fmt: skip
        earlier, now = stage_rows(scene_of(fold, document, START_MS + 60_000))[0]
        assert earlier.metrics is not None
        assert (earlier.metrics.effective_copies, earlier.metrics.speculative_executions) == (1, 2)
        assert (earlier.known.gained_ms, earlier.known.wasted_ms, earlier.done) == (None, 2_000, 1)
        assert now.metrics is None

    def test_a_plot_of_many_keeps_what_stands_out(self) -> None:
        fold, document = folded(many(20_000))
        rows, _ = stage_rows(scene_of(fold, document, fold.last_ms))
        plots = [row.plot for row in rows if row.plot is not None]
        assert plots
        assert all(len(plot.dots) <= 500 for plot in plots)
        assert all(any(dot.copy for dot in plot.dots) for plot in plots[1:])


def _copy(reason: str) -> commands.LaunchCopy:
    return commands.LaunchCopy(stage=0, stage_attempt=0, index=0, not_hosts=(), reason=reason)


class TestTasks:
    def test_attempts_stand_side_by_side(self) -> None:
        found = scene(
            attempt(), STAGE, _copy("slow: 4.0 x"),
            task(0, task_id=1, attempt=1, speculative=True, host="w2", launch_ms=START_MS + 5_000,
                 finish_ms=START_MS + 8_000),
            task(0, state="KILLED", finish_ms=START_MS + 8_100),
        )  # fmt: skip
        [group] = task_groups(found)
        assert [one.kind for one in group.tasks[0].attempts] == ["killed", "won"]
        [copy], more = copy_rows(found)
        assert (copy.task, copy.winner, copy.original, copy.copy, copy.why, more) == (
            "0.0", "the copy", "w1, 5.1 s", "w2, 3.0 s", "slow: 4.0 x", 0
        )  # fmt: skip

    def test_each_of_two_copies_has_its_own_reason_and_its_balance(self) -> None:
        retry = msgspec.structs.replace(STAGE, stage_attempt=1)
        first = msgspec.structs.replace(_copy("slow"), stage_attempt=1, index=2)
        found = scene(
            attempt(), STAGE, *slow_host(), retry, first, msgspec.structs.replace(first, reason="slow again"),
            task(2, stage_attempt=1, task_id=20, host="w2", state="KILLED", finish_ms=START_MS + 14_000),
            task(2, stage_attempt=1, task_id=21, attempt=1, host="w0", speculative=True, state="FAILED",
                 launch_ms=START_MS + 6_000, finish_ms=START_MS + 8_000),
            task(2, stage_attempt=1, task_id=22, attempt=2, host="w1", speculative=True,
                 launch_ms=START_MS + 9_000, finish_ms=START_MS + 14_000),
        )  # fmt: skip
        copies, _ = copy_rows(found)
        assert [(one.task, one.balance, one.why) for one in copies] == [
            ("0.2 (stage attempt 1)", "about 19 s gained", "slow again"),
            ("0.2 (stage attempt 1)", "2.0 s wasted", "slow"),
        ]

    def test_what_a_copy_gained_is_what_its_ledger_counted(self) -> None:
        fold, document = folded(recorded(18))
        found = scene_of(fold, document, fold.last_ms)
        rows, ledger = copy_rows(found)[0], ledger_of(found)
        assert ledger is not None and ledger.gained_ms  # noqa: PT018
        gained = [one.balance for one in rows if one.winner == "the copy"]
        assert len(gained) == ledger.copies_won
        seconds = [float(text.split()[1]) if text.endswith("gained") else 0.0 for text in gained]
        assert sum(seconds) == pytest.approx(ledger.gained_ms / 1_000, abs=0.05 * len(seconds) + 0.5)

    def test_the_ledger_has_all_copies_also_while_the_next_attempt_does_not_know_of_them(self) -> None:
        copied = task(0, task_id=1, attempt=1, speculative=True, host="w2", finish_ms=START_MS + 5_000)
        fold, document = folded(told(attempt(), STAGE, _copy("slow"), copied))
        known = ledger_of(scene_of(fold, document, START_MS + 60_000))
        assert known is document.speculation.ledger  # type: ignore[union-attr]
        behind = SpeculationStatus(
            enabled=True, detector="progress", slow_tasks=0, ledger=CopyTotals(copies_launched=0)
        )
        found = scene_of(fold, msgspec.structs.replace(document, speculation=behind), START_MS + 60_000)
        ledger = ledger_of(found)
        assert ledger is not None
        assert (ledger.copies_launched, ledger.copies_won, ledger.spent_ms, ledger.gained_ms) == (1, 1, 2_000, None)
        assert len(copy_rows(found)[0]) == 1

    def test_a_copy_that_never_started_says_why(self) -> None:
        found = scene(
            attempt(), STAGE, _copy("slow"),
            events.CopyRefused(stage=0, stage_attempt=0, index=0, why="its task has ended"),
        )  # fmt: skip
        [copy], _ = copy_rows(found)
        assert (copy.copy, copy.balance) == ("never started", "its task has ended")


class TestDrawing:
    @given(
        st.lists(st.tuples(st.integers(0, 1_000), st.integers(0, 500)), min_size=1, max_size=30),
        st.integers(1, 40),
    )
    def test_what_the_strip_covers_adds_up_to_the_time_that_ran(self, spans: list[tuple[int, int]], bins: int) -> None:
        begin = np.array([one for one, _ in spans])
        end = begin + np.array([long for _, long in spans])
        edges = np.linspace(0, 1_500, bins + 1)
        assert busy(begin, end, edges).sum() * 1_500 / bins == pytest.approx((end - begin).sum(), abs=1e-6)

    def test_neighbours_of_one_level_are_one_path(self) -> None:
        assert strip(np.array([1, 1, 0, 1]), 1) == "M0 0h2v10h-2zM3 0h1v10h-1z"

    @given(st.integers(1, 10**10))
    def test_a_time_axis_has_few_ticks(self, length_ms: int) -> None:
        assert 1 <= len(Scale(0, length_ms).ticks()) <= 9

    def test_executors_over_time(self) -> None:
        started = events.ContainerStarted(executor_id="1", container_id="c2", host="w1")
        lost = events.ContainerLost(executor_id="1", container_id="c2", host="w1", exit_code=137, diagnostics="killed")
        found = over_time(scene(attempt(), events.TargetExecutorsChanged(count=2), started, lost))
        assert found is not None
        assert found.top == 2
        assert [(one.who, one.exit_code) for one in found.deaths] == [("executor 1", 137)]


class TestTimeline:
    def test_an_executor_has_no_more_rows_than_cores_though_its_tasks_overlap_a_little(self) -> None:
        executors = [
            events.ContainerStarted(executor_id=name, container_id=f"c{name}", host="w1", cores=cores)
            for name, cores in (("1", 2), ("2", 1))
        ]
        tasks = [
            task(index, executor_id=name, launch_ms=START_MS + 3_000 + 990 * (index // 3),
                 finish_ms=START_MS + 4_000 + 990 * (index // 3))
            for index, name in enumerate(["1", "1", "2"] * 4)
        ]  # fmt: skip
        [band] = drawing(scene(attempt(), *executors, STAGE, *tasks)).bands
        rows = [bar.y for bar in band.bars["ok"]]
        assert sorted(set(rows)) == [2, 11, 20]
        assert rows == rows[:3] * 4
        unknown = drawing(scene(attempt(), STAGE, *tasks)).bands[0]
        assert len({bar.y for bar in unknown.bars["ok"]}) == 6

    @pytest.mark.parametrize(("failing", "running"), [(1_490, 40), (1_490, 2_000), (100, 2_000)])
    def test_where_there_are_too_many_attempts_those_that_run_longest_are_drawn(
        self, failing: int, running: int
    ) -> None:
        usual = [task(number, task_id=number) for number in range(4_000)]
        failed = [task(number, task_id=number, state="FAILED") for number in range(5_000, 5_000 + failing)]
        runs = [begun(number, launch_ms=START_MS + 20_000 - number) for number in range(8_000, 8_000 + running)]
        found = drawing(scene(attempt(), STAGE, *usual, *failed, *runs))
        [bars] = [one.bars for one in found.bands if one.bars]
        drawn = min(running, max(750, 1_500 - failing))
        assert {kind: len(each) for kind, each in bars.items()} == {
            "failed": min(failing, 1_500 - drawn),
            "running": drawn,
        }
        last = 8_000 + running
        assert {bar.text.partition(",")[0] for bar in bars["running"]} == {
            f"task 0.{number}" for number in range(last - drawn, last)
        }
        assert found.singled_out == 1_500


class TestSentences:
    def test_there_are_at_most_six_and_the_worst_comes_first(self) -> None:
        for seed in (0, 6, 12, 18):
            fold, document = folded(recorded(seed))
            told_now = sentences(scene_of(fold, document, fold.last_ms))
            assert 3 <= len(told_now) <= 6
            ranks = ["bad", "warn", "good", "calm"]
            assert [ranks.index(one.tone) for one in told_now[:-1]] == sorted(
                ranks.index(one.tone) for one in told_now[:-1]
            )

    def test_the_directories_of_a_program_and_the_details_of_a_wait_are_left_out(self) -> None:
        name = "collect at /data/1/yarn/local/usercache/me/appcache/application_1_0001/container_1/job.py:7"
        why = events.PendingExplained(reason="no host satisfies the constraints Details : notin,node,w1:notin,node,w2")
        wanted, end = events.TargetExecutorsChanged(count=2), events.StageFinished(stage=0, stage_attempt=0)
        twice = [task(0), task(0, task_id=1, attempt=1)]
        fold, document = folded(told(attempt(), wanted, why, msgspec.structs.replace(STAGE, name=name), *twice, end))
        text = page(fold, document, START_MS + 60_000).partition('<section id="events"')[0]
        assert text.count("collect at job.py:7") >= 2
        assert "no host satisfies the constraints" in text
        assert "usercache" not in text
        assert "Details" not in text

    def test_a_run_without_trouble_has_three(self) -> None:
        end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
        even = [task(index, host=f"w{index % 3}") for index in range(12)]
        found = scene(attempt(), STAGE, *even, events.StageFinished(stage=0, stage_attempt=0), end)
        assert [one.text for one in sentences(found)] == [
            "All hosts took about as long as each other (3 hosts compared).",
            "Stage 0 (count) took longest: 13 s of 15 s.",
            "It succeeded after 15 s: 12 tasks finished, in 1 stage.",
        ]

    def test_the_counts_are_of_all_driver_epochs_and_of_stages_in_which_tasks_finished(self) -> None:
        again = commands.BeginEpoch(reason="it died", epoch=2, restart=1)
        died = events.DriverLost(exit_code=137, reason="killed")
        retry, other = (msgspec.structs.replace(STAGE, stage=stage, stage_attempt=1 - stage) for stage in (0, 1))
        history = told(
            attempt(), STAGE, task(0), task(1), retry, task(2, stage_attempt=1), other, begun(9, stage=1), died
        )
        fold, document = folded([*history, *told(again, epoch=2, step_ms=20_000)])
        now = sentences(scene_of(fold, document, START_MS + 61_000))[-1]
        assert now.text == (
            "It has been running for 60 s and 2 driver epochs. "
            "Driver epoch 2: no stage has begun; earlier ones finished 3 tasks."
        )
        end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
        fold, document = folded([*history, *told(again, STAGE, task(0), end, epoch=2, step_ms=20_000)])
        last = sentences(scene_of(fold, document, START_MS + 90_000))[-1]
        assert last.text.endswith(
            "and 2 driver epochs: 4 tasks finished, in 3 attempts of 2 stages of 2 driver epochs."
        )

    def test_the_last_death_tells_of_the_attempts_that_ran_then(self) -> None:
        ready, died = events.DriverReady(driver_url="spark://d:1"), events.DriverLost(exit_code=137, reason="killed")
        again = commands.BeginEpoch(reason="it died", epoch=2, restart=1)
        fold, document = folded([
            *told(attempt(), ready, STAGE, begun(0), begun(1), died),
            *told(again, ready, STAGE, begun(0, launch_ms=START_MS + 30_000), epoch=2, step_ms=10_000),
            *told(attempt(2, "it was lost"), epoch=6, step_ms=90_000),
        ])  # fmt: skip
        first = sentences(scene_of(fold, document, START_MS + 100_000))[0]
        assert "1 application master and 1 driver died. The last time, between " in first.text
        assert "1 task attempt ran then and was lost." in first.text

    def test_all_failures_are_counted_and_reasons_that_differ_in_numbers_are_one(self) -> None:
        failed = [
            task(number, state="FAILED", failure=f"bad line {number}", host="w2" if number % 5 else "w1")
            for number in range(2_500)
        ]
        last = task(2_501, state="FAILED", failure="no space left")
        [first] = [one.text for one in sentences(scene(attempt(), STAGE, *failed, last)) if "failed" in one.text]
        assert first == (
            "2,501 task attempts failed. 2,000 of them ran on w2. "
            "Most often (1,999 of the latest 2,000), for example: bad line 2499."
        )

    @pytest.mark.parametrize(
        ("reasons", "words"),
        [
            (["no space left"], "1 task attempt failed. The reason: no space left."),
            (["no space left", "bad line"], "2 task attempts failed. For example: no space left."),
            (["it failed with:\n"], "1 task attempt failed. The reason: it failed with."),
            (["", ""], "2 task attempts failed. The records do not say why."),
        ],
    )
    def test_a_reason_that_occurred_once_is_an_example(self, reasons: list[str], words: str) -> None:
        failed = [task(number, state="FAILED", failure=reason) for number, reason in enumerate(reasons)]
        assert words in [one.text for one in sentences(scene(attempt(), STAGE, *failed))]

    def test_failures_in_python_are_told_by_their_errors_and_different_ones_apart(self) -> None:
        begins = (
            "a.PythonException: An exception was thrown from the Python worker: Traceback (most recent call last):\n"
        )
        errors = ["ValueError: bad row 7", "MemoryError", "ValueError: bad row 9", "OSError: no space left"]
        failed = [
            task(number, state="FAILED", failure=f"{begins}  File 'job.py', line 7, in f\n{error}\n\tat a.B(B.java)")
            for number, error in enumerate(errors)
        ]
        found = scene(
            attempt(), STAGE, *failed, events.StageFinished(stage=0, stage_attempt=0, failure=failed[1].failure)
        )
        assert "4 task attempts failed. Most often (2 of 4), for example: ValueError: bad row 9." in [
            one.text for one in sentences(found)
        ]
        [stage], _ = stage_rows(found)
        assert stage.failure == "MemoryError"
        assert {why for *_, why in stage.slowest} == set(errors)

    def test_slow_hosts_beyond_the_second_have_their_numbers_and_blocks(self) -> None:
        slow = {"w7": 70, "w6": 60, "w5": 50, "w4": 40}
        tasks = [
            task(8 * place + number, host=host, finish_ms=START_MS + 3_000 + 1_000 * slow.get(host, 10))
            for place, host in enumerate(f"w{number}" for number in range(12))
            for number in range(8)
        ]
        told_now = [one.text for one in sentences(scene(attempt(), STAGE, *tasks, _block("w5")))]
        assert (
            told_now[2] == "2 more hosts (w5, w4) took 4.0 to 5.0 times as long as others; yarnspec blocked 1 of them."
        )
        three = [one for one in tasks if one.host != "w4"]
        told_now = [one.text for one in sentences(scene(attempt(), STAGE, *three, _block("w5")))]
        assert told_now[2] == "1 more host (w5) took 5.0 times as long as others; yarnspec blocked it too."
        blocked = [_block(f"w{number}") for number in range(6)]
        assert "yarnspec blocked 4 more hosts (w2, w3, w4 and others)." in [
            one.text for one in sentences(scene(attempt(), *blocked))
        ]

    def test_one_missing_executor_does_not_run(self) -> None:
        found = scene(attempt(), events.TargetExecutorsChanged(count=1))
        assert "1 of 1 wanted executor does not run yet." in [one.text for one in sentences(found)]

    def test_a_warning_that_a_sentence_has_told_is_left_out(self) -> None:
        refused = commands.RefuseBlock(reason="2 of 3 are blocked", host="w2", kind="block")
        other = msgspec.structs.replace(refused, host="w0")
        fold, document = folded([
            *told(attempt(), STAGE, *slow_host(), refused, other, commands.Warn(reason="the disk is full")),
            *told(attempt(2, "it was lost"), epoch=6, step_ms=90_000),
        ])  # fmt: skip
        found = scene_of(fold, document, START_MS + 100_000)
        assert "application attempt 1 was lost: it was lost" in document.warnings
        assert untold_warnings(found, sentences(found)) == ["not blocked: w0: 2 of 3 are blocked", "the disk is full"]
        assert untold_warnings(found, []) == list(document.warnings)

    def test_a_failure_says_how_it_ended(self) -> None:
        end = commands.FinishApplication(reason="ValueError: no such column", status="FAILED", exit_code=1)
        first = sentences(scene(attempt(), STAGE, task(0), end))[0]
        assert first.tone == "bad"
        assert "FAILED: ValueError: no such column" in first.text
