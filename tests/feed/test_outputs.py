"""The reader of finished map outputs, against a server that speaks as the driver's JVM does."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from yarnspec.feed.outputs import OUTPUTS_ERRORS, OutputsReader
from yarnspec.journal.frames import encode_frame

TOKEN = "t0ken"


@contextmanager
def server(*connections: Callable[[socket.socket], None]) -> Iterator[int]:
    """A socket on which each connection, once it has said the token, is served by the next of these."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for one in connections:
                accepted, _ = listening.accept()
                with accepted:
                    said = b""
                    while not said.endswith(b"\n"):
                        said += accepted.recv(1)
                    assert said == TOKEN.encode() + b"\n"
                    one(accepted)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(timeout=10)


def frames(handed: int, *numbers: int, cut: int = 0) -> Callable[[socket.socket], None]:
    stream = struct.pack(">q", handed) + b"".join(encode_frame({"index": n}, bytes([n])) for n in numbers)
    return lambda accepted: accepted.sendall(stream[: len(stream) - cut])


def reader(port: int) -> tuple[OutputsReader, list[tuple[dict[str, Any], bytes]], list[int]]:
    got: list[tuple[dict[str, Any], bytes]] = []
    missing: list[int] = []
    return OutputsReader(port, TOKEN, lambda header, blob: got.append((header, blob)), missing.append), got, missing


def test_frames_are_handed_on_in_order() -> None:
    with server(frames(0, 1, 2, 3)) as port:
        one, got, missing = reader(port)
        one.read()
    assert got == [({"index": n}, bytes([n])) for n in (1, 2, 3)]
    assert missing == []


def test_what_a_broken_connection_lost_is_counted() -> None:
    with server(frames(0, 1, 2, cut=3), frames(2, 3)) as port:
        one, got, missing = reader(port)
        with pytest.raises(OUTPUTS_ERRORS):
            one.read()
        one.read()
    assert [header["index"] for header, _ in got] == [1, 3]
    assert missing == [1]


def test_a_refused_token_is_an_error() -> None:
    with server(lambda _accepted: None) as port, pytest.raises(OUTPUTS_ERRORS):
        reader(port)[0].read()
