"""Why a task or a host was, or was not, acted on, out of records alone."""

from __future__ import annotations

import msgspec
import pytest

from tests.core.stragglers import H3, Stragglers
from tests.core.world import of
from yarnspec.core.copies import speculation
from yarnspec.core.copies.speculationview import Explanation
from yarnspec.core.detectors.registry import DetectorSettings
from yarnspec.core.messages import commands, events
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.observations import StageFlag
from yarnspec.observe.forms.records import Record, decode, encode, record_of
from yarnspec.observe.hindsight.afterwards import explain_host, explain_task
from yarnspec.observe.hindsight.alike import alike_lines

SEED = DetectorSettings(kind="execution-time", baseline_lower_bound_ms=1_000)
T0 = 1_700_000_000_000
HOSTS = ("h1", "h2", "h3", "h4")


def ended(index: int, begin_ms: int, end_ms: int, host: str, state: str = "SUCCESS", *, copy: bool = False) -> Event:
    return events.TaskFinished(
        stage=3, stage_attempt=0, index=index, attempt=int(copy), task_id=100 * index + copy, executor_id=host,
        host=host, state=state, launch_ms=T0 + begin_ms, finish_ms=T0 + end_ms, speculative=copy,
    )  # fmt: skip


def records(*messages: Event | Command, epoch: int = 1) -> list[Record]:
    """Each at the time of its end, or one second after the one before it."""
    time_ms, made = T0, []
    for seq, message in enumerate(messages, 1):
        time_ms = message.finish_ms if isinstance(message, events.TaskFinished) else time_ms + 1
        made.append(record_of(message, seq=seq, time_ms=time_ms, epoch=epoch))
    return made


STARTED = events.StageStarted(stage=3, stage_attempt=0, name="collect", tasks=8)
# Seven of eight take two seconds; the eighth, on h4, takes its time.
QUICK = tuple(ended(index, 0, 2_000 + index, HOSTS[index % 3]) for index in range(7))
VERDICT = commands.Verdict(
    stage=3, stage_attempt=0, index=7, attempt=0, task_id=700, host="h4", executor_id="h4", detector="execution-time",
    elapsed_ms=3_100, numbers={"baseline_ms": 3_000.0}, reason="it has run for 3.1 s",
)  # fmt: skip
SLOW = commands.JudgeTasks(verdicts=(VERDICT,), reason="1 slow")
COPY = commands.LaunchCopy(stage=3, stage_attempt=0, index=7, not_hosts=("h4",), reason="3.7 is slow")


def task(*messages: Event | Command, index: int = 7) -> Explanation:
    found = explain_task(records(*messages), 3, index, SEED)
    assert found is not None
    return found


