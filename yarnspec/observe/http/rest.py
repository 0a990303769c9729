"""The messages of the negotiator's REST, for the server in the AM and the client on the gateway.

====== ============== ===================================================================================
GET    /status        the status document
GET    /events        JSON lines that follow the record ``after`` of ``epoch``, or of a later epoch when that has no
                      more; the answer's header says of which; waits up to ``wait_s`` for the first one
GET    /output        the driver's ``stream`` (stdout, stderr) from ``offset``; waits up to ``wait_s``; the answer's
                      headers say where the next one starts, of which attempt it is, and whether it is complete;
                      ``reader`` is any name by which one of several readers is told from the others
GET    /hosts         the cluster's hosts, and which are blocked
POST   /hosts/block   ``BlockBody`` → ``Answer``
POST   /hosts/unblock ``UnblockBody`` → ``Answer``
POST   /scale         ``ScaleBody`` → ``Answer``
GET    /explain       ``Explanation`` of the task ``stage`` and ``index``, or of the ``host``; null: there is no such
GET    /running       ``RunningAttempt`` of each task attempt that runs
GET    /metrics       the status' numbers in Prometheus' text form
====== ============== ===================================================================================

Every request carries ``Authorization: Bearer <token>``.
"""

from __future__ import annotations

import msgspec

ENDPOINT_FILE = "yarnspec-endpoint.json"
"""The file in the application's staging directory that holds its ``Endpoint``."""

OFFSET_HEADER = "Yarnspec-Offset"
ENDED_HEADER = "Yarnspec-Ended"
EPOCH_HEADER = "Yarnspec-Epoch"
ATTEMPT_HEADER = "Yarnspec-Attempt"

BODY_LIMIT_BYTES = 64 * 1024
CHUNK_LIMIT_BYTES = 1024 * 1024
WAIT_LIMIT_S = 30.0
READER_LIMIT = 64
RUNNING_LIMIT = 20_000


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the negotiator of an application listens, and the token that it accepts; only the user may read it."""

    url: str
    token: str
    epoch: int
    attempt: int

    def __repr__(self) -> str:
        """Without the token, which has no business in a log."""
        return f"Endpoint(url={self.url!r}, epoch={self.epoch}, attempt={self.attempt})"


class BlockBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to keep a host out; ``duration_ms`` None means until it is unblocked."""

    host: str
    reason: str
    by: str
    duration_ms: int | None = None
    force: bool = False


class ScaleBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for at least and at most so many executors; ``force``: more hosts will come."""

    min_executors: int
    max_executors: int
    by: str
    force: bool = False


class UnblockBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request to let a host in again."""

    host: str
    by: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request. ``changed`` is false if things stood as asked for, or better, before.

    ``still_blocked``: a host that was unblocked for the application is still blocked by the cluster's list.
    """

    accepted: bool
    reason: str = ""
    changed: bool = True
    still_blocked: bool = False


class HostEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One host of the cluster; the last fields are set when it is blocked.

    ``left_in_use``: why nothing blocks this host by itself, if that is so.
    """

    host: str
    rack: str = ""
    state: str = ""
    containers: int = 0
    blocked: bool = False
    reason: str = ""
    until_ms: int | None = None
    level: str = ""
    cause: str = ""
    by: str = ""
    left_in_use: str = ""


class OutputChunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the driver's output; ``next_offset`` is where the next one starts.

    Each attempt's output is one stream, however often the driver is started again in it.
    ``ended``: the stream is complete once a reader stands at ``next_offset`` with no data left.
    """

    data: bytes
    next_offset: int
    ended: bool
    attempt: int
