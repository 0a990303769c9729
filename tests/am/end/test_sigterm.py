"""The end by SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from yarnspec.am.end.sigterm import end_on_sigterm


@pytest.fixture(autouse=True)
def _own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_the_driver_ends_and_the_log_is_closed_while_the_main_thread_holds_a_lock() -> None:
    held_by_main = threading.Lock()
    done: list[object] = []
    left = threading.Event()

    def close_log(deadline_s: float) -> bool:
        with held_by_main:
            done.append("log")
        return deadline_s > 0

    def leave(code: int) -> None:
        done.append(code)
        left.set()

    end_on_sigterm(lambda: done.append("driver"), close_log, leave)
    with held_by_main:
        os.kill(os.getpid(), signal.SIGTERM)  # the handler runs here, and returns
    assert left.wait(10)
    assert sorted(map(str, done)) == ["143", "driver", "log"]
    assert done[-1] == 143


def test_a_log_that_cannot_be_closed_does_not_hold_up_the_end() -> None:
    left = threading.Event()
    end_on_sigterm(lambda: None, lambda _: not left.wait(60), lambda _: left.set())
    os.kill(os.getpid(), signal.SIGTERM)
    assert left.wait(10)
