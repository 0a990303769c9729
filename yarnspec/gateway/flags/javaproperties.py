"""Reads Java's ``.properties`` format, in which Spark keeps ``spark-defaults.conf``."""

from __future__ import annotations

import re

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX_DIGITS = 4
# Spark drops these around a value, but no line ends: somebody who escapes those means them.
_AROUND_VALUES = "".join(map(chr, range(ord(" ") + 1))).translate({ord("\n"): None, ord("\r"): None})


def parse(text: str) -> dict[str, str]:
    """Return the properties of a file's text; values lose blanks and the like around them, as in Spark.

    The later of two lines for one key wins. Raise ValueError for a malformed ``\\uXXXX``.
    """
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value).strip(_AROUND_VALUES)
    return properties


def _logical_lines(text: str) -> list[str]:
    """Drop comments and empty lines, and join a line that ends in a backslash with the next one."""
    lines: list[str] = []
    begun = ""
    continues = False
    # Java knows three line ends and no others; str.splitlines would know more.
    for raw in re.split(r"\r\n|\n|\r", text):
        line = raw.lstrip(" \t\f")
        if not continues and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continues = backslashes % 2 == 1
        begun += line[:-1] if continues else line
        if not continues:
            lines.append(begun)
            begun = ""
    if begun:
        lines.append(begun)
    return lines


def _split(line: str) -> tuple[str, str]:
    """Cut at the first ``=``, ``:`` or white space that is not escaped."""
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return line[:end], rest


def _unescape(text: str) -> str:
    """Undo Java's escapes; a pair of surrogates written as two of them becomes one character."""
    out: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter != "\\" or at == len(text):
            out.append(letter if letter != "\\" else "")
            continue
        letter = text[at]
        at += 1
        if letter != "u":
            out.append(_ESCAPES.get(letter, letter))
            continue
        digits = text[at : at + _HEX_DIGITS]
        if not re.fullmatch("[0-9a-fA-F]{4}", digits):
            raise ValueError(f"malformed \\uxxxx escape: \\u{digits}")
        out.append(chr(int(digits, 16)))
        at += _HEX_DIGITS
    joined = "".join(out)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\u" in text else joined
