"""The last words of a program, in a few kilobytes: the traceback of its error, else the end of its output."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import msgspec

from yarnspec.observe.forms.told import why_failed
from yarnspec.units import counted

_HEADER = "Traceback (most recent call last)"
# A line of Spark's log, of a Java stack, or what Python prints between two tracebacks.
_AFTER_MESSAGE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d |\t(at |\.\.\. )|Caused by: |Driver stacktrace:")
# Errors that tell of another one: of a task, or of the JVM.
_OF_SPARK = ("py4j.", "pyspark.")
_OF_THE_JVM = ": "
_END_OF_THE_JVM = 'Exception in thread "main" '
_CAUSE = "Caused by: "
_JAVA_STACK = re.compile(r"\t(at |\.\.\. )|Driver stacktrace:")
# Lines that may follow the first one of an exception's text. After others the program went on.
_STILL_THE_END = re.compile(rf"\W|$|{_AFTER_MESSAGE.pattern}")

_FRAME_LINES = 40
_MESSAGE_LINES = 16
_LAST_LINES = 15
_LINE_BYTES = 1000
_FRAMES_BYTES = 3500
_MESSAGE_BYTES = 3000
REASON_BYTES = 500
SHOWN_BYTES = _FRAMES_BYTES + _MESSAGE_BYTES + 500
"""No text of this module is longer, with the header and the marks of what is left out."""

_READ_BYTES = 8 * 1024 * 1024
"""How far back a log is looked through: an error's text may hold a query plan of megabytes."""


class ProgramError(msgspec.Struct, frozen=True):
    """The error that ended the program, as the hook in the program notes it: each frame's lines, and type with text."""

    frames: tuple[str, ...]
    text: str


def of_error(failure: ProgramError) -> str:
    """Python's traceback of an error, without the middle of what is long and without Java's stack."""
    message = [line for line in failure.text.rstrip().splitlines() if not _JAVA_STACK.match(line)]
    return _traceback("".join(failure.frames).splitlines(), message)


def of_exit(said: str) -> str:
    """The text with which a program called ``sys.exit``, in one line and without the middle of a long one."""
    return without_middle(" ".join(said.split()), SHOWN_BYTES)


def last_traceback(log: Path, begins: int = 0, *, at_the_end: bool = False) -> str:
    """The last Python traceback of a log, from its byte ``begins`` on; empty when there is none.

    ``at_the_end``: not one after which the program went on. It may have printed an error that it had handled.
    """
    lines = tail(log, begins)
    starts = [number for number, line in enumerate(lines) if line.startswith(_HEADER)]
    if not starts:
        return ""
    after = lines[starts[-1] + 1 :]
    frames = list(itertools.takewhile(lambda line: line.startswith(" "), after))
    if at_the_end and _went_on(after[len(frames) + 1 :]):
        return ""
    message = list(itertools.takewhile(lambda line: not _AFTER_MESSAGE.match(line), after[len(frames) :]))
    return _traceback(frames, message)


def _went_on(lines: list[str]) -> bool:
    """Whether these lines after the first one of an exception's text are more than the rest of that text."""
    in_sql = False
    for line in lines:
        if in_sql:
            in_sql = not line.lstrip().startswith("^")
        elif line.startswith("== SQL"):
            in_sql = True
        elif not _STILL_THE_END.match(line):
            return True
    return False


def last_lines(log: Path, begins: int = 0, count: int = _LAST_LINES) -> str:
    """The last lines of a log without Java's stack, none of those before its byte ``begins``."""
    lines = [line for line in tail(log, begins) if not _JAVA_STACK.match(line)]
    return without_middle("\n".join(_short_lines(lines[-count:])), SHOWN_BYTES)


def exception_line(traceback: str) -> str:
    """The line of a traceback that names the exception; where Spark only passes one on, the line that names that."""
    header, *lines = traceback.splitlines()
    named, *rest = list(itertools.dropwhile(lambda line: line.startswith(" "), lines)) or [header]
    if named.startswith(_OF_SPARK):
        passed_on = rest if rest and rest[0].startswith(_OF_THE_JVM) else [named, *rest]
        why = why_failed("\n".join(passed_on).removeprefix(_OF_THE_JVM))
        # The text of an error of SQL's parser begins on the next line.
        more = next((line for line in rest if line.strip()), "") if why.endswith(":") and why == named.rstrip() else ""
        named = f"{why} {more.strip()}".rstrip()
    return without_middle(named, REASON_BYTES)


def last_line(words: str) -> str:
    """The last line of an output's end; of a JVM that died of an error that error, and what caused it first of all."""
    lines = words.strip().splitlines()
    died = [number for number, line in enumerate(lines) if line.startswith(_END_OF_THE_JVM)]
    if not died:
        return without_middle("".join(lines[-1:]), REASON_BYTES)
    error, *after = lines[died[-1] :]
    text = itertools.takewhile(lambda line: not _AFTER_MESSAGE.match(line), after)
    said = " ".join([error.removeprefix(_END_OF_THE_JVM), *text])
    cause = next((line.removeprefix(_CAUSE) for line in reversed(after) if line.startswith(_CAUSE)), "")
    return without_middle(said if cause in said else f"{said}, caused by {cause}", REASON_BYTES)


def tail(log: Path, begins: int = 0, limit_bytes: int = _READ_BYTES) -> list[str]:
    """The last lines of a log, none of those before its byte ``begins``."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(begins, log.stat().st_size - limit_bytes))
            return stream.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []


def without_middle(text: str, limit_bytes: int) -> str:
    """A text of about ``limit_bytes`` at most: of a longer one both ends, and how much is left out between them."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit_bytes:
        return text
    half = limit_bytes // 2
    first, last = (part.decode("utf-8", "ignore") for part in (encoded[:half], encoded[-half:]))
    return f"{first} … ({len(encoded) - 2 * half} bytes left out) … {last}"


def _traceback(frames: list[str], message: list[str]) -> str:
    lines = [
        f"{_HEADER}:",
        *_fewer_lines(frames, _FRAME_LINES, _FRAMES_BYTES),
        *_fewer_lines(message, _MESSAGE_LINES, _MESSAGE_BYTES),
    ]
    return "\n".join(lines).rstrip()


def _fewer_lines(lines: list[str], count: int, limit_bytes: int) -> list[str]:
    """At most about ``count`` lines: as many from both ends as the limit allows, and what :func:`_telling` keeps."""
    lines = _short_lines(lines)
    fewer = lines
    for half in range(count // 2, 0, -1):
        if len(lines) > 2 * half:
            fewer = [*lines[:half], *_telling(lines[half:-half], count), *lines[-half:]]
        if len("\n".join(fewer).encode("utf-8", "replace")) <= limit_bytes:
            return fewer
    return without_middle("\n".join(fewer), limit_bytes).splitlines()


def _telling(lines: list[str], count: int) -> list[str]:
    """The lines that name an error, or say how the next one came of it, unless they are many."""
    if sum(map(_tells, lines)) > count:
        return [_left_out(len(lines))]
    return [
        line
        for tells, run in itertools.groupby(lines, _tells)
        for line in (run if tells else [_left_out(len(list(run)))])
    ]


def _tells(line: str) -> bool:
    return not line.startswith((" ", "\t"))


def _left_out(lines: int) -> str:
    return f"  ({counted(lines, 'line')} left out)"


def _short_lines(lines: list[str]) -> list[str]:
    return [without_middle(line, _LINE_BYTES) for line in lines]