class TestTask:
    def test_one_that_was_never_slow_is_told_with_the_detectors_own_numbers(self) -> None:
        found = task(STARTED, *QUICK, ended(7, 0, 2_900, "h4"))
        assert found.verdict == "it was never found slow"
        # Seed 000: six of eight finished first, their median 2.0 s, times 1.5.
        assert (found.numbers["needed"], found.numbers["tasks"]) == (6, 8)
        assert found.numbers["baseline_ms"] == 1.5 * 2_002.5
        assert (found.numbers["took_ms"], found.numbers["finished_on"]) == (2_900, "h4")
        assert "the baseline is 3.0 s" in found.lines[-1]
        assert "it was never found slow" in task(STARTED, *QUICK, index=0).verdict

    def test_one_of_a_stage_too_young_for_a_baseline(self) -> None:
        found = task(STARTED, *QUICK[:3], ended(7, 0, 9_000, "h4"))
        assert "before 6 of 8 tasks have finished (3 have)" in found.lines[-1]

    def test_one_whose_copy_won(self) -> None:
        found = task(
            STARTED, *QUICK, SLOW, COPY, ended(7, 3_200, 5_200, "h1", copy=True), ended(7, 0, 5_300, "h4", "KILLED")
        )
        assert found.verdict == "it was copied, and the copy finished first"
        assert found.numbers["baseline_ms"] == 3_000.0
        story = "\n".join(found.lines)
        for words in ("found slow: it has run for 3.1 s", "a copy was asked for, not on h4", "at 5.2 s: copy 1 on h1"):
            assert words in story

    def test_what_its_copy_gained(self) -> None:
        said = "the copy on h1 ended first, about 3.0 s before the original would have"
        credit = commands.CreditCopy(stage=3, stage_attempt=0, index=7, task_id=701, gained_ms=3_000, reason=said)
        found = task(
            STARTED, *QUICK, SLOW, COPY, ended(7, 3_200, 5_200, "h1", copy=True), credit,
            msgspec.structs.replace(credit, index=6, reason="another one"),
        )  # fmt: skip
        assert any(line.endswith(said) for line in found.lines)
        assert not any("another one" in line for line in found.lines)

    def test_one_whose_original_won(self) -> None:
        found = task(
            STARTED, *QUICK, SLOW, COPY, ended(7, 0, 4_000, "h4"), ended(7, 3_200, 4_010, "h1", "KILLED", copy=True)
        )
        assert found.verdict == "it was copied, and the original finished first"

    def test_one_whose_copy_never_started(self) -> None:
        refused = events.CopyRefused(stage=3, stage_attempt=0, index=7, why="its task has ended")
        found = task(STARTED, *QUICK, SLOW, COPY, refused, ended(7, 0, 4_000, "h4"))
        assert found.verdict == "a copy was asked for and did not start: its task has ended"

    def test_one_that_was_slow_and_not_copied(self) -> None:
        why = "its stage writes by itself"
        withheld = commands.WithholdCopies(stage=3, stage_attempt=0, indexes=(2, 7), reason=why)
        found = task(STARTED, *QUICK, SLOW, withheld, ended(7, 0, 9_000, "h4"))
        assert found.verdict == f"it was found slow and not copied: {why}"
        assert found.numbers["baseline_ms"] == 3_000.0
        assert sum(line.endswith(f"slow, and not copied: {why}") for line in found.lines) == 1

    def test_of_several_reasons_the_newest_is_the_verdict(self) -> None:
        first, other, newest = (
            commands.WithholdCopies(stage=3, stage_attempt=0, indexes=indexes, reason=why)
            for why, indexes in (("2 copies are live", (7,)), ("another's", (6,)), ("9 tasks wait", (5, 7)))
        )
        found = task(STARTED, *QUICK, SLOW, first, newest, other, ended(7, 0, 9_000, "h4"))
        assert found.verdict == "it was found slow and not copied: 9 tasks wait"
        told = [line for line in found.lines if "not copied" in line]
        assert [line.partition("not copied: ")[2] for line in told] == ["2 copies are live", "9 tasks wait"]

    def test_why_one_was_copied_late_is_told_beside_what_became_of_it(self) -> None:
        withheld = commands.WithholdCopies(stage=3, stage_attempt=0, indexes=(7,), reason="2 copies are live")
        found = task(STARTED, *QUICK, SLOW, withheld, COPY, ended(7, 0, 4_000, "h4"))
        assert found.verdict == "it was copied, and the original finished first"
        assert any("not copied: 2 copies are live" in line for line in found.lines)

    def test_one_of_an_application_that_recorded_no_reasons(self) -> None:
        assert task(STARTED, *QUICK, SLOW, ended(7, 0, 9_000, "h4")).verdict == "it was found slow and not copied"

    def test_one_that_never_ended(self) -> None:
        assert "has not ended" in task(STARTED, *QUICK).verdict
        over = events.StageFinished(stage=3, stage_attempt=0, failure="cancelled")
        assert task(STARTED, *QUICK, over).verdict == "the records have no end of it"

    def test_one_without_a_verdict_where_not_all_slow_tasks_have_one(self) -> None:
        told, others = (
            commands.JudgeTasks(verdicts=(VERDICT,), untold=untold, reason="tasks are slow") for untold in (0, 1000)
        )
        late = ended(6, 0, 9_000, "h3")
        found = task(STARTED, *QUICK[:6], others, late, index=6)
        crowd = "1000 slow tasks of the stages that ran then"
        assert found.verdict == f"the records have no verdict on it, nor on all of {crowd}"
        assert found.lines[-1].startswith("judged again by time alone")
        # Of a crowd the same ones may be the worst again and again: then no record tells that others become slow.
        assert "no verdict" in task(STARTED, *QUICK[:5], others, QUICK[5], late, index=6).verdict
        # One that ended before, or began after all had been told of, cannot have been among them.
        assert task(STARTED, *QUICK, others, index=5).verdict == "it was never found slow"
        assert task(STARTED, *QUICK[:6], told, late, index=6).verdict == "it was never found slow"
        later = ended(6, 5_000, 9_000, "h3")
        assert task(STARTED, *QUICK[:6], others, told, later, index=6).verdict == "it was never found slow"
        assert "no verdict" in task(STARTED, *QUICK[:6], others, told, late, index=6).verdict

    def test_one_whose_attempt_failed_in_python(self) -> None:
        failure = "a.PythonException: Traceback (most recent call last):\n  File 'job.py', line 7, in f\nValueError: no"
        failed = msgspec.structs.replace(ended(7, 0, 2_500, "h4", "FAILED"), failure=failure)
        story = task(STARTED, *QUICK, failed, ended(7, 2_600, 4_600, "h1")).lines
        assert any(line.endswith("failed after 2.5 s, ValueError: no") for line in story)

    def test_one_whose_output_was_lost(self) -> None:
        first = QUICK[0]
        lost = msgspec.structs.replace(first, state="FAILED", failure="Resubmitted")
        messages = records(STARTED, *QUICK, lost, ended(7, 0, 90_000, "h4"))
        messages[8] = msgspec.structs.replace(messages[8], time_ms=T0 + 60_000)
        found = explain_task(messages, 3, 0, SEED)
        assert found is not None
        assert "at 60.0 s: what attempt 0 on h1 (executor h1) had put out was lost" in found.lines
        assert sum("attempt 0 on h1 (executor h1) began" in line for line in found.lines) == 1

    def test_an_output_counts_until_it_is_lost(self) -> None:
        """With one of them lost only five of six have ended as of the end of another, and there is no baseline."""
        whole = [*QUICK[:6], ended(7, 0, 9_000, "h4")]
        lost = msgspec.structs.replace(QUICK[0], state="FAILED", failure="Resubmitted")
        for loss_ms, baseline in ((60_000, True), (5_000, False)):
            messages = records(STARTED, *whole, lost)
            messages[-1] = msgspec.structs.replace(messages[-1], time_ms=T0 + loss_ms)
            found = explain_task(messages, 3, 7, SEED)
            assert found is not None
            assert ("baseline_ms" in found.numbers) == baseline

    def test_the_newest_attempt_of_the_stage_counts(self) -> None:
        again = events.StageStarted(stage=3, stage_attempt=1, name="collect", tasks=8)
        assert "has not ended" in task(STARTED, *QUICK, SLOW, COPY, again).verdict

    def test_a_new_driver_numbers_its_stages_anew(self) -> None:
        first, second = records(STARTED, *QUICK, SLOW, COPY), records(STARTED, epoch=2)
        found = explain_task([*first, *second], 3, 7, SEED)
        assert found is not None
        assert "has not ended" in found.verdict

    def test_what_there_was_not(self) -> None:
        assert explain_task(records(STARTED, *QUICK), 9, 0, SEED) is None
        assert explain_task(records(STARTED, *QUICK), 3, 8, SEED) is None
        assert explain_task([], 3, 8, SEED) is None


