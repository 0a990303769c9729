"""The end of an attempt, and what it means: whether another attempt follows, or has begun already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import structlog

from yarnspec.am.loop.shell import Ending, Shell
from yarnspec.core.messages.commands import EXIT_FAILED, AbandonAttempt, FinishApplication
from yarnspec.plan import Plan
from yarnspec.yarn.rm.rm_reports import AttemptReport

_log = structlog.get_logger()

CRASHED = 70
"""Exit code of an attempt that YARN should start again."""


_NOT_COUNTED = frozenset({-100, -101, -102, -106})
"""Exit codes of a master's container: its host was lost or its disks failed, or YARN took it back or ended it."""
_KILLED = _NOT_COUNTED | {137, 143}
"""Those exit codes, and the codes of a master that ended by SIGKILL or SIGTERM."""
_TIMED_OUT = re.compile(r"ApplicationMaster for attempt \S+ timed out")
_EXIT_CODE = re.compile(r"exitCode:\s*(-?\d+)")
_DETAILS = re.compile(r"Diagnostics:\s*(?:\[[^\]]*\])?\s*(\S.*)")
_ADVICE = "For more detailed output,"
"""Here begins what YARN advises its own users to do; it stands behind the details without a blank."""
_MOST_CHARACTERS = 300


def taken_away(attempts: Iterable[AttemptReport]) -> tuple[int, ...]:
    """The attempts that YARN ended through no fault of theirs, and does not count against the application.

    As its own ``RMAppAttemptImpl.shouldCountTowardsMaxAttemptRetry``. The ResourceManager tells the exit code
    only in the text of its diagnostics; what cannot be read there counts.
    """
    return tuple(each.number for each in attempts if _exit_code(each) in _NOT_COUNTED)


def killed(attempts: Iterable[AttemptReport]) -> tuple[int, ...]:
    """The attempts that somebody outside ended, which proves nothing about the program.

    YARN does not count some of them. The others are those whose master was killed by a signal, and those that YARN took
    for dead. YARN has codes of its own for a master that it killed for its memory.
    """
    return tuple(each.number for each in attempts if _exit_code(each) in _KILLED or _TIMED_OUT.search(each.diagnostics))


def _exit_code(attempt: AttemptReport) -> int | None:
    code = _EXIT_CODE.search(attempt.diagnostics)
    return int(code[1]) if code is not None else None


def why_ended(attempt: AttemptReport) -> str:
    """How YARN says that an attempt's master ended: the exit code and the first line of the details."""
    code, details = _exit_code(attempt), _DETAILS.search(attempt.diagnostics)
    ended = "ended" if code is None else f"ended with exit code {code}"
    why = details[1] if details else " ".join(attempt.diagnostics.split())
    why = why.partition(_ADVICE)[0].strip() or "YARN gives no reason"
    return f"its application master {ended}: {why[:_MOST_CHARACTERS]}"


def ended_before(attempts: Iterable[AttemptReport], attempt: int) -> int:
    """When the attempt before this one had ended, in ms and by the ResourceManager's clock; 0: that is not known.

    The time is that at which the ResourceManager took note: never too early, and for a lost host minutes later.
    """
    return next((each.finished_ms for each in attempts if each.number == attempt - 1), 0)


def ending_of(shell: Shell) -> Ending:
    """Run the loop; a failure of the negotiator itself is the end of the attempt, and is told like one."""
    try:
        return shell.run()
    except Exception as error:
        _log.exception("the negotiator failed")
        said = f"negotiator failed: {type(error).__name__}: {error}"
        ending = AbandonAttempt(exit_code=CRASHED, reason=said, diagnostics=f"{said} (see negotiator.log)")
        shell.note(ending)
        return ending


def for_good(ending: Ending, plan: Plan, attempt: int) -> Ending:
    """Make a crash of the last attempt that YARN grants the application's end, whose result is written down.

    ``attempt``: the number of this attempt among those that YARN counts.

    Where YARN forgets old failures nobody here can know which attempt is the last.
    """
    granted = plan.max_attempts
    if isinstance(ending, FinishApplication) or plan.attempts_are_forgotten or attempt < granted:
        return ending
    reason = f"{ending.reason} (attempt {attempt} of {granted}, the last one)"
    return FinishApplication(status="FAILED", exit_code=EXIT_FAILED, reason=reason, diagnostics=ending.diagnostics)


def unless_replaced(ending: Ending, attempt: int, newest: Iterable[Callable[[], int]]) -> Ending:
    """The ending of this attempt; of the attempt only, and not of the application, if YARN has replaced it.

    YARN may have replaced this attempt while its process was stopped. If so, it must not end the application: the files
    that it would write and delete are the next attempt's. Each of ``newest`` is asked for the last attempt that has
    begun. One that does not know raises.
    """
    if not isinstance(ending, FinishApplication):
        return ending
    for ask in newest:
        try:
            later = ask()
        except Exception:
            _log.exception("whether a later attempt has begun is not known")
            continue
        if later > attempt:
            reason = (
                f"application attempt {later} has begun, and only the newest decides how the application ends. "
                f"Attempt {attempt} ended as well: {ending.reason}"
            )
            return AbandonAttempt(exit_code=CRASHED, reason=reason, diagnostics=reason)
    return ending
