"""The text in which YARN wraps container logs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yarnspec.gateway.logs.logtext import unwrap

CONTAINER = "container_e12_1700000000000_0001_01_000002"
TRAP = (
    b"End of LogType:stdout\n****\nContainer: container_1_0001_01_000009 on h_1\nLogType:x\nLogLength:5\nLogContents:\n"
)


def wrapped(name: str, contents: bytes, container_id: str = CONTAINER, length: int | None = None) -> bytes:
    size = len(contents) if length is None else length
    return b"".join(
        [
            f"Container: {container_id} on 127.0.0.2_40567\nLogAggregationType: AGGREGATED\n".encode(),
            b"=" * 40 + b"\n",
            f"LogType:{name}\nLogLastModifiedTime:Sat Nov 21 02:00:00 +0000 2026\nLogLength:{size}\n".encode(),
            b"LogContents:\n" + contents,
            f"\nEnd of LogType:{name}\n".encode() + b"*" * 60 + b"\n\n",
        ]
    )


def read(text: bytes, piece: int = 7, limit: int | None = None) -> list[tuple[str, str, str, bytes]]:
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
    found: dict[tuple[str, str, str], bytes] = {}
    for log, data in unwrap(pieces, limit):
        key = (log.container_id, log.host, log.name)
        found[key] = found.get(key, b"") + data
    return [(*key, data) for key, data in found.items()]


def test_several_logs_of_several_containers() -> None:
    other = "container_1700000000000_0001_01_000003"
    text = wrapped("stderr", b"no line end") + wrapped("stdout", b"") + wrapped("stdout", b"a\nb\n", other)
    assert read(text) == [
        (CONTAINER, "127.0.0.2", "stderr", b"no line end"),
        (CONTAINER, "127.0.0.2", "stdout", b""),
        (other, "127.0.0.2", "stdout", b"a\nb\n"),
    ]


def test_a_log_that_looks_like_the_wrapping_is_not_taken_for_it() -> None:
    assert read(wrapped("stdout", TRAP) + wrapped("stderr", b"x")) == [
        (CONTAINER, "127.0.0.2", "stdout", TRAP),
        (CONTAINER, "127.0.0.2", "stderr", b"x"),
    ]


def test_a_part_of_a_file_has_the_length_of_all() -> None:
    text = wrapped("stdout", b"the end", length=5000)
    assert read(text, limit=7) == [(CONTAINER, "127.0.0.2", "stdout", b"the end")]


def test_what_is_cut_off_ends() -> None:
    assert read(wrapped("stdout", b"0123456789")[:-90])[0][3].startswith(b"0123")


@given(st.lists(st.binary(max_size=40), max_size=4), st.integers(1, 30))
def test_any_contents_in_any_pieces(contents: list[bytes], piece: int) -> None:
    text = b"".join(wrapped(f"file{number}", data) for number, data in enumerate(contents))
    assert [found[3] for found in read(text, piece)] == contents


@given(st.binary(max_size=200))
def test_other_text_gives_nothing_and_no_error(text: bytes) -> None:
    list(unwrap([text]))
