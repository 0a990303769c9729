"""Runs as the script of a Skein AM: asks for containers one by one and exits with the number that never came."""

from __future__ import annotations

import sys
import time

from yarnspec.yarn.skein.am_client import SkeinContainers

PAUSE_S = 0.15
DEADLINE_S = 90


def main() -> int:
    """Ask for as many containers as the argument says."""
    count = int(sys.argv[1])
    service = SkeinContainers.from_current()
    for _ in range(count):
        service.add_container({})
        # Skein's bug shows when requests meet others that are outstanding, not when they come all at once.
        time.sleep(PAUSE_S)
    deadline = time.monotonic() + DEADLINE_S
    while True:
        waiting = sum(one.state in {"WAITING", "REQUESTED"} for one in service.containers().values())
        if waiting == 0 or time.monotonic() > deadline:
            return waiting
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
