"""Java's properties format; the expected values were printed by Spark 4.3.0 for the same lines."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.gateway.flags.javaproperties import parse


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("spark.a  d", {"spark.a": "d"}),
        ("spark.a=d", {"spark.a": "d"}),
        ("spark.x\\ y : v1  ", {"spark.x y": "v1"}),
        ("spark.cont = a,\\\n    b,\\\n  c", {"spark.cont": "a,b,c"}),
        ("# c\n! d\n\n   # e\nspark.a 1", {"spark.a": "1"}),
        ("spark.uni \\u00e9\\ud83d\\ude00", {"spark.uni": "é😀"}),
        ("spark.tab a\\tb\\q\\\\z", {"spark.tab": "a\tbq\\z"}),
        ("spark.empty", {"spark.empty": ""}),
        ("spark.trail= x \\\\", {"spark.trail": "x \\"}),
        ("spark.eq=a=b:c", {"spark.eq": "a=b:c"}),
        ("spark.bs\\:k=v", {"spark.bs:k": "v"}),
        ("spark.dup 1\nspark.dup 2", {"spark.dup": "2"}),
        ("\tspark.lead t", {"spark.lead": "t"}),
        ("spark.hash v # not comment", {"spark.hash": "v # not comment"}),
        ("spark.lead2 = \\ x", {"spark.lead2": "x"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=x\\", {"a": "x"}),
        ("a=\\n\\n", {"a": "\n\n"}),
        ("a=\\n blah", {"a": "\n blah"}),
        ("a=blah\\r", {"a": "blah\r"}),
        ("a=\\ blah\\f", {"a": "blah"}),
        ("a=\\t x \\f", {"a": "x"}),
        ("a=\\u0001 \\r x\\u001f\\n ", {"a": "\r x\u001f\n"}),
        ("a=\\u00a0x\\u00a0", {"a": "\u00a0x\u00a0"}),
        ("a=\\u0020\\u3000", {"a": "\u3000"}),
    ],
)
def test_lines_are_read_as_java_reads_them(text: str, properties: dict[str, str]) -> None:
    assert parse(text) == properties


def test_a_malformed_escape_is_an_error() -> None:
    with pytest.raises(ValueError, match="uxxxx"):
        parse("a=\\u12")


@given(st.dictionaries(st.from_regex(r"[a-z.]{1,10}", fullmatch=True), st.text(max_size=20)))
def test_what_is_escaped_is_read_back(properties: dict[str, str]) -> None:
    def escape(text: str) -> str:
        return "".join(letter if letter.isascii() and letter.isalnum() else _java(letter) for letter in text)

    text = "".join(f"{key}={escape(value)}\n" for key, value in properties.items())
    assert parse(text) == {key: trimmed(value) for key, value in properties.items()}


def trimmed(value: str) -> str:
    """The value without what Spark drops at its ends: all up to the blank, but no line ends."""
    while value and value[0] <= " " and value[0] not in "\r\n":
        value = value[1:]
    while value and value[-1] <= " " and value[-1] not in "\r\n":
        value = value[:-1]
    return value


def _java(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@given(st.text(alphabet=st.sampled_from("ab=: \t\n\r\\#!u0"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert all(value == trimmed(value) for value in parse(text).values())
