"""Blocks, slow tasks and copies in the status, as records tell them."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec

from yarnspec.core.messages import commands, events
from yarnspec.core.messages import recoverycommands as rc
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.core.messages.figures import LedgerFigures, StageSpeculation
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.records import record_of
from yarnspec.observe.status.status_fold import fold

APP = "application_1_0001"
STARTED = events.AttemptStarted(
    application_id=APP, attempt=1, epoch=1, container_id="c1", host="h0", placement_mode="blacklist"
)


def status(*messages: Event | Command) -> StatusDocument:
    records = [record_of(one, seq=at, time_ms=1000 * at, epoch=1) for at, one in enumerate((STARTED, *messages), 1)]
    return fold(APP, records)


def block(host: str = "h1", until_ms: int | None = 9000, **more: Any) -> commands.BlockHost:
    return commands.BlockHost(host=host, until_ms=until_ms, by="yarnspec", reason="slow", **more)


class TestBlocks:
    def test_each_level_is_a_block_of_its_own_and_only_wide_ones_keep_containers_off(self) -> None:
        document = status(
            block(cause="slow", level="stage", stage=3),
            block(cause="slow", level="task", stage=3, index=1),
            block("h2", None, level="cluster"),
            commands.BlockExecutor(executor_id="7", host="h3", until_ms=1, by="y", reason="r", cause="faulty"),
        )
        assert [(one.level, one.host, one.executor_id, one.stage, one.index) for one in document.blocks] == [
            ("stage", "h1", None, 3, None),
            ("task", "h1", None, 3, 1),
            ("cluster", "h2", None, None, None),
            ("application", "h3", "7", None, None),
        ]
        assert [one.host for one in document.blocked_hosts] == ["h2"]

    def test_an_unblock_ends_the_block_of_its_level_only(self) -> None:
        document = status(block(), block(level="cluster"), commands.UnblockHost(host="h1", reason="over"))
        assert [one.level for one in document.blocks] == ["cluster"]
        assert [one.host for one in document.blocked_hosts] == ["h1"]

    def test_a_host_blocked_twice_is_shown_once_with_the_longer_block(self) -> None:
        for order in permutations((block(until_ms=9000), block(until_ms=None, level="cluster"))):
            (one,) = status(*order).blocked_hosts
            assert one.until_ms is None

    def test_an_extended_block_began_when_it_first_did(self) -> None:
        (one,) = status(block(until_ms=5000), block(until_ms=9000)).blocks
        assert (one.since_ms, one.until_ms) == (2000, 9000)

    def test_what_is_wrong_with_the_shared_list_is_a_warning_while_it_is_so(self) -> None:
        bad = events.ClusterBlocksRead(blocks=(), problems=("h7@ann.json is ignored: it is forged",))
        assert status(bad).warnings == bad.problems
        assert status(bad, events.ClusterBlocksRead(blocks=())).warnings == ()


STAGE = events.StageStarted(stage=3, stage_attempt=0, name="collect", tasks=4)
COPY = commands.LaunchCopy(stage=3, stage_attempt=0, index=1, not_hosts=("h1",), reason="3.1 is slow")
SLOW = commands.JudgeTasks(
    verdicts=(
        commands.Verdict(
            stage=3, stage_attempt=0, index=1, attempt=0, task_id=1, host="h1", executor_id="1",
            detector="execution-time", elapsed_ms=70_000, numbers={"baseline_ms": 60_000.0}, reason="slow",
        ),
    ),
    reason="1 slow",
)  # fmt: skip


def ended(state: str, took_ms: int, *, copy: bool = False, index: int = 1) -> events.TaskFinished:
    return events.TaskFinished(
        stage=3, stage_attempt=0, index=index, attempt=int(copy), task_id=10 * index + copy, executor_id="1",
        host="h2" if copy else "h1", state=state, launch_ms=0, finish_ms=took_ms, speculative=copy,
    )  # fmt: skip


class TestCopies:
    def test_nothing_slow_is_nothing_to_show(self) -> None:
        document = status(STAGE, ended("SUCCESS", 10))
        assert document.speculation is None
        assert document.stages[0].metrics is None

    def test_while_a_copy_runs(self) -> None:
        document = status(STAGE, SLOW, COPY)
        (stage,) = document.stages
        assert stage.metrics is not None
        assert (stage.metrics.slow_tasks, stage.metrics.speculative_threshold_ms) == (1, 60_000.0)
        assert (stage.copies_running, stage.metrics.effective_copies) == (1, 0)
        assert document.speculation is not None
        assert document.speculation.detector == "execution-time"
        assert document.speculation.ledger.copies_running == 1

    def test_a_summary_of_a_running_stage_is_not_its_last_word(self) -> None:
        figures = StageSpeculation(
            stage=3, stage_attempt=0, name="s", tasks=4, state="RUNNING", slow_tasks=1, effective_copies=0,
            min_finished_for_speculation=3, finished_executions=3, speculative_executions=1,
            speculative_threshold_ms=5.5, running_ms_by_index={1: 900}, fastest_copies=0, running_copies=1,
            gained_ms=0, wasted_ms=0,
        )  # fmt: skip
        summary = commands.Summarize(stages=(figures,), reason="so far")
        finished = events.StageFinished(stage=3, stage_attempt=0)
        won = (ended("SUCCESS", 5_000, copy=True), ended("KILLED", 80_000), finished)
        (stage,) = status(STAGE, SLOW, COPY, summary, *won).stages
        assert stage.metrics is not None
        assert (stage.metrics.slow_tasks, stage.metrics.effective_copies, stage.copies_running) == (0, 1, 0)

    def test_why_a_stage_had_no_copies_is_in_its_last_summary(self) -> None:
        figures = StageSpeculation(
            stage=3, stage_attempt=0, name="s", tasks=4, state="SUCCESS", slow_tasks=0, effective_copies=0,
            min_finished_for_speculation=3, finished_executions=4, speculative_executions=0,
            speculative_threshold_ms=None, running_ms_by_index={}, fastest_copies=0, running_copies=0,
            gained_ms=0, wasted_ms=0, not_copied="its stage belongs to a stream",
        )  # fmt: skip
        summary = commands.Summarize(stages=(figures,), reason="the end")
        (stage,) = status(STAGE, events.StageFinished(stage=3, stage_attempt=0), summary).stages
        assert stage.not_copied == "its stage belongs to a stream"

    def test_a_copy_that_won(self) -> None:
        document = status(STAGE, SLOW, COPY, ended("SUCCESS", 5_000, copy=True), ended("KILLED", 80_000))
        (stage,) = document.stages
        assert stage.metrics is not None
        assert stage.metrics.effective_copies == 1
        assert stage.metrics.fastest_copies == 1
        assert stage.metrics.running_ms_by_index == {1: 80_000}
        assert (stage.metrics.slow_tasks, stage.copies_running, stage.wasted_ms) == (0, 0, 0)
        assert document.speculation is not None
        ledger = document.speculation.ledger
        assert (ledger.copies_launched, ledger.copies_won, ledger.spent_ms, ledger.gained_ms) == (1, 1, 5_000, None)

    def test_copies_that_lost_failed_or_never_started(self) -> None:
        lost = status(STAGE, COPY, ended("SUCCESS", 80_000), ended("KILLED", 5_000, copy=True)).speculation
        failed = status(STAGE, COPY, ended("FAILED", 5_000, copy=True)).speculation
        refused = status(
            STAGE, COPY, events.CopyRefused(stage=3, stage_attempt=0, index=1, why="its task has ended")
        ).speculation
        assert lost is not None
        assert failed is not None
        assert refused is not None
        assert (lost.ledger.copies_cancelled, lost.ledger.copies_won, lost.ledger.wasted_ms) == (1, 0, 5_000)
        assert (failed.ledger.copies_failed, failed.ledger.wasted_ms) == (1, 5_000)
        assert (refused.ledger.copies_refused, refused.ledger.copies_launched) == (1, 0)
        withdrawn = status(
            STAGE, COPY, commands.WithdrawCopy(stage=3, stage_attempt=0, index=1, reason="its task has ended")
        ).speculation
        assert withdrawn is not None
        ledger = withdrawn.ledger
        assert (ledger.copies_withdrawn, ledger.copies_refused, ledger.copies_launched) == (1, 0, 0)

    def test_the_ledger_goes_on_in_the_next_life_and_in_the_next_attempt_and_the_stages_begin_anew(self) -> None:
        again = commands.BeginEpoch(epoch=2, restart=1, reason="the driver was lost")
        won = (STAGE, SLOW, COPY, ended("SUCCESS", 5_000, copy=True))
        second = status(*won, COPY, again, STAGE)
        assert second.stages[0].metrics is None
        assert second.speculation is not None
        ledger = second.speculation.ledger
        assert (ledger.copies_launched, ledger.copies_won, ledger.copies_running) == (2, 1, 0)
        assert (ledger.copies_cancelled, ledger.spent_ms) == (1, 5_000)
        figures = LedgerFigures(
            **{name: 0 for name in LedgerFigures.__struct_fields__ if name not in {"copies_launched", "gained_ms"}},
            copies_launched=2,
            gained_ms=700,
        )
        attempt = msgspec.structs.replace(STARTED, attempt=2, epoch=6)
        third = status(*won, attempt, rc.CarryOver(ledger=figures, reason="carried over"), *won).speculation
        assert third is not None
        assert (third.ledger.copies_launched, third.ledger.copies_won, third.ledger.gained_ms) == (3, 1, 700)

    def test_the_seeds_names_are_those_of_the_document(self) -> None:
        (stage,) = msgspec.to_builtins(status(STAGE, SLOW, COPY))["stages"]
        assert set(stage["metrics"]) == {
            "numSlowTasks",
            "numSlowExecutionVertices",
            "numEffectiveCopies",
            "numEffectiveSpeculativeExecutions",
            "minFinishedForSpeculationThresholdMetrics",
            "finishedExecutionCountMetrics",
            "speculativeExecutionCountMetrics",
            "speculativeThresholdOfTime",
            "executionIndex2RunningTimespan",
            "speculativeExecutionFastestFinishedCountMetrics",
        }
