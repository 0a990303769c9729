"""References to a container's variables in what the user sets: environment values, class paths, library paths.

YARN writes such values between double quotes into the shell script that starts a container. ``{{NAME}}``, ``$NAME``,
``${NAME}``, ``<CPS>`` and ``<LOG_DIR>`` are replaced there. This module follows the same rule in two places: in
Python for the driver, and as shell words for the executors' launch script. It never runs a command: ``$(…)``,
backticks and quotes stay as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from yarnspec.errors import UsageError

_PIECE = re.compile(
    r"\{\{(?P<yarn>[A-Za-z_][A-Za-z0-9_]*)\}\}"
    r"|\$\{(?P<braces>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|\$(?P<plain>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\\(?P<literal>[$`\"\\])"
    r"|(?P<separator><CPS>)"
    r"|(?P<logs><LOG_DIR>)"
)
_PIECE_OF_AN_OPTION = re.compile(r"\{\{(?P<yarn>[A-Za-z_][A-Za-z0-9_]*)\}\}|(?P<separator><CPS>)|(?P<logs><LOG_DIR>)")
"""A Java option's dollars are its own: ``-Dpattern=a$b``."""

_ONLY_IN_A_SHELL = re.compile(r"(?<!\\)(?:`|\$\(|\$\{[A-Za-z_][A-Za-z0-9_]*[^A-Za-z0-9_}])")
_LOG_DIRECTORIES = "LOG_DIRS"
_WORKING_DIRECTORY = "PWD"


def expand(value: str, environment: Mapping[str, str]) -> str:
    """The value with its references replaced; a variable that is not set becomes empty."""
    return _expand(_pieces(value), environment)


def expand_option(option: str, environment: Mapping[str, str]) -> str:
    """A Java option with YARN's own references replaced: ``{{NAME}}``, ``<CPS>`` and ``<LOG_DIR>``."""
    return _expand(_pieces(option, _PIECE_OF_AN_OPTION), environment)


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
    return _shell_word(_pieces(value))


def option_word(option: str, names: Mapping[str, str]) -> str:
    """A Java option as a word of a shell script, as ``expand_option``. ``names``: variables that have another name."""
    pieces = _pieces(option, _PIECE_OF_AN_OPTION)
    return _shell_word((text, name and names.get(name, name)) for text, name in pieces)


def has_references(value: str) -> bool:
    """Whether ``expand`` may change the value."""
    return _PIECE.search(value) is not None


def named_by_a_dollar(value: str) -> set[str]:
    """The variables that the value names as a shell does, and not as YARN does: the ``$`` may be meant as a letter."""
    return {name for text, name in _pieces(value) if name is not None and text.startswith("$")}


def needs_a_shell(value: str) -> bool:
    """Whether YARN's script would run a command, or use an operator of the shell, that yarnspec leaves alone."""
    return _ONLY_IN_A_SHELL.search(value) is not None


def in_each_container(name: str, variables: Mapping[str, str]) -> str:
    """The path that ``variables[name]`` says, without references, so that it means the same in each container.

    ``{{PWD}}`` becomes ``.``, one of ``variables`` its value. Another reference is a UsageError.
    """
    path = variables[name]
    if unknown := sorted(_named(path) - variables.keys() - {_WORKING_DIRECTORY}):
        raise UsageError(
            f"{name}={path}: only the working directory ($PWD) and spark.yarn.appMasterEnv.* of this submit may stand "
            f"in a Python's path, not {unknown[0]}. Write the path as it is on the hosts."
        )
    return set_variables(variables, {_WORKING_DIRECTORY: "."})[name] if has_references(path) else path


def _named(value: str) -> set[str]:
    return {name for _, name in _pieces(value) if name is not None}


def _expand(pieces: Iterable[tuple[str, str | None]], environment: Mapping[str, str]) -> str:
    words = []
    for text, name in pieces:
        word = text if name is None else environment.get(name, "")
        words.append(word.partition(",")[0] if name == _LOG_DIRECTORIES else word)
    return "".join(words)


def _shell_word(pieces: Iterable[tuple[str, str | None]]) -> str:
    words = []
    for text, name in pieces:
        if name is None:
            words.append(shlex.quote(text))
        elif name == _LOG_DIRECTORIES:
            words.append(f'"${{{name}%%,*}}"')
        else:
            words.append(f'"${{{name}-}}"')
    return "".join(words) or "''"


def _pieces(value: str, pattern: re.Pattern[str] = _PIECE) -> Iterator[tuple[str, str | None]]:
    """Each piece of the value as it is written, and the variable that it stands for; None: it is plain text."""
    at = 0
    for found in pattern.finditer(value):
        if found.start() > at:
            yield value[at : found.start()], None
        at = found.end()
        what = found.groupdict()
        if what["separator"]:
            yield ":", None
        elif what.get("literal"):
            yield what["literal"], None
        else:
            name = _LOG_DIRECTORIES if what["logs"] else what["yarn"] or what.get("braces") or what["plain"]
            yield found.group(), name
    if at < len(value):
        yield value[at:], None


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
