"""The application in three to six sentences with numbers, the worst first; in fewer before its first task."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from yarnspec.core.messages.observations import IntColumn, State
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.moments import day_clock
from yarnspec.observe.forms.told import clipped
from yarnspec.observe.page.drawing import times, took
from yarnspec.observe.page.scene import Scene
from yarnspec.observe.page.spans import MASTER, BlockSpan, Moment
from yarnspec.observe.page.stage_rows import lateness_of
from yarnspec.observe.page.task_rows import ledger_of
from yarnspec.observe.status.progress import short_reason, short_stage
from yarnspec.units import counted

_LEAST, _MOST = 3, 6
_MOST_OF_A_KIND = 2
_MOST_NAMES = 3
_MOST_REASONS = 2_000
_LONG_REASON = 220
_NUMBERS = re.compile(r"\d+")
_LONG_NAME = 80
_TONES = {"bad": 0, "warn": 1, "good": 2, "calm": 3}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing worth telling. ``tone``: bad, warn, good or calm, which says it in a word and a sign too.

    ``told``: how warnings of the same end.
    """

    tone: str
    text: str
    told: tuple[str, ...] = ()


def sentences(scene: Scene) -> list[Sentence]:
    """The worst few; how it stands comes first where it failed, last where all is well."""
    found = [*_losses(scene), *_hosts(scene), *_failures(scene), *_stages(scene), *_waiting(scene), *_copies(scene)]
    if _ended_badly(scene.document):
        calm = [*_even_hosts(scene), *_longest_stage(scene)]
        return [_outcome(scene), *found, *calm[: max(0, _LEAST - 1 - len(found))]][:_MOST]
    found = sorted(found, key=lambda one: _TONES[one.tone])[: _MOST - 1]
    calm = [*_even_hosts(scene), *_longest_stage(scene)]
    return [*found, *calm[: max(0, _LEAST - 1 - len(found))], _outcome(scene)]


def untold_warnings(scene: Scene, said: list[Sentence]) -> list[str]:
    """The document's warnings, without those that a sentence has told."""
    told = {end for one in said for end in one.told if end}
    return [
        warning for warning in scene.document.warnings
        if not any(warning == end or warning.endswith(f": {end}") for end in told)
    ]  # fmt: skip


def _even_hosts(scene: Scene) -> list[Sentence]:
    """That no host was slow, or how many there were."""
    speeds, busy = scene.speeds, [one for one in range(len(scene.hosts)) if len(scene.of_host(one))]
    compared = [one for one in busy if speeds.compared[one]]
    if len(compared) < 2 or any(speeds.slow(one) for one in compared):  # noqa: PLR2004 - one alone is not compared
        ran = f"{counted(len(scene.attempts), 'task attempt')} ran on {counted(len(busy), 'host')}."
        return [Sentence("calm", ran)] if busy else []
    worst = max(compared, key=lambda one: float(speeds.factor[one]))
    factor = float(speeds.factor[worst])
    words = f"Host {scene.hosts[worst]} took {factor:.1f} times as long as others, and no host took longer"
    if factor < 1.05:  # noqa: PLR2004 - 1.0 in the words
        words = "All hosts took about as long as each other"
    return [Sentence("calm", f"{words} ({counted(len(compared), 'host')} compared).")]


def _longest_stage(scene: Scene) -> list[Sentence]:
    """In which stage most of the time went."""
    stages = [one for one in scene.fold.stages if one.ended_ms is not None]
    if not stages:
        return []
    longest = max(stages, key=lambda one: (one.ended_ms or 0) - one.began_ms)
    name = f" ({clipped(short_stage(longest.name), _LONG_NAME)})" if longest.name else ""
    length = took((longest.ended_ms or 0) - longest.began_ms)
    return [Sentence("calm", f"Stage {longest.label}{name} took longest: {length} of {took(scene.scale.length_ms)}.")]


def _outcome(scene: Scene) -> Sentence:
    document, counts, whole = scene.document, _work(scene), took(scene.scale.length_ms)
    if scene.fold.epochs > 1:
        whole += f" and {scene.fold.epochs} driver epochs"
    if _ended_badly(document):
        final = document.final
        why = (final.reason or final.diagnostics if final is not None else "") or "no reason was given"
        status = final.status if final is not None else document.state
        return Sentence("bad", f"It ended after {whole} as {status}: {_short(why)} {counts.capitalize()}.")
    if scene.ended:
        if not document.ended:  # Spark's log knows the tasks' ends, and not the program's
            return Sentence("calm", f"It took {whole}: {counts}.")
        return Sentence("good", f"It succeeded after {whole}: {counts}.")
    if not document.started_ms and not scene.fold.first_ms:
        return Sentence("calm", f"It has not begun: YARN says {document.state}.")
    return Sentence("calm", f"It has been running for {whole}{_so_far(scene)}.")


