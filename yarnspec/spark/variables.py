"""References to a container's variables in what the user sets: environment values, class paths, library paths.

YARN writes such values between double quotes into the shell script that starts a container. ``{{NAME}}``, ``$NAME``,
``${NAME}``, ``<CPS>`` and ``<LOG_DIR>`` are replaced there. This module follows the same rule in two places: in
Python for the driver, and as shell words for the executors' launch script. It never runs a command: ``$(…)``,
backticks and quotes stay as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

_PIECE = re.compile(
    r"\{\{(?P<yarn>[A-Za-z_][A-Za-z0-9_]*)\}\}"
    r"|\$\{(?P<braces>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|\$(?P<plain>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\\(?P<literal>[$`\"\\])"
    r"|(?P<separator><CPS>)"
    r"|(?P<logs><LOG_DIR>)"
)
_ONLY_IN_A_SHELL = re.compile(r"(?<!\\)(?:`|\$\(|\$\{[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_}])")
_LOG_DIRECTORIES = "LOG_DIRS"
_WORKING_DIRECTORY = "PWD"


def expand(value: str, environment: Mapping[str, str]) -> str:
    """The value with its references replaced; a variable that is not set becomes empty."""
    words = []
    for text, name in _pieces(value):
        word = text if name is None else environment.get(name, "")
        words.append(word.partition(",")[0] if name == _LOG_DIRECTORIES else word)
    return "".join(words)


def set_variables(variables: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with the user's variables added, each expanded."""
    result = dict(environment)
    for name in _in_order(variables):
        result[name] = expand(variables[name], result)
    return result


def export_script(variables: Mapping[str, str]) -> str:
    """A shell script that does the same as ``set_variables``."""
    return "".join(f"export {name}={shell_word(variables[name])}\n" for name in _in_order(variables))


def shell_word(value: str) -> str:
    """The value as one word of a shell script, which replaces the references when it runs."""
    words = []
    for text, name in _pieces(value):
        if name is None:
            words.append(shlex.quote(text))
        elif name == _LOG_DIRECTORIES:
            words.append(f'"${{{name}%%,*}}"')
        else:
            words.append(f'"${{{name}-}}"')
    return "".join(words) or "''"


def has_references(value: str) -> bool:
    """Whether ``expand`` may change the value."""
    return _PIECE.search(value) is not None


def needs_a_shell(value: str) -> bool:
    """Whether YARN's script would run a command, or use an operator of the shell, that yarnspec leaves alone."""
    return _ONLY_IN_A_SHELL.search(value) is not None


def beside_the_container(path: str) -> str:
    """A path below ``{{PWD}}`` as a path relative to the working directory, which means the same in each container."""
    return (
        "".join("." if name == _WORKING_DIRECTORY else text for text, name in _pieces(path))
        if _WORKING_DIRECTORY in _named(path)
        else path
    )


def _pieces(value: str) -> Iterator[tuple[str, str | None]]:
    """Each piece of the value as it is written, and the variable that it stands for; None: it is plain text."""
    at = 0
    for found in _PIECE.finditer(value):
        if found.start() > at:
            yield value[at : found.start()], None
        at = found.end()
        if found["separator"]:
            yield ":", None
        elif found["literal"]:
            yield found["literal"], None
        else:
            name = _LOG_DIRECTORIES if found["logs"] else found["yarn"] or found["braces"] or found["plain"]
            yield found.group(), name
    if at < len(value):
        yield value[at:], None


def _named(value: str) -> set[str]:
    return {name for _, name in _pieces(value) if name is not None}


def _in_order(variables: Mapping[str, str]) -> list[str]:
    """The names, each after those that its value refers to, as YARN sorts them.

    A variable that refers to itself, or to one that refers back to it, gets what the container had before.
    """
    ordered: dict[str, None] = {}
    begun: set[str] = set()

    def place(name: str) -> None:
        if name in variables and name not in begun:
            begun.add(name)
            for other in sorted(_named(variables[name])):
                place(other)
            ordered[name] = None

    for name in variables:
        place(name)
    return list(ordered)
