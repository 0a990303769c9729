"""Other systems' names for options: those of the papers and proposals behind yarnspec, units converted.

They are accepted with a warning that names the option; an option's own name wins where both are set in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Value = str | int | float | bool


class Alias(NamedTuple):
    """The option's own key, and how its value is written here. ``convert`` raises ValueError for a wrong value.

    The docstring of ``convert`` says in ``docs/options.md`` how the other system writes the value. ``detector``: whose
    option it is there; this detector is chosen where nobody sets ``detector.kind``.
    """

    key: str
    convert: Callable[[Value], Value]
    detector: str = ""


def _same(value: Value) -> Value:
    """As here."""
    return value


def _milliseconds(value: Value) -> Value:
    """A whole number of milliseconds, without a unit."""
    return f"{_whole(value)} ms"


def _duration(value: Value) -> Value:
    """A duration; a number without a unit is one of milliseconds."""
    text = str(value).strip()
    return f"{text} ms" if text.isascii() and text.isdigit() else value


def _patience(value: Value) -> Value:
    """A duration; 0 is "not at all" there, and a negative one is "for ever", which is 0 here."""
    text = str(_duration(value)).strip()
    if text.startswith("-") and text[1:2].isdigit():
        return "0"
    number = text.partition(" ")[0].rstrip("abcdefghijklmnopqrstuvwxyz")
    return "1 ms" if number.isdigit() and int(number) == 0 else text


def _size(value: Value) -> Value:
    """A size; a number without a unit is one of bytes."""
    text = str(value).strip()
    return f"{text}b" if text.isascii() and text.isdigit() else value


def _one_more(value: Value) -> Value:
    """The number of copies beside the first attempt, one less than here."""
    whole, _, fraction = str(value).strip().partition(".")
    return _whole(whole if fraction and not fraction.strip("0") else value) + 1


def _whole(value: Value) -> int:
    text = str(value).strip()
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        message = f"'{text}' is not a whole number"
        raise ValueError(message)
    return int(text)


_EXECUTION_TIME = "execution-time"

# Of two names for one option the later one here wins: the older proposal comes first.
ALIASES: dict[str, Alias] = {
    "flink.batch.speculative.enabled": Alias("speculation.enabled", _same),
    "flink.batch.speculative.interval.in.millis": Alias("detector.check_interval", _milliseconds),
    "flink.batch.speculative.multiplier": Alias("detector.baseline_multiplier", _same),
    "flink.batch.speculative.quantile": Alias("detector.baseline_ratio", _same),
    "flink.batch.speculative.execution.count": Alias("speculation.max_concurrent_executions", _one_more),
    "flink.batch.speculative.log.interval.in.millis": Alias("speculation.log_interval", _milliseconds),
    "flink.blacklist.enable": Alias("blocklist.enabled", _same),
    "flink.blacklist.timeout.in.millis": Alias("blocklist.slow_duration", _milliseconds),
    "jobmanager.adaptive-batch-scheduler.speculative.enabled": Alias("speculation.enabled", _same),
    "jobmanager.adaptive-batch-scheduler.speculative.max-concurrent-executions": Alias(
        "speculation.max_concurrent_executions", _same
    ),
    "jobmanager.adaptive-batch-scheduler.speculative.block-slow-node-duration": Alias(
        "blocklist.slow_duration", _duration
    ),
    "slow-task-detector.check-interval": Alias("detector.check_interval", _duration),
    "slow-task-detector.execution-time.baseline-lower-bound": Alias(
        "detector.baseline_lower_bound", _duration, _EXECUTION_TIME
    ),
    "slow-task-detector.execution-time.baseline-ratio": Alias("detector.baseline_ratio", _same, _EXECUTION_TIME),
    "slow-task-detector.execution-time.baseline-multiplier": Alias(
        "detector.baseline_multiplier", _same, _EXECUTION_TIME
    ),
    "jobmanager.adaptive-scheduler.resource-wait-timeout": Alias("resources.wait_timeout", _patience),
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout": Alias("resources.wait_timeout", _patience),
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout": Alias(
        "resources.submission_stabilization", _duration
    ),
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": Alias(
        "resources.submission_stabilization", _duration
    ),
    "jobmanager.adaptive-scheduler.scaling-interval.min": Alias("resources.rescale_cooldown", _duration),
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": Alias("resources.rescale_cooldown", _duration),
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": Alias(
        "resources.rescale_stabilization", _duration
    ),
    "jobmanager.adaptive-scheduler.max-delay-for-scale-trigger": Alias("resources.rescale_max_delay", _duration),
    "jobmanager.adaptive-scheduler.rescale-trigger.max-delay": Alias("resources.rescale_max_delay", _duration),
    "execution.batch.job-recovery.enabled": Alias("recovery.enabled", _same),
    "execution.batch.job-recovery.previous-worker.recovery.timeout": Alias("recovery.window", _duration),
    "taskmanager.registration.timeout": Alias("recovery.keep_for", _duration),
    "job-event.store.write-buffer.size": Alias("recovery.journal_buffer", _size),
    "job-event.store.write-buffer.flush-interval": Alias("recovery.flush_interval", _duration),
}

_NO_CHECKPOINTS = "a batch job has no checkpoints, and the end of a stage always is a good moment to change"

WITHOUT_COUNTERPART = {
    "jobmanager.scheduler": (
        "there is one scheduler here; speculation.enabled says whether slow tasks are copied, of batch jobs only"
    ),
    "jobmanager.adaptive-scheduler.scaling-interval.max": (
        "it had no default and meant something else; set resources.rescale_stabilization "
        "(executing.resource-stabilization-timeout there) instead"
    ),
    "jobmanager.adaptive-scheduler.min-parallelism-increase": (
        "any change counts; resources.rescale_cooldown and resources.rescale_stabilization say how often"
    ),
    "jobmanager.adaptive-scheduler.scale-on-failed-checkpoints-count": _NO_CHECKPOINTS,
    "jobmanager.adaptive-scheduler.rescale-trigger.max-checkpoint-failures": _NO_CHECKPOINTS,
    "execution.batch.job-recovery.operator-coordinator-snapshot.min-pause": (
        "Spark has no operator coordinators, so nothing of theirs is recorded"
    ),
}
"""Names that are accepted because they belong to the rest, and why they have no effect."""