def _ended_badly(document: StatusDocument) -> bool:
    if document.final is not None:
        return document.final.status != "SUCCEEDED"
    return document.state in {"FAILED", "KILLED"}


def _so_far(scene: Scene) -> str:
    """How far a running application is. The document counts the tasks of its own driver epoch only."""
    tasks = scene.document.tasks
    if not tasks.total and not len(scene.attempts):
        return ", and has run no task so far"
    running = f", {tasks.running:,} {'is' if tasks.running == 1 else 'are'} running" if tasks.running else ""
    done = f"{tasks.finished:,} of {tasks.total:,} tasks {'is' if tasks.finished == 1 else 'are'} done{running}"
    now = done if tasks.total else "no stage has begun"
    if scene.fold.epochs <= 1:
        return f": {now}"
    earlier = counted(_finished_tasks(scene, before=scene.document.epoch), "task")
    return f". Driver epoch {scene.document.epoch}: {now}; earlier ones finished {earlier}"


def _work(scene: Scene) -> str:
    """How many tasks finished, and in how many stages; a stage attempt counts if a task finished in it."""
    done = _finished_tasks(scene)
    if scene.fold.epochs <= 1:
        done = max(done, scene.document.tasks.finished)  # the oldest attempts may be forgotten
    if not done:
        return "no task finished" if len(scene.attempts) else "no task was run"
    useful = set(np.unique(scene.attempts.stage[scene.attempts.succeeded]).tolist())
    spans = [one for place, one in enumerate(scene.fold.stages) if place in useful or one.state == "SUCCEEDED"]
    stages, newest = 0, dict[tuple[int, int], int]()
    for one in spans:
        # With each SparkContext the numbers begin again.
        stages += newest.get((one.epoch, one.stage), one.stage_attempt) >= one.stage_attempt
        newest[one.epoch, one.stage] = one.stage_attempt
    where = f"{len(spans):,} attempts of " if len(spans) > stages else ""
    epochs = len({one.epoch for one in spans})
    again = f" of {epochs} driver epochs" if epochs > 1 else ""
    return f"{counted(done, 'task')} finished" + (f", in {where}{counted(stages, 'stage')}{again}" if stages else "")


def _finished_tasks(scene: Scene, before: int | None = None) -> int:
    """How many tasks finished in all driver epochs, or in those before this one. Each counts once a stage attempt."""
    attempts = scene.attempts
    rows = attempts.succeeded
    if before is not None:
        earlier = np.array([one.epoch < before for one in scene.fold.stages], dtype=np.bool_)
        rows = rows & earlier[attempts.stage]
    return len(np.unique(attempts.task_keys[rows]))


def _deaths(moments: list[Moment]) -> list[Moment]:
    """Each death once. Where a driver's death is followed by that of its application master, both are one."""
    found: list[Moment] = []
    down = False
    for one in moments:
        if one.died and not down:
            found.append(one)
        elif one.died == MASTER:
            both = f"{found[-1].text}, and then its application master"
            found[-1] = one if one.kind == "lost" else found[-1]._replace(died=MASTER, text=both)
        down = one.kind == "lost" or (down and one.kind not in ("again", "ready"))
    return found


def _losses(scene: Scene) -> list[Sentence]:
    """Deaths of the driver and of the application master, and what the next driver made of what was left."""
    lost = _deaths(scene.fold.moments)
    if not lost:
        return []
    last = lost[-1]
    at = day_clock(last.time_ms)
    when = f"at {at}" if last.until_ms is None else f"between {at} and {day_clock(last.until_ms)}"
    words = [f"{when.capitalize()} {_short(last.text)}"]
    if len(lost) > 1:
        masters = sum(one.died == MASTER for one in lost)
        counts = [counted(masters, MASTER)] if masters else []
        counts += [counted(len(lost) - masters, "driver")] if len(lost) > masters else []
        words = [f"{' and '.join(counts)} died. The last time, {when}: {_short(last.text)}"]
    count = _lost_at(scene, last)
    if count:
        words.append(f"{counted(count, 'task attempt')} ran then and {'was' if count == 1 else 'were'} lost.")
    recovery = scene.document.recovery
    if recovery is not None and recovery.saved_outputs:
        again = f"{recovery.restored_outputs:,} of {recovery.saved_outputs:,} map outputs were used again"
        reasons = sorted(recovery.not_restored.items(), key=lambda one: -one[1])[:2]
        lost_words = ", ".join(f"{count:,}: {why}" for why, count in reasons)
        words.append(f"{again} (not used: {lost_words})." if reasons else f"{again}.")
    if recovery is not None and recovery.skipped_writes:
        words.append(f"{counted(recovery.skipped_writes, 'write')} of earlier epochs did not run again.")
    first = _first_task_after(scene, last)
    if first is not None:
        words.append(f"The first new task began after {took(first)}.")
    return [Sentence("bad", " ".join(words), tuple(one.why for one in scene.fold.moments))]


