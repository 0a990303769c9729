"""Following a file that another process writes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from yarnspec.am.sources.tail import FileTail


def test_whole_lines_only_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    tail = FileTail(path)
    assert tail.lines() == []
    with path.open("wb", buffering=0) as file:
        file.write(b"one\ntw")
        assert tail.lines() == [b"one"]
        assert tail.lines() == []
        file.write(b"o\n\nthree\n")
        assert tail.lines() == [b"two", b"", b"three"]
        assert tail.lines() == []


def test_a_line_longer_than_one_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    line = b"x" * 200_000
    path.write_bytes(line + b"\nrest")
    assert FileTail(path).lines() == [line]


@given(st.lists(st.binary(max_size=20), max_size=12))
def test_however_it_is_written_the_lines_come_out(pieces: list[bytes]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        tail = FileTail(path)
        seen: list[bytes] = []
        with path.open("wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
                seen += tail.lines()
        assert seen == b"".join(pieces).split(b"\n")[:-1]
