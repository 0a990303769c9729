"""How the negotiator's process ends when YARN ends its container: SIGTERM, and SIGKILL a quarter of a second later."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

TOLD_TO_END = 143
_LOG_S = 1.0


def end_on_sigterm(
    stop_driver: Callable[[], None], close_log: Callable[[float], bool], leave: Callable[[int], None] = os._exit
) -> None:
    """From now on SIGTERM ends the driver, brings the event log's last records home and leaves with code 143.

    A handler runs between any two steps of the main thread, which may hold any lock just then, a logger's too. So the
    handler only writes a byte, and a thread that waits for that byte does the rest.
    """
    wakes, woken_by = os.pipe()

    def end() -> None:
        os.read(wakes, 1)
        closing = threading.Thread(target=close_log, args=(_LOG_S,), name="sigterm-log", daemon=True)
        closing.start()
        stop_driver()
        closing.join(_LOG_S)
        leave(TOLD_TO_END)

    threading.Thread(target=end, name="sigterm", daemon=True).start()
    signal.signal(signal.SIGTERM, lambda _number, _frame: _write(woken_by))


def _write(descriptor: int) -> None:
    os.write(2, b"the negotiator was told to end by SIGTERM\n")
    os.write(descriptor, b"x")
