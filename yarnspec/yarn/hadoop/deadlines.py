"""Run a blocking call with a deadline, for libraries that have none of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class DeadlinePassed(TimeoutError):  # noqa: N818 - named for what happened
    """The call did not return in time. Its thread is left behind, and does not keep the process alive."""


class RunningCall(Generic[Result]):
    """A call that runs in a thread of its own from now on."""

    def __init__(self, call: Callable[[], Result], what: str) -> None:
        self._call = call
        self._what = what
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        self._done = threading.Event()
        # A daemon thread: a pool's threads would be waited for when the interpreter ends, with no deadline.
        threading.Thread(target=self._run, name=f"deadline-{what}", daemon=True).start()

    def wait(self, timeout_s: float) -> bool:
        """Whether the call has returned (or raised), after at most ``timeout_s``."""
        return self._done.wait(timeout_s)

    def result(self, timeout_s: float) -> Result:
        """The call's result, or its exception, or DeadlinePassed after ``timeout_s``."""
        if not self._done.wait(timeout_s):
            raise DeadlinePassed(f"{self._what} did not return within {round(timeout_s, 2):g} s")
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._call())
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._done.set()


def run_with_deadline(call: Callable[[], Result], timeout_s: float, what: str) -> Result:
    """The call's result, or its exception, or DeadlinePassed after ``timeout_s``."""
    return RunningCall(call, what).result(timeout_s)
