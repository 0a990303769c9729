"""The rest of the driver's output, for a reader who did not get all of it before the negotiator ended: from the log.

The NodeManager has the log until it is aggregated; then ``yarn logs`` finds it, a moment later. Sizes are compared: a
log that is being removed may come in part, and nobody may take that for the whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from yarnspec.errors import NotFound, YarnspecError
from yarnspec.gateway.logs.logtext import unwrap
from yarnspec.gateway.logs.nodelogs import LogsNotThere
from yarnspec.gateway.logs.role_logs import Aggregated, LogContainer

STDOUT = "driver.stdout"
_PAUSE_S = 1.0


class OnNode(Protocol):
    """The NodeManagers, as far as they are needed (nodelogs.py)."""

    def sizes_bytes(self, address: str, container_id: str, /) -> dict[str, int]:
        """The log files of a container."""

    def read(self, address: str, container_id: str, name: str, size_bytes: int | None = None, /) -> Iterator[bytes]:
        """A log file; its end when the size is negative."""


class OutputRest:
    """Reads one container's ``driver.stdout`` from an offset to its end; the driver has ended.

    ``patience_s`` is the time without a single new byte after which it gives up.
    """

    def __init__(
        self,
        nodes: OnNode,
        aggregated: Aggregated,
        *,
        patience_s: float,
        pause: Callable[[float], None] = time.sleep,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes = nodes
        self._aggregated = aggregated
        self._patience_s = patience_s
        self._pause = pause
        self._clock_s = clock_s

    def read(self, container: LogContainer, offset: int, *, known_to_exist: bool) -> Iterator[bytes]:
        """All that follows ``offset``. Unless it is known to exist, a container without this log wrote nothing.

        Raises:
            NotFound: it cannot be had, or not all of it.
        """
        last_news_s = self._clock_s()
        while True:
            for source in (self._from_node, self._from_aggregation):
                try:
                    for data in source(container, offset, known_to_exist):
                        offset += len(data)
                        yield data
                        last_news_s = self._clock_s()
                    return  # noqa: TRY300 - the loop ends here when the whole came
                except (LogsNotThere, YarnspecError) as error:
                    why = error
            if self._clock_s() - last_news_s >= self._patience_s:
                raise NotFound(f"{STDOUT} of {container.id} cannot be had from byte {offset} on: {why}")
            self._pause(_PAUSE_S)

    def _from_node(self, container: LogContainer, offset: int, known_to_exist: bool) -> Iterator[bytes]:
        if container.address is None:
            raise LogsNotThere(f"the NodeManager of {container.id} is not known")
        sizes = self._nodes.sizes_bytes(container.address, container.id)
        if STDOUT not in sizes:
            if known_to_exist:
                raise LogsNotThere(f"{container.address} has no {STDOUT} of {container.id}")
            return
        left = sizes[STDOUT] - offset
        if left > 0:
            for data in self._nodes.read(container.address, container.id, STDOUT, -left):
                left -= len(data)
                yield data
        if left > 0:
            raise LogsNotThere(f"the log at {container.address} lacks {left} bytes")

    def _from_aggregation(self, container: LogContainer, offset: int, _: bool) -> Iterator[bytes]:
        at = size_bytes = 0
        found = False
        for log, data in unwrap(self._aggregated(container.id, (STDOUT,))):
            if log.container_id != container.id or log.name != STDOUT:
                continue
            found, size_bytes = True, log.length_bytes
            fresh = data[max(0, offset - at) :]
            at += len(data)
            if fresh:
                yield fresh
        if not found or at < size_bytes:
            raise NotFound(f"the aggregated log has {at} of {size_bytes} bytes" if found else "YARN has no such log")
