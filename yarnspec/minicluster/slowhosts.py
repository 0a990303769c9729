"""Slow hosts: the processes of their containers are stopped and continued, many times a second.

`python -m yarnspec.minicluster.slowhosts HOME HOST=FACTOR …` runs beside the cluster's daemons and gives the containers
of each host a FACTOR-th of the time; the NodeManager keeps all of it. A first process starts the one that does the work
and waits: whichever of the two ends, the other one sees to it that no container stays stopped.

A wait that runs out while its process is stopped costs the process nothing. So the time between a start and a stop is a
little less than N waits of 10 ms, and a period is N waits times FACTOR. In one period a program that waits 10 ms again
and again makes N waits. A program that computes gets N times 10 ms. Both are FACTOR times slower. Waits longer than a
period are not slowed, and waits of 10 ms never more than tenfold.
"""

from __future__ import annotations

import heapq
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from yarnspec.minicluster.hadoop.daemons import container_mark
from yarnspec.minicluster.hadoop.home import Home
from yarnspec.minicluster.machine.processes import find_marked, identify, send

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LONGEST_PERIOD_S = 0.1
_WAIT_S = 0.01
_SHY_OF_WAIT_S = 0.0006
"""By how much a turn is shorter than a whole number of waits: one more wait must not fit in, woken late or not."""
_SCAN_S = 0.25
_SCAN_TAKES_S = 0.005
_SETTLED_S = 15
"""A process of this age is what it will be: containers begin as children of the NodeManager and become Java by exec."""
_PRIORITY = -15
"""Where real time is not allowed."""


def turn(factor: float) -> tuple[float, float]:
    """Return how long the containers of such a host run and how long they stand still, in seconds, again and again."""
    period_s = _LONGEST_PERIOD_S
    waits = int(period_s / (_WAIT_S * factor) + 1e-9)
    if waits == 0:
        running_s = period_s / factor
    else:
        period_s = waits * _WAIT_S * factor
        running_s = waits * _WAIT_S - _SHY_OF_WAIT_S
    return running_s, period_s - running_s


class HostContainers:
    """The processes in the containers of one host; by file descriptor, so that no signal reaches a later process."""

    def __init__(self, home: Home, host: str) -> None:
        self.mark = container_mark(home, host).encode()
        self._open: dict[int, int] = {}

    def has(self, pid: int) -> bool:
        """Tell whether this process is known to be one of them."""
        return pid in self._open

    def add(self, pid: int) -> None:
        """Take a process in, if it still is there."""
        with suppress(OSError):
            self._open[pid] = os.pidfd_open(pid)

    def send(self, number: signal.Signals) -> None:
        """Signal all of them, and forget those that have ended."""
        for pid, descriptor in list(self._open.items()):
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:
                os.close(descriptor)
                del self._open[pid]


class ProcessScan:
    """Looks for the containers' processes; those that it has judged are not read again."""

    def __init__(self, hosts: Iterable[HostContainers]) -> None:
        self._hosts = list(hosts)
        self._others: dict[int, float] = {}

    def look(self, now_s: float) -> None:
        """Take in what has come since the last look."""
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        self._others = {pid: self._others[pid] for pid in pids if pid in self._others}
        for pid in pids:
            first_seen = self._others.setdefault(pid, now_s)
            if now_s - first_seen > _SETTLED_S or any(each.has(pid) for each in self._hosts):
                continue
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            for each in self._hosts:
                if each.mark in environment:
                    each.add(pid)


def slow_down(home: Home, factors: Mapping[str, float]) -> NoReturn:
    """Stop and continue containers until a signal comes or the process that started this one is gone."""
    _hurry()
    guard = os.getppid()
    hosts = {host: HostContainers(home, host) for host in factors}
    scan = ProcessScan(hosts.values())
    begun_s = time.monotonic()
    plan = [(begun_s, host, False) for host in factors]
    heapq.heapify(plan)
    scanned_s = begun_s - _SCAN_S
    try:
        while os.getppid() == guard:
            now_s = time.monotonic()
            until_next_s = plan[0][0] - now_s
            if now_s - scanned_s >= _SCAN_S and (until_next_s > _SCAN_TAKES_S or now_s - scanned_s > 4 * _SCAN_S):
                scan.look(now_s)
                scanned_s = now_s
                continue
            if until_next_s > 0:
                time.sleep(until_next_s)
            _, host, runs = heapq.heappop(plan)
            hosts[host].send(signal.SIGSTOP if runs else signal.SIGCONT)
            running_s, standing_s = turn(factors[host])
            # From now, not from when it was due: a turn that began late is as long as the others.
            heapq.heappush(plan, (time.monotonic() + (standing_s if runs else running_s), host, not runs))
    finally:
        for each in hosts.values():
            each.send(signal.SIGCONT)
    sys.exit()


def _hurry() -> None:
    """Come before everybody else, as far as this user may: a stop that comes late lets one more wait in."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def continue_all(home: Home, hosts: Iterable[str]) -> None:
    """Continue every process in a container of these hosts."""
    send(find_marked([container_mark(home, host) for host in hosts]), signal.SIGCONT)


def main(arguments: list[str]) -> None:
    """Start the process that does the work, and clear up after it."""
    home = Home(Path(arguments[0]))
    factors = {host: float(factor) for host, _, factor in (each.partition("=") for each in arguments[1:])}
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit())
    worker = os.fork()
    if worker == 0:
        slow_down(home, factors)
    try:
        os.waitpid(worker, 0)
        print("the process that slows hosts down has ended", file=sys.stderr)
    finally:
        if identify(worker) is not None:
            os.kill(worker, signal.SIGTERM)
            os.waitpid(worker, 0)
        continue_all(home, factors)


if __name__ == "__main__":
    main(sys.argv[1:])
