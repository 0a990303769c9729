"""Asks NodeManagers themselves whether they are there: the answer to ``CheckHosts``.

Skein starts containers by the same port of a NodeManager. So a port that refuses a connection, or that nobody answers
on, gives no container now.
"""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

_ANSWERS_WITHIN_S = 3.0
_FIRST_PAUSE_S = 1.0
_LAST_PAUSE_S = 8.0
"""The pause after a check doubles up to this one. A host that answers is not checked any more then."""
_UNREACHABLE_PAUSE_S = 2.0
_AT_ONCE = 64
_DEAD = frozenset({errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EHOSTDOWN})


def answers(node_id: str) -> bool:
    """Whether the NodeManager of this id (host:port) takes a connection. True if that cannot be found out."""
    host, _, port = node_id.rpartition(":")
    try:
        with socket.socket(socket.AF_INET) as asks:  # Hadoop knows IPv4 only
            asks.settimeout(_ANSWERS_WITHIN_S)
            asks.connect((host, int(port)))
    except TimeoutError:
        return False
    except OSError as error:
        return error.errno not in _DEAD
    except ValueError:
        return True
    return True


@dataclass(slots=True)
class _Doubt:
    """A host that may be dead: when it is checked again, and how long after the check before."""

    at_s: float
    pause_s: float


class NodeManagerCheck:
    """Checks the hosts that may be dead: a few times, and for as long as they do not answer."""

    def __init__(self, answers: Callable[[str], bool] = answers) -> None:
        self.unreachable: frozenset[str] = frozenset()
        """The hosts whose NodeManager did not answer when it was last asked."""
        self._answers = answers
        self._lock = threading.Lock()
        self._doubts: dict[str, _Doubt] = {}

    def doubt(self, hosts: Iterable[str]) -> None:
        """These hosts may be dead: check them from now on. From any thread."""
        with self._lock:
            for host in hosts:
                self._doubts[host] = _Doubt(0.0, _FIRST_PAUSE_S)

    def look(self, node_ids: Mapping[str, str], now_s: float) -> bool:
        """Check the hosts whose turn it is; whether ``unreachable`` is another set now.

        Args:
            node_ids: the id of the NodeManager of each host that the ResourceManager calls RUNNING. Others are not
                checked: their state is known.
            now_s: a monotonic clock.
        """
        with self._lock:
            self._doubts = {host: doubt for host, doubt in self._doubts.items() if host in node_ids}
            due = {host: doubt for host, doubt in self._doubts.items() if doubt.at_s <= now_s}
        before, self.unreachable = self.unreachable, self.unreachable & node_ids.keys()
        if due:
            with ThreadPoolExecutor(min(len(due), _AT_ONCE)) as pool:
                found = dict(zip(due, pool.map(lambda host: self._answers(node_ids[host]), due), strict=True))
            self.unreachable = (self.unreachable - found.keys()) | {host for host, there in found.items() if not there}
            with self._lock:
                for host, doubt in due.items():
                    self._next(host, doubt, now_s)
        return self.unreachable != before

    def _next(self, host: str, doubt: _Doubt, now_s: float) -> None:
        if self._doubts.get(host) is not doubt:
            return  # it was doubted anew meanwhile
        if host in self.unreachable:
            doubt.at_s, doubt.pause_s = now_s + _UNREACHABLE_PAUSE_S, _FIRST_PAUSE_S
        elif doubt.pause_s > _LAST_PAUSE_S:
            del self._doubts[host]
        else:
            doubt.at_s, doubt.pause_s = now_s + doubt.pause_s, 2 * doubt.pause_s