def stages(count: int, slow_host: str | None) -> list[Event]:
    """Stages of 16 tasks of two seconds, twenty on the slow host."""
    made: list[Event] = []
    for stage in range(count):
        begin_ms = 30_000 * stage
        made.append(events.StageStarted(stage=stage, stage_attempt=0, name="s", tasks=16))
        for index in range(16):
            host = HOSTS[index % 4]
            took_ms = 20_000 if host == slow_host else 2_000
            made.append(
                events.TaskFinished(
                    stage=stage,
                    stage_attempt=0,
                    index=index,
                    attempt=0,
                    task_id=100 * stage + index,
                    executor_id=host,
                    host=host,
                    state="SUCCESS",
                    launch_ms=T0 + begin_ms,
                    finish_ms=T0 + begin_ms + took_ms,
                )
            )
        made.append(events.StageFinished(stage=stage, stage_attempt=0))
    return made


class TestHost:
    def test_blocks_for_like_tasks_of_a_stage_are_told_as_one(self) -> None:
        blocks = [
            commands.BlockHost(
                host="h4", level="task", stage=3, index=index, until_ms=None, by="yarnspec", cause="slow",
                reason=f"it took {factor} x the 40 ms of such a task",
            )
            for index, factor in ((1, 2.0), (2, 84.9), (3, 3.1))
        ]  # fmt: skip
        found = explain_host(records(*stages(2, "h4"), *blocks), "h4", SEED)
        assert found is not None
        assert sum("such a task" in line for line in found.lines) == 3
        (told,) = (line for line in alike_lines(found.lines) if "such a task" in line)
        assert told.startswith("3 alike (2.0 to 84.9 x), the worst: at ")
        assert "blocked (task 3.2, slow) by yarnspec: it took 84.9 x the 40 ms" in told

    def test_one_that_was_blocked(self) -> None:
        faulty = commands.SlowHostNotBlocked(host="h4", cause="faulty", reason="3 tasks failed")
        found = explain_host(records(*stages(1, None), faulty), "h4", SEED)
        assert found is not None
        assert found.verdict == "it was never blocked, although it was faulty: 3 tasks failed"
        block = commands.BlockHost(host="h4", until_ms=T0 + 60_000, by="yarnspec", reason="2x slower", cause="slow")
        over = commands.UnblockHost(host="h4", reason="the block is over")
        found = explain_host(records(*stages(2, "h4"), SLOW, block, over), "h4", SEED)
        assert found is not None
        assert found.verdict == "it was blocked once"
        assert "(application, slow) by yarnspec: 2x slower" in "\n".join(found.lines)
        assert (found.numbers["slow_tasks"], found.numbers["ended_attempts"]) == (1, 8)
        extended = explain_host(records(block, over, block, block), "h4", SEED)
        assert extended is not None
        assert extended.verdict == "it was blocked 2 times, and was at the end"
        # The next attempt goes on with it, as it learns from the events and then from the journal.
        again = events.AttemptStarted(
            application_id="a", attempt=2, epoch=2, container_id="c", host="h1", placement_mode="blacklist"
        )
        read = msgspec.structs.replace(block, until_ms=T0 + 60_030)
        carried = explain_host(records(block, again, read, block), "h4", SEED)
        assert carried is not None
        assert carried.verdict == "it was blocked once, and was at the end"
        anew = msgspec.structs.replace(block, until_ms=T0 + 90_000)
        later = explain_host(records(block, again, anew), "h4", SEED)
        assert later is not None
        assert later.verdict == "it was blocked 2 times, and was at the end"

    def test_one_that_was_not_is_told_with_what_its_tasks_say(self) -> None:
        healthy = explain_host(records(*stages(3, None)), "h4", SEED)
        slow = explain_host(records(*stages(3, "h4")), "h4", SEED)
        assert healthy is not None
        assert slow is not None
        assert healthy.verdict == slow.verdict == "it was never blocked"
        assert healthy.numbers["factor_by_time_alone"] == 1.0
        assert isinstance(slow.numbers["factor_by_time_alone"], float)
        assert slow.numbers["factor_by_time_alone"] > 3
        assert "12 success" in "\n".join(slow.lines)
        assert slow.lines[-1].startswith("judged again by time alone, without inputs: tasks on h4 take ")

    def test_one_without_tasks(self) -> None:
        reported = events.HostsReported(hosts=(events.HostReport(host="h9"),))
        found = explain_host(records(reported), "h9", SEED)
        assert found is not None
        assert found.verdict == "it was never blocked"
        assert explain_host(records(reported), "h1", SEED) is None

    def test_one_that_was_slow_and_kept(self) -> None:
        why = "tasks on h4 take 2.0 x as long as on other hosts; 1000 tasks are left"
        kept = commands.SlowHostNotBlocked(host="h4", reason=why)
        found = explain_host(records(*stages(1, None), kept), "h4", SEED)
        assert found is not None
        assert found.verdict == f"it was never blocked, although it was slow: {why}"
        assert f"slow, but not blocked: {why}" in found.lines[0]
        block = commands.BlockHost(host="h4", until_ms=T0 + 60_000, by="yarnspec", reason="2x slower", cause="slow")
        later = explain_host(records(kept, block), "h4", SEED)
        assert later is not None
        assert later.verdict == "it was blocked once, and was at the end"
        assert [line.partition(" s: ")[2].partition(" ")[0] for line in later.lines[:2]] == ["slow,", "blocked"]
        other = explain_host(records(*stages(1, None), kept), "h1", SEED)
        assert other is not None
        assert other.verdict == "it was never blocked"

    def test_a_refused_block(self) -> None:
        refused = commands.RefuseBlock(host="h4", reason="2 of 4 hosts are too many")
        found = explain_host(records(refused), "h4", SEED)
        assert found is not None
        assert "not blocked: 2 of 4" in found.lines[0]


