"""The options of the JVMs: split into words by Spark's rules, and checked as Spark checks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.sizes import truth

if TYPE_CHECKING:
    from collections.abc import Mapping

_BLANKS = " \t\r\n"


def java_options(
    given: Mapping[str, str], role: Literal["driver", "executor"], *, client_mode: bool = False
) -> tuple[str, ...]:
    """Split a JVM's default and extra options; raise UsageError for those that Spark refuses too.

    Of a driver in client mode Spark's launcher splits them: it takes backslashes away. All others keep them.
    """
    options: list[str] = []
    for name in (f"spark.{role}.defaultJavaOptions", f"spark.{role}.extraJavaOptions"):
        words = list(_split(given.get(name, ""), name, by_launcher=client_mode))
        for word in words:
            if word.startswith("-Xmx"):
                raise UsageError(f"{name}: '{word}' is not allowed here; use --{role}-memory")
            if role == "executor" and word.startswith("-Dspark"):
                raise UsageError(f"{name}: '{word}' is not allowed here; use --conf {word[2:]}")
        options += words
    limit = f"spark.{role}.limitActiveProcessorCount.enabled"
    if truth(given.get(limit, "false"), limit):
        options.append(f"-XX:ActiveProcessorCount={given.get(f'spark.{role}.cores', '1')}")
    return tuple(options)


def _split(text: str, name: str, *, by_launcher: bool) -> Iterator[str]:
    """Split as ``Utils.splitCommandString``, or as ``CommandBuilderUtils.parseOptionString`` of Spark's launcher.

    To the launcher a backslash means something outside quotes too, and what stays open is an error.
    """
    word: str | None = None
    quote = ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\" and (quote == '"' or (by_launcher and not quote)):
            following = next(letters, "")
            if by_launcher and not following:
                raise UsageError(f"{name}: '{text}' cannot be split into options: it ends with a backslash")
            word = (word or "") + following
        elif quote:
            word, quote = (word, "") if letter == quote else (f"{word}{letter}", quote)
        elif letter in "\"'":
            word, quote = word or "", letter
        elif letter not in _BLANKS:
            word = (word or "") + letter
        elif word is not None:
            yield word
            word = None
    if by_launcher and quote:
        raise UsageError(f"{name}: '{text}' cannot be split into options: a {quote} stays open")
    if word is not None:
        yield word
