"""Why a task or a host was acted on or not, with the numbers."""

from __future__ import annotations

from yarnspec.core.blocking.blocks import Block
from yarnspec.core.copies.speculation import Speculation
from yarnspec.core.copies.speculationview import Explanation, SpeculationView
from yarnspec.core.detectors.words import seconds
from yarnspec.core.messages.observations import NONE
from yarnspec.core.tasks.attemptstate import stands_for, winner
from yarnspec.core.tasks.stagetasks import TaskAttempt


def view_of(speculation: Speculation, now_ms: int) -> SpeculationView:
    """A copy of what speculation holds now."""
    ledger = speculation.copies.total()
    return SpeculationView(
        enabled=speculation.settings.speculation.enabled,
        stopped=speculation.stopped,
        detector=speculation.detector.name,
        slow_tasks=speculation.metrics.slow_tasks,
        effective_copies=ledger.copies_won,
        waiting_copies=len(speculation.copies.waiting),
        extra_containers=len(speculation.containers.extra_executors),
        stages=speculation.metrics.view(now_ms),
        blocks=speculation.blocklist.blocks,
        ledger=ledger.figures(),
    )


def explain_task(speculation: Speculation, stage: int, index: int, now_ms: int) -> Explanation | None:
    """Why a task is or is not copied; None when nothing is known of it."""
    attempts_of_stage = [each for each in speculation.table.stages.values() if each.stage == stage]
    newest = max(attempts_of_stage, key=lambda each: each.stage_attempt, default=None)
    noted = speculation.notes_of_task(stage, index, now_ms)
    subject = f"task {stage}.{index}"
    if newest is None or not 0 <= index < newest.tasks:
        if not noted:
            return None
        return Explanation(subject=subject, verdict="its stage has ended", numbers={}, lines=noted, ended=True)
    said = speculation.detector.explain(newest, index, now_ms)
    attempts = newest.attempts_of(index)
    lines = [_attempt(one, now_ms) for one in attempts]
    first = stands_for(newest, index)
    if first is not None and len(attempts) > 1:
        what = "its output counts" if winner(newest, index) == first else "it is the likeliest to finish"
        lines.append(f"attempt {first.attempt} on {first.host} stands for the task: {what}")
    if not speculation.settings.speculation.enabled:
        lines.append("speculation is off (speculation.enabled)")
    if speculation.stopped:
        lines.append(f"speculation stopped: {speculation.stopped}")
    lines += [
        f"kept off {_target(block)}{block.key.reach} by {block.by} {_how_long(block, now_ms)}: {block.reason}"
        for each in speculation.blocklist.blocks
        for block in each.in_turn
        if block.key.scope in ((stage, -1), (stage, index))
    ]
    objection = speculation.copies.objection(newest, index, attempts, now_ms)
    if objection and attempts:
        lines.append(f"no (further) copy may be started now: {objection}")
    for key, why in speculation.speculative_containers.why_not.items():
        if key == (*newest.key, index):
            lines.append(f"no container is asked for its copy: {why}")
    lines += noted
    return Explanation(subject=subject, verdict=said.text, numbers=dict(said.numbers), lines=tuple(lines))


def explain_host(speculation: Speculation, host: str, now_ms: int, *, known: bool) -> Explanation | None:
    """Why a host is or is not blocked; None when nobody has heard of it."""
    blocks = speculation.blocklist.of(host)
    noted = speculation.host_notes.of(host, now_ms)
    if not (known or blocks or noted):
        return None
    lines = [
        f"blocked{block.key.reach} by {block.by} {_how_long(block, now_ms)}"
        + (f" (executor {block.executor_id} only)" if block.executor_id else "")
        + f": {block.reason}"
        for each in blocks
        for block in each.in_turn
    ]
    wide = host in speculation.blocklist
    verdict = "it takes no new task and no new container" if wide else "it is not blocked"
    if blocks and not wide:
        verdict = f"it is blocked for {len(blocks)} stages, tasks or executors only"
    left_in_use = speculation.blocklist.never_blocked.why.get(host)
    if left_in_use is not None:
        lines.append(left_in_use)
    lines.append(speculation.speeds.explain(host))
    lines.append(speculation.slow_hosts.explain(host))
    lines.append(speculation.faults.explain(host, now_ms))
    limit = speculation.blocklist.limit
    numbers: dict[str, float | str] = {
        "factor": speculation.speeds.factor(host),
        "running_tasks": float(speculation.table.running_on_host(host)),
        "blocked_hosts": float(len(speculation.blocklist.hosts)),
        "most_blocked_hosts": float(limit),
    }
    return Explanation(subject=f"host {host}", verdict=verdict, numbers=numbers, lines=(*lines, *noted))


def _target(block: Block) -> str:
    return f"executor {block.executor_id} ({block.host})" if block.executor_id else block.host


def _how_long(block: Block, now_ms: int) -> str:
    return f"for {max(0, block.until_ms - now_ms) / 1000:.0f} s more" if block.until_ms else "until it is unblocked"


def _attempt(one: TaskAttempt, now_ms: int) -> str:
    kind = "copy" if one.speculative else "attempt"
    until_ms = now_ms if one.finish_ms is None else one.finish_ms
    lasted = seconds(until_ms - one.launch_ms) if one.launch_ms != NONE else "an unknown time"
    how = "runs for" if one.finish_ms is None else f"ended ({one.state.name.lower()}) after"
    return f"{kind} {one.attempt} on {one.host} (executor {one.executor_id}) {how} {lasted}"