def test_that_more_were_slow_than_the_core_told_of_is_in_its_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(speculation, "_AT_ONCE", 1)
    world = Stragglers()
    tasks = world.fill(0, 8)
    for index in range(3, 8):
        world.end(tasks[index])
    while not (judged := of(commands.JudgeTasks, world.commands)):
        world.pass_ms(500)
    (told,) = {one.index for one in judged[0].verdicts}
    started = events.StageStarted(stage=0, stage_attempt=0, name="collect", tasks=8)
    untold = min({0, 1, 2} - {told})
    end = events.TaskFinished(
        stage=0, stage_attempt=0, index=untold, attempt=0, task_id=tasks[untold], executor_id="1", host=H3,
        state="SUCCESS", launch_ms=world.now_ms - 6_000, finish_ms=world.now_ms,
    )  # fmt: skip
    found = explain_task(records(started, judged[0], end), 0, untold, SEED)
    assert found is not None
    assert judged[0].untold == 2
    assert "no verdict on it, nor on all of 2 slow tasks" in found.verdict
    # When the others have ended the crowd is over, and a record says so.
    for index in {0, 1, 2} - {told}:
        world.end(tasks[index])
    world.pass_ms(2_000)
    assert [(one.verdicts, one.untold) for one in of(commands.JudgeTasks, world.commands)[1:]] == [((), 0)]


def test_what_the_core_knew_of_a_slow_task_that_it_left_alone_is_in_the_records_after_the_stage() -> None:
    world = Stragglers()
    tasks = world.fill(0, 8, StageFlag.WRITES)
    world.pass_ms(1_000)
    for index in set(range(8)) - {1}:
        world.end(tasks[index])
    world.pass_ms(5_000)
    live = world.negotiator.explain_task(0, 1, world.now_ms)
    world.end(tasks[1])
    world.stage_ends(0)
    started = events.StageStarted(stage=0, stage_attempt=0, name="foreachPartition", tasks=8)
    end = events.TaskFinished(
        stage=0, stage_attempt=0, index=1, attempt=0, task_id=tasks[1], executor_id="2", host=H3, state="SUCCESS",
        launch_ms=world.now_ms - 6_000, finish_ms=world.now_ms,
    )  # fmt: skip
    written = [decode(encode(one)) for one in records(started, *world.commands, end)]
    found = explain_task(written, 0, 1, SEED)
    assert found is not None
    assert live is not None
    why = found.verdict.removeprefix("it was found slow and not copied: ")
    assert "its stage writes by itself" in why
    assert "speculation.copy_writers" in why
    assert any(f"slow, and not copied: {why}" in line for line in live.lines)
