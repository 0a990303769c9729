"""The options of the JVMs: split into words by Spark's rules, and checked as Spark checks them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.sizes import truth

if TYPE_CHECKING:
    from collections.abc import Mapping

# A blank, a text in double quotes, one in single quotes, or plain letters. Quotes may stay open at the end.
_PART = re.compile(
    r"""(?P<blank>\s+)|"(?P<double>(?:\\.|[^"\\])*)\\?(?:"|$)|'(?P<single>[^']*)(?:'|$)|[^\s"']+""", re.DOTALL
)


def java_options(
    given: Mapping[str, str], role: Literal["driver", "executor"], *, client_mode: bool = False
) -> tuple[str, ...]:
    """Split a JVM's default and extra options; raise UsageError for those that Spark refuses too.

    Of a driver in client mode Spark's launcher splits them, as a shell does. All others keep their backslashes.
    """
    options: list[str] = []
    for name in (f"spark.{role}.defaultJavaOptions", f"spark.{role}.extraJavaOptions"):
        try:
            text = given.get(name, "")
            words = shlex.split(text) if client_mode else list(_split(text))
        except ValueError as error:
            raise UsageError(f"{name}: '{given[name]}' cannot be split into options: {error}") from error
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


def _split(text: str) -> Iterator[str]:
    """Split as Spark's ``Utils.splitCommandString``: a backslash means something in double quotes only."""
    word: str | None = None
    for part in _PART.finditer(text):
        if part["blank"] is None:
            quoted = (
                part["single"] if part["double"] is None else re.sub(r"\\(.)", r"\1", part["double"], flags=re.DOTALL)
            )
            word = (word or "") + (part[0] if quoted is None else quoted)
        elif word is not None:
            yield word
            word = None
    if word is not None:
        yield word
