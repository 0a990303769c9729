"""Frames: what is read is what was written, or an error; a promised length costs nothing."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.journal.frames import MAX_FRAME_BYTES, DamagedFrameError, Frame, encode_frame, read_frames

HEADERS = st.dictionaries(st.text(max_size=5), st.integers(-(2**31), 2**31) | st.text(max_size=5) | st.none())


def frames(data: bytes) -> list[Frame]:
    return list(read_frames(io.BytesIO(data).read))


@given(st.lists(st.tuples(HEADERS, st.binary(max_size=50)), max_size=4))
def test_what_is_read_is_what_was_written(written: list[tuple[dict[str, Any], bytes]]) -> None:
    assert frames(b"".join(encode_frame(*each) for each in written)) == written


def test_the_layout_is_the_one_that_java_has() -> None:
    assert encode_frame({"kind": "map", "shuffle": 1000001}, b"\x00\xffrest").hex() == (
        "0000002e1975e156000000207b226b696e64223a226d6170222c2273687566666c65223a313030303030317d00ff72657374"
    )


def test_a_stream_may_give_less_than_it_is_asked_for() -> None:
    stream = io.BytesIO(encode_frame({"a": 1}, b"x" * 1000) * 2)
    assert [each.blob for each in read_frames(lambda size: stream.read(min(size, 7)))] == [b"x" * 1000] * 2


def test_every_cut_is_told() -> None:
    data = encode_frame({"a": 1}, b"blob") * 2
    half = len(data) // 2
    for end in range(len(data)):
        if end in {0, half}:
            assert len(frames(data[:end])) == end // half
        else:
            with pytest.raises(EOFError):
                frames(data[:end])


def test_no_flipped_bit_gets_through() -> None:
    data = encode_frame({"a": 1}, b"blob")
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises((DamagedFrameError, EOFError)):
            frames(bytes(flipped))


@pytest.mark.parametrize("length", [MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 2**32 - 1, 0, 7])
def test_a_length_alone_costs_no_memory(length: int) -> None:
    bomb = length.to_bytes(4, "big") + bytes(1000)
    tracemalloc.start()
    try:
        with pytest.raises((DamagedFrameError, EOFError)):
            frames(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()


def test_a_frame_too_large_to_be_read_is_not_made() -> None:
    with pytest.raises(ValueError, match="larger than"):
        encode_frame({}, bytes(MAX_FRAME_BYTES))


@pytest.mark.parametrize("body", [b"", b"\x00\x00\x00\x09{}", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x02{x"])
def test_a_right_checksum_does_not_make_a_frame(body: bytes) -> None:
    data = (len(body) + 4).to_bytes(4, "big") + google_crc32c.value(body).to_bytes(4, "big") + body
    with pytest.raises(DamagedFrameError):
        frames(data)