def _lost_at(scene: Scene, death: Moment) -> int:
    """How many attempts ended with this death: those that were lost since a driver was ready last."""
    ready = [one.time_ms for one in scene.fold.moments if one.kind == "ready" and one.time_ms <= death.time_ms]
    ended = scene.attempts.finish_ms[scene.attempts.lost]
    return int(np.count_nonzero((ended >= max(ready, default=0)) & (ended <= death.time_ms)))


def _first_task_after(scene: Scene, moment: Moment) -> int | None:
    later = scene.attempts.launch_ms[scene.attempts.launch_ms > moment.time_ms]
    return int(later.min()) - moment.time_ms if len(later) else None


def _hosts(scene: Scene) -> list[Sentence]:
    blocks: dict[str, list[BlockSpan]] = {}
    for one in scene.fold.blocks:
        if one.of_whole_host:
            blocks.setdefault(one.host, []).append(one)
    slow = [number for number in range(len(scene.hosts)) if scene.speeds.slow(number)]
    names = [scene.hosts[one] for one in slow]
    told = [host for host in blocks if host not in names]
    order = sorted(slow, key=lambda one: -scene.speeds.factor[one])
    found = [_slow_host(scene, one, blocks.get(scene.hosts[one], [])) for one in order[:_MOST_OF_A_KIND]]
    if more := order[_MOST_OF_A_KIND:]:
        found.append(_more_slow_hosts(scene, more, blocks))
    found += [_blocked_host(scene, host, blocks[host]) for host in told[:_MOST_OF_A_KIND]]
    if others := told[_MOST_OF_A_KIND:]:
        found.append(Sentence("warn", f"yarnspec blocked {counted(len(others), 'more host')}{_names(others)}."))
    return found


def _slow_host(scene: Scene, number: int, blocks: list[BlockSpan]) -> Sentence:
    host, compared = scene.hosts[number], int(scene.speeds.compared[number])
    words = (
        f"Host {host} took {scene.speeds.factor[number]:.1f} times as long as others ({compared:,} attempts compared)"
    )
    if blocks:
        return Sentence("bad", f"{words}. {_blocked(scene, blocks)}")
    if host in scene.fold.would_be_slow:
        at_ms, _ = scene.fold.would_be_slow[host]
        after = took(at_ms - scene.scale.begin_ms)
        return Sentence("bad", f"{words}. yarnspec would have found it slow after {after}.")
    if host in scene.fold.spared:
        why = scene.fold.spared[host]
        return Sentence("bad", f"{words}. yarnspec left it in use: {_short(why)}", (f"{host}: {why}",))
    return Sentence("bad", f"{words}.")


def _more_slow_hosts(scene: Scene, numbers: list[int], blocks: dict[str, list[BlockSpan]]) -> Sentence:
    """Those beyond the first few; the slowest comes first."""
    hosts = [scene.hosts[one] for one in numbers]
    most, least = (f"{scene.speeds.factor[one]:.1f}" for one in (numbers[0], numbers[-1]))
    words = f"{counted(len(hosts), 'more host')}{_names(hosts)} took {most if most == least else f'{least} to {most}'}"
    blocked = sum(host in blocks for host in hosts)
    what = "" if not blocked else "it too" if len(hosts) == 1 else f"{blocked:,} of them"
    return Sentence("bad", f"{words} times as long as others" + (f"; yarnspec blocked {what}." if what else "."))


def _names(hosts: list[str]) -> str:
    """The names of a few."""
    more = " and others" if len(hosts) > _MOST_NAMES else ""
    return f" ({', '.join(hosts[:_MOST_NAMES])}{more})"


def _blocked_host(scene: Scene, host: str, blocks: list[BlockSpan]) -> Sentence:
    return Sentence("warn", f"Host {host}: {_blocked(scene, blocks)} The reason: {_short(blocks[-1].reason)}")


