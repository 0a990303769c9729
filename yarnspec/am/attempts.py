"""What the end of an attempt means for the application: whether another attempt follows, or has begun already."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from yarnspec.am.shell import Ending, Shell
from yarnspec.core.commands import AbandonAttempt, FinishApplication
from yarnspec.plan import Plan

_log = structlog.get_logger()

CRASHED = 70
"""Exit code of an attempt that YARN should start again."""


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
    """A crash of the last attempt that YARN grants is the application's end: it gets its result written down.

    Where YARN forgets old failures nobody here can know which attempt is the last.
    """
    granted = plan.max_attempts
    if isinstance(ending, FinishApplication) or plan.attempts_are_forgotten or attempt < granted:
        return ending
    reason = f"{ending.reason} (attempt {attempt} of {granted}, the last one)"
    return FinishApplication(status="FAILED", exit_code=1, reason=reason, diagnostics=ending.diagnostics)


def unless_replaced(ending: Ending, attempt: int, announced: Callable[[], int]) -> Ending:
    """An attempt that YARN took for dead while it was only stopped has no say in how the application ends.

    Its program may well have failed since, and what it would write and delete is the next attempt's. ``announced`` is
    asked for the attempt that has said last where it listens.
    """
    if not isinstance(ending, FinishApplication):
        return ending
    try:
        later = announced()
    except Exception:
        _log.exception("whether a later attempt has begun is not known")
        return ending
    if later <= attempt:
        return ending
    reason = f"attempt {attempt} is over: attempt {later} has begun ({ending.reason})"
    return AbandonAttempt(exit_code=CRASHED, reason=reason, diagnostics=reason)
