"""Which stages are not copied at all, by the facts that the driver tells of a stage before its tasks start."""

from __future__ import annotations

from yarnspec.core.messages.observations import StageFlag
from yarnspec.core.messages.settings import SpeculationSettings


def reasons(settings: SpeculationSettings) -> tuple[tuple[StageFlag, str], ...]:
    """The flags against which the user has allowed nothing, each with its reason; the first that a stage has counts.

    A stage whose output differs from run to run may be copied: only the winner's output is ever taken. What is cached
    is another matter: each attempt leaves it with its executor.
    """
    told = (
        (StageFlag.BARRIER, False, "its stage's tasks run together or not at all (barrier)"),
        (StageFlag.STREAM, False, "its stage belongs to a stream"),
        (
            StageFlag.NO_COPIES,
            False,
            "the program wants no copies of its stage's tasks (local property yarnspec.speculation=false)",
        ),
        (
            StageFlag.WRITES,
            settings.copy_writers,
            "its stage writes by itself, not through Spark's output commit: two attempts might both leave output "
            "(speculation.copy_writers allows it)",
        ),
        (
            StageFlag.READS,
            settings.copy_readers,
            "its stage reads a source that is no file, or pipes records through a command: two attempts would both "
            "ask there (speculation.copy_readers allows it)",
        ),
        (
            StageFlag.KEEPS,
            settings.copy_cached,
            "its stage caches records: two attempts might leave different ones, and later tasks would mix them "
            "(speculation.copy_cached allows it)",
        ),
    )
    return tuple((flag, why) for flag, allowed, why in told if not allowed)