def _blocked(scene: Scene, blocks: list[BlockSpan]) -> str:
    whole = sum((one.ended_ms if one.ended_ms is not None else scene.scale.end_ms) - one.began_ms for one in blocks)
    open_now = blocks[-1].ended_ms is None and not scene.ended
    if open_now:
        return f"yarnspec has blocked it since {day_clock(blocks[-1].began_ms)} (cause: {blocks[-1].cause})."
    often = "" if len(blocks) == 1 else f"{times(len(blocks))}, "
    return f"yarnspec blocked it {often}for {took(whole)} (cause: {blocks[-1].cause})."


def _failures(scene: Scene) -> list[Sentence]:
    attempts = scene.attempts
    failed = np.flatnonzero(attempts.failed)
    if not len(failed):
        return []
    by_host = np.bincount(attempts.host[failed] + 1)[1:]  # without those whose host is not known
    where = ""
    if np.count_nonzero(by_host) > 1 and by_host.max() * 2 > len(failed):
        where = f" {by_host.max():,} of them ran on {scene.hosts[int(by_host.argmax())]}."
    return [Sentence("warn", f"{counted(len(failed), 'task attempt')} failed.{where} {_reason(scene, failed)}")]


def _reason(scene: Scene, failed: IntColumn) -> str:
    """Why most of the attempts failed, by one of them. Reasons that differ in numbers only are the same."""
    texts = [scene.failure(row) for row in failed[-_MOST_REASONS:].tolist()]
    kinds = Counter(_NUMBERS.sub("#", text) for text in texts)
    [(kind, count)] = kinds.most_common(1)
    if not kind:
        return "The records do not say why."
    example = _short(next(text for text in reversed(texts) if _NUMBERS.sub("#", text) == kind))
    if count == 1:
        return f"{'The reason' if len(texts) == 1 else 'For example'}: {example}"
    latest = "the latest " if len(texts) < len(failed) else ""
    return f"Most often ({count:,} of {latest}{len(texts):,}), for example: {example}"


def _stages(scene: Scene) -> list[Sentence]:
    found = []
    for place, stage in enumerate(scene.fold.stages):
        lateness = lateness_of(scene, place)
        if lateness.kind in {"skew", "uneven"}:
            shape = "skewed" if lateness.kind == "skew" else "uneven"
            text = f"Stage {stage.label} is {shape}: {lateness.words.partition(': ')[2]}."
            found.append((lateness.ratio, text))
    found.sort(reverse=True)
    told = [Sentence("warn", text) for _, text in found[:_MOST_OF_A_KIND]]
    if len(found) > _MOST_OF_A_KIND:
        told.append(Sentence("warn", f"{counted(len(found) - _MOST_OF_A_KIND, 'more stage')} had such tasks."))
    return told


def _waiting(scene: Scene) -> list[Sentence]:
    document = scene.document
    missing = document.wanted_containers - document.running_containers
    if scene.ended or missing <= 0 or not document.started_ms:
        return []
    why = f": {_short(short_reason(document.pending_reason))}" if document.pending_reason else "."
    verb = "does" if missing == 1 else "do"
    text = f"{missing} of {counted(document.wanted_containers, 'wanted executor')} {verb} not run yet{why}"
    return [Sentence("warn", text)]


def _copies(scene: Scene) -> list[Sentence]:
    ledger = ledger_of(scene)
    if ledger is None or not ledger.copies_launched:
        return _copies_of_spark(scene)
    words = f"{counted(ledger.copies_launched, 'copy', 'copies')} ran, {ledger.copies_won:,} of them finished first"
    if ledger.gained_ms:
        words += f": about {took(ledger.gained_ms)} of tasks' time gained, {took(ledger.wasted_ms or 0)} wasted"
    return [Sentence("good" if ledger.copies_won else "calm", f"{words}.")]


def _copies_of_spark(scene: Scene) -> list[Sentence]:
    attempts = scene.attempts
    copies = int(np.count_nonzero(attempts.copies))
    if not copies:
        return []
    won = int(np.count_nonzero(attempts.copies & (attempts.state == State.SUCCESS)))
    return [Sentence("calm", f"{counted(copies, 'copy', 'copies')} ran, {won:,} of them finished first.")]


def _short(text: str) -> str:
    """A reason as the end of a sentence."""
    words = clipped(" ".join(text.split()).rstrip(".:;, "), _LONG_REASON)
    return words if words.endswith("…") else f"{words}."


def summary(document: StatusDocument) -> str:
    """How it stands, in few words, for the page's title."""
    return document.final.status.lower() if document.final is not None else document.phase or document.state.lower()
