"""YAML whose errors name the line and the key: each section is told what it may hold, and refuses the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, TypeVar

import yaml

from yarnspec.errors import UsageError
from yarnspec.options import suggest
from yarnspec.units import parse_duration_ms, parse_size_bytes

T = TypeVar("T")


class Section:
    """A mapping of the file."""

    def __init__(self, node: yaml.Node, where: str, file: str) -> None:
        self._file = file
        self.where = where
        self._node = node
        if not isinstance(node, yaml.MappingNode):
            self.refuse("it must hold keys and values", node)
        self._values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in self._values:
                self.refuse(f"'{name}' is there twice", key)
            self._values[name] = value
        self._keys = {str(key.value): key for key, _ in node.value}

    def only(self, *names: str) -> None:
        """Refuse other keys than these. First of all: then a slip of the pen is not taken for a key that is missing."""
        for name, node in self._keys.items():
            if name not in names:
                self.refuse(f"there is no such key.{suggest(name, names)}", node, name)

    def refuse(self, what: str, node: yaml.Node | None = None, key: str = "") -> None:
        """Raise UsageError with the key, and the line of ``node``, or else that of the key's value."""
        line = (node or self._values.get(key) or self._node).start_mark.line + 1
        named = f"{self.where}.{key}" if self.where and key else self.where or key
        raise UsageError(f"{self._file}, line {line}" + (f", {named}" if named else "") + f": {what}")

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def read(self, key: str, default: T, convert: Callable[[str], T]) -> T:
        """The value of a key, as ``convert`` reads its text."""
        if key not in self:
            return default
        node = self._values[key]
        if not isinstance(node, yaml.ScalarNode):
            self.refuse("it must be one value", node, key)
        return self._converted(key, node, convert)

    def _converted(self, key: str, node: yaml.Node, convert: Callable[[str], T]) -> T:
        try:
            return convert(str(node.value).strip())
        except ValueError as error:
            self.refuse(str(error), node, key)
            raise AssertionError from error

    def items(self, key: str, convert: Callable[[str], T]) -> list[T]:
        """A list of values."""
        if key not in self:
            return []
        node = self._values[key]
        if not isinstance(node, yaml.SequenceNode):
            self.refuse("it must be a list", node, key)
        return [self._converted(key, one, convert) for one in node.value]

    def sections(self, key: str) -> list[Section]:
        """A list of sections."""
        if key not in self:
            return []
        node = self._values[key]
        if not isinstance(node, yaml.SequenceNode):
            self.refuse("it must be a list", node, key)
        named = f"{self.where}.{key}" if self.where else key
        return [Section(one, f"{named}[{number}]", self._file) for number, one in enumerate(node.value)]

    def section(self, key: str) -> Section:
        """The section below a key, an empty one if it is not there."""
        nothing = yaml.MappingNode("tag:yaml.org,2002:map", [], self._node.start_mark)
        return Section(self._values.get(key, nothing), f"{self.where}.{key}" if self.where else key, self._file)

    def settings(self) -> Iterator[tuple[str, str, Callable[[str], None]]]:
        """Dotted names and values, whatever they are, each with how to refuse it."""
        for key, node in self._values.items():
            if isinstance(node, yaml.MappingNode):
                for name, value, refuse in Section(node, f"{self.where}.{key}", self._file).settings():
                    yield f"{key}.{name}", value, refuse
            else:
                listed = node.value if isinstance(node, yaml.SequenceNode) else [node]
                if not all(isinstance(one, yaml.ScalarNode) for one in listed):
                    self.refuse("it must be one value, or a list of values", node, key)
                yield key, ",".join(str(one.value) for one in listed), partial(self.refuse, node=node, key=key)


def read_yaml(text: str, file: str) -> Section:
    """The file's outermost section; raise UsageError, with the line, for what is not YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise UsageError(f"{file}, line {line}: this is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{file}: this is not YAML: {error}") from error
    if node is None:
        raise UsageError(f"{file}: it is empty")
    return Section(node, "", file)


def duration(text: str) -> int:
    """A duration in milliseconds; 0 needs no unit."""
    return 0 if text == "0" else parse_duration_ms(text)


def size(text: str) -> int:
    """A size in bytes."""
    return parse_size_bytes(text)


def count(text: str, least: int = 1, most: int = 10_000_000) -> int:
    """A whole number."""
    if not (text.isascii() and text.lstrip("-").isdigit()) or not least <= int(text) <= most:
        raise ValueError(f"'{text}' must be a whole number from {least} to {most}")
    return int(text)


def share(text: str) -> float:
    """A number from 0 to 1."""
    return number(text, 0, 1)


def number(text: str, least: float = 0, most: float = 1_000_000) -> float:
    """A number."""
    try:
        found = float(text)
    except ValueError as error:
        raise ValueError(f"'{text}' is not a number") from error
    if not least <= found <= most:
        raise ValueError(f"'{text}' must be from {least:g} to {most:g}")
    return found


def truth(text: str) -> bool:
    """True or false."""
    words: dict[str, Literal[True, False]] = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() not in words:
        raise ValueError(f"'{text}' is neither true nor false")
    return words[text.lower()]
