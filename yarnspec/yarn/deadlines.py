"""Run a blocking call with a deadline, for libraries that have none of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class DeadlinePassed(TimeoutError):  # noqa: N818 - named for what happened
    """The call did not return in time. Its thread is left behind, and does not keep the process alive."""


def run_with_deadline(call: Callable[[], Result], timeout_s: float, what: str) -> Result:
    """The call's result, or its exception, or DeadlinePassed after ``timeout_s``."""
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    # A daemon thread: a pool's threads would be waited for when the interpreter ends, with no deadline.
    threading.Thread(target=run, name=f"deadline-{what}", daemon=True).start()
    if not done.wait(timeout_s):
        raise DeadlinePassed(f"{what} did not return within {timeout_s:g} s")
    if errors:
        raise errors[0]
    return results[0]
