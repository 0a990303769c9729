"""Free ports for daemons whose addresses must be known before they start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.errors import ClusterUnreachable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_FIRST = 15000
_TRIES = 500


class HeldPorts:
    """Ports that stay bound by us, so that nobody takes them, until `release` just before the daemons start.

    They lie below the range from which the kernel takes the ports of outgoing connections, and are drawn at random:
    two clusters that start at the same moment do not meet.
    """

    def __init__(self) -> None:
        self._sockets = ExitStack()
        self._taken: set[int] = set()

    def take(self, addresses: Sequence[str] = ("127.0.0.1",)) -> int:
        """Take one port that is free on every one of the addresses."""
        for _ in range(_TRIES):
            port = random.randrange(_FIRST, _last_port())  # noqa: S311 - no secret
            if port not in self._taken and self._bind(port, addresses):
                self._taken.add(port)
                return port
        raise ClusterUnreachable(f"no free port found on {', '.join(addresses)} in {_TRIES} tries")

    def take_again(self, port: int, addresses: Sequence[str] = ("127.0.0.1",)) -> int:
        """Take this very port when it is free (a home keeps its ports), else another one."""
        if port not in self._taken and self._bind(port, addresses):
            self._taken.add(port)
            return port
        return self.take(addresses)

    def _bind(self, port: int, addresses: Sequence[str]) -> bool:
        with ExitStack() as bound:
            for address in addresses:
                each = bound.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    each.bind((address, port))
                    # Bound alone would not keep others out: two sockets with SO_REUSEADDR may share a port.
                    each.listen(1)
                except OSError:
                    return False
            self._sockets.push(bound.pop_all())
        return True

    def release(self) -> None:
        """Give the ports free for the daemons."""
        self._sockets.close()

    def __enter__(self) -> HeldPorts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _last_port() -> int:
    """Return the kernel's first ephemeral port (or Linux's default)."""
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 32768
    return first if first > _FIRST + 1000 else 65536
