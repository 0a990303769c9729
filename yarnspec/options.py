"""yarnspec's own options: ``--set`` wins over the environment, that over ``--config FILE``, that over the cluster's.

The cluster's files win over the defaults; ``yarn/hadoop/option_files.py`` knows where they are.

Each option is declared once, in ``core/options`` or in the file of its detector; here is how their values are read and
written.
"""

from __future__ import annotations

import difflib
import os
import typing
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import yaml

from yarnspec.aliases import ALIASES, WITHOUT_COUNTERPART, Value
from yarnspec.core.detectors.registry import DetectorSettings, read_by
from yarnspec.core.options.application import (
    ApplicationMasterSettings,
    ClusterSettings,
    HistorySettings,
    SubmitSettings,
)
from yarnspec.core.options.blocklist import BlockSettings
from yarnspec.core.options.placement import ExecutorSettings, PlacementSettings, ResourcesSettings
from yarnspec.core.options.recovery import RecoveryOptions
from yarnspec.core.options.speculation import SpeculationSettings
from yarnspec.errors import UsageError
from yarnspec.units import format_duration, format_size, parse_duration_ms, parse_size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


SCHEMA = 1
"""The form of a file of options; `config show -o json` begins with its number, and other files may."""
_SCHEMA_KEY = "schema"

OFF_MS = -1
"""How a duration that may be off says so."""
_OFF = ("off", "false", "no")
"""YAML reads the bare words as false."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """All options, in effect: one field for each group."""

    placement: PlacementSettings = PlacementSettings()
    resources: ResourcesSettings = ResourcesSettings()
    submit: SubmitSettings = SubmitSettings()
    history: HistorySettings = HistorySettings()
    am: ApplicationMasterSettings = ApplicationMasterSettings()
    executor: ExecutorSettings = ExecutorSettings()
    speculation: SpeculationSettings = SpeculationSettings()
    detector: DetectorSettings = DetectorSettings()
    blocklist: BlockSettings = BlockSettings()
    recovery: RecoveryOptions = RecoveryOptions()
    cluster: ClusterSettings = ClusterSettings()


_JSON_TYPES: dict[object, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The options in effect, where each value came from, and what the user should be told about them."""

    options: Options
    origins: dict[str, str]
    asked: frozenset[str]
    """The options that somebody set, so that not only the default holds."""
    warnings: tuple[str, ...] = ()

    def values(self) -> dict[str, Value]:
        """Every option's value by its name, as the configuration file writes it."""
        return {key: field.write(field.get(self.options)) for key, field in fields().items()}


class Field:
    """One option: its name, its place in ``Options`` and how its value is read and written."""

    def __init__(self, group: str, attribute: str, kind: object) -> None:
        self.group = group
        self.attribute = attribute
        self.bounds: object = kind
        self.kind = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
        name, _, unit = attribute.rpartition("_")
        self.unit = unit if unit in ("ms", "mb", "bytes") else ""
        self.key = f"{group}.{name if self.unit else attribute}"

    def get(self, options: Options) -> Value:
        """Return the value in ``options``."""
        value: Value = getattr(getattr(options, self.group), self.attribute)
        return value

    def write(self, value: Value) -> Value:
        """Return the value as the configuration file has it."""
        if self.unit == "ms":
            return "off" if self.may_be_off and value == OFF_MS else format_duration(int(value))
        if self.unit == "mb":
            return format_size(int(value) * 1024**2)
        if self.unit == "bytes":
            return format_size(int(value))
        return value

    def read(self, value: Value) -> Value:
        """Return the typed value of what a user wrote; raise ValueError when it is none."""
        text = str(value).strip()
        if self.unit == "ms":
            return self._read_duration(text)
        if self.unit == "mb":
            return _positive(parse_size_bytes(text) // 1024**2, text, "at least 1m")
        if self.unit == "bytes":
            return _positive(parse_size_bytes(text), text)
        if self.kind is bool:
            return _read_bool(text)
        if self.kind in (int, float):
            return self._read_number(text)
        choices = typing.get_args(self.kind)
        if choices and text not in choices:
            raise ValueError(f"'{text}' is none of {', '.join(choices)}.{suggest(text, choices)}")
        if not text and not self.may_be_empty:
            raise ValueError("it must not be empty")
        # A flag and the environment are no YAML, but a list may look like YAML's there, too.
        return text.removeprefix("[").removesuffix("]") if self.is_list else text

    def schema(self) -> dict[str, object]:
        """The JSON Schema of the value as the configuration file has it."""
        if self.unit:
            return {"type": ["string", "integer"]}
        if self.is_list:
            return {"type": ["string", "array"], "items": {"type": "string"}}
        if self.kind in _JSON_TYPES:
            return {"type": _JSON_TYPES[self.kind]}
        choices = typing.get_args(self.kind)
        return {"enum": [*choices]} if choices else {"type": "string"}

    def _read_duration(self, text: str) -> Value:
        if self.may_be_off and text.lower() in _OFF:
            return OFF_MS
        value = 0 if text == "0" else parse_duration_ms(text)  # no time at all needs no unit
        return value if self.may_be_zero else _positive(value, text)

    @property
    def limits(self) -> dict[str, float]:
        """The bounds of a number, in words: "at least" to the number, and so on."""
        return {
            words: bound
            for meta in typing.get_args(self.bounds)[1:]
            if isinstance(meta, msgspec.Meta)
            for words, bound in (("at least", meta.ge), ("more than", meta.gt), ("at most", meta.le))
            if bound is not None
        }

    @property
    def may_be_empty(self) -> bool:
        """Whether it is a text that may be empty."""
        return any(isinstance(bound, msgspec.Meta) and bound.min_length == 0 for bound in typing.get_args(self.bounds))

    @property
    def is_list(self) -> bool:
        """Whether it is a list, as a text with commas."""
        return any(isinstance(bound, msgspec.Meta) and bound.extra for bound in typing.get_args(self.bounds))

    @property
    def may_be_zero(self) -> bool:
        """Whether it is a quantity that may be 0."""
        return self._least in (0, OFF_MS)

    @property
    def may_be_off(self) -> bool:
        """Whether it is a duration that may be ``off``."""
        return self.unit == "ms" and self._least == OFF_MS

    @property
    def _least(self) -> float | None:
        bounds = (bound for bound in typing.get_args(self.bounds)[1:] if isinstance(bound, msgspec.Meta))
        return next((bound.ge for bound in bounds), None)

    def _read_number(self, text: str) -> Value:
        try:
            number: Value = int(text) if self.kind is int else float(text)
        except ValueError as error:
            raise ValueError(f"'{text}' is not {'a whole number' if self.kind is int else 'a number'}") from error
        if number != number:  # noqa: PLR0124 - the test for "not a number"
            raise ValueError(f"'{text}' is not a number")
        try:
            checked: Value = msgspec.convert(number, self.bounds)
        except msgspec.ValidationError as error:
            must = " and ".join(f"{words} {bound:g}" for words, bound in self.limits.items())
            raise ValueError(f"'{text}' must be {must}") from error
        return checked


@cache
def fields() -> dict[str, Field]:
    """Every option by its name, in the order of the configuration file."""
    found = [
        Field(group, attribute, kind)
        for group, struct in typing.get_type_hints(Options).items()
        for attribute, kind in typing.get_type_hints(struct, include_extras=True).items()
    ]
    return {field.key: field for field in found}


@cache
def default_options() -> Options:
    """The options when nobody sets anything."""
    return Options()


class _Layer(NamedTuple):
    """The values that one place sets. ``source`` is their origin, ``where`` the beginning of an error about them."""

    source: str
    where: str
    values: Mapping[str, Value]
    repeating: frozenset[str] = frozenset()
    """The groups whose defaults are repeated here without a wish for them."""


def load(
    config_file: Path | None = None,
    settings: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
    cluster_files: Iterable[Path] = (),
    settings_source: str = "flag",
) -> Loaded:
    """Merge the defaults, the files, the environment and ``GROUP.NAME=VALUE`` settings; raise UsageError for bad ones.

    ``settings_source``: how warnings and errors name the origin of these settings.

    Names of other systems (``ALIASES``) count like the option's own, which wins over them in the same place. Of the
    ``cluster_files`` a later one wins over an earlier one, and ``config_file`` over all of them.
    """
    layers = [
        *(_cluster_layer(path) for path in cluster_files),
        *([] if config_file is None else [_user_layer(config_file)]),
        _Layer("environment", "environment", _read_environment(os.environ if environ is None else environ)),
        _Layer(settings_source, "--set", _read_settings(settings)),
    ]
    defaults = default_options()
    chosen: dict[str, tuple[Value, str]] = {
        key: (field.write(field.get(defaults)), "default") for key, field in fields().items()
    }
    set_by: dict[str, _Layer] = {}
    aliases: list[tuple[str, Value, str]] = []
    warnings: list[str] = []
    for layer in layers:
        source = layer.source
        for key, value in sorted(layer.values.items(), key=lambda one: _rank(one[0])):
            if key in WITHOUT_COUNTERPART:
                warnings.append(f"option '{key}' ({source}) has no effect: {WITHOUT_COUNTERPART[key]}")
            elif key in ALIASES:
                converted = _converted(key, value, source)
                aliases.append((key, converted, source))
                chosen[ALIASES[key].key] = (converted, f"{source}, as {key}")
                set_by[ALIASES[key].key] = layer
            elif key in chosen:
                chosen[key] = (value, source)
                set_by[key] = layer
            else:
                raise UsageError(f"{layer.where}: there is no option '{key}'.{suggest(key, [*fields(), *ALIASES])}")
    origins = {key: chosen[key][1] for key in fields()}
    warnings += [_deprecated(alias, value, source, origins) for alias, value, source in aliases]
    built = _build({key: value for key, (value, _) in chosen.items()}, origins)
    if "detector.kind" not in _asked(built, set_by):
        built, implied = _with_implied_detector(built, aliases, origins, layers)
        warnings += implied
    return Loaded(
        options=built,
        origins=origins,
        asked=_asked(built, set_by),
        warnings=(*warnings, *_without_effect(built, origins)),
    )


def schema() -> dict[str, object]:
    """The JSON Schema of a file of options, which is also what `config show -o json` prints."""
    groups: dict[str, dict[str, object]] = {}
    for key, field in fields().items():
        group, _, name = key.partition(".")
        groups.setdefault(group, {})[name] = field.schema()
    closed = {
        group: {"type": "object", "properties": names, "additionalProperties": False} for group, names in groups.items()
    }
    return {
        "type": "object",
        "properties": {_SCHEMA_KEY: {"const": SCHEMA}, **closed},
        "additionalProperties": False,
    }


def different_options(values: Mapping[str, Mapping[str, Value]]) -> tuple[tuple[str, str], ...]:
    """Lists the options that differ from their defaults."""
    usual = msgspec.to_builtins(Options())
    return tuple(
        (f"{group}.{name}", _as_text(value))
        for group, named in values.items()
        for name, value in named.items()
        if usual.get(group, {}).get(name) != value
    )


def environment_name(key: str) -> str:
    """Name the environment variable of an option: ``placement.mode`` is ``YARNSPEC_PLACEMENT__MODE``."""
    return "YARNSPEC_" + key.replace(".", "__").replace("-", "_").upper()


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean …?`` with the nearest of the known words, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=2, cutoff=0.6)
    return " Did you mean " + " or ".join(f"'{each}'" for each in near) + "?" if near else ""


def _cluster_layer(path: Path) -> _Layer:
    """The values of a file for all users. Where it repeats a default, no user asked for that."""
    return _Layer(f"file {path}", str(path), _read_file(path), frozenset(typing.get_type_hints(Options)))


def _user_layer(path: Path) -> _Layer:
    """The values of ``--config``. A file with most of a group's options is a copy: only its changes count as set."""
    values = _read_file(path)
    return _Layer(f"file {path}", str(path), values, _copied_groups(values))


def _copied_groups(values: Mapping[str, Value]) -> frozenset[str]:
    """The groups of which most options stand here."""
    given = Counter(field.group for key, field in fields().items() if key in values)
    sizes = Counter(field.group for field in fields().values())
    return frozenset(group for group, count in given.items() if 2 * count > sizes[group])


def _read_file(path: Path) -> dict[str, Value]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the configuration file {path}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"the configuration file {path} is not YAML: {error}") from error
    if isinstance(content, dict) and _SCHEMA_KEY in content:
        number = content.pop(_SCHEMA_KEY)
        if type(number) is not int or number != SCHEMA:
            raise UsageError(
                f"{path}: this yarnspec reads files with 'schema: {SCHEMA}', not 'schema: {number}': write the file "
                "anew from `yarnspec config show -o json`, or leave the line out"
            )
    return _flatten(content, str(path))


def _flatten(content: object, where: str, prefix: str = "") -> dict[str, Value]:
    """Turn nested mappings into dotted names; names that are dotted already stay as they are."""
    if content is None and not prefix:
        return {}
    if not isinstance(content, dict):
        raise UsageError(f"{where}: '{prefix or 'the file'}' must hold groups of options, not {content!r}")
    flat: dict[str, Value] = {}
    for name, value in content.items():
        key = f"{prefix}.{name}" if prefix else str(name)
        if isinstance(value, dict):
            flat |= _flatten(value, where, key)
        elif isinstance(value, (str, int, float, bool)):
            flat[key] = value
        elif isinstance(value, list) and key in fields() and fields()[key].is_list:
            flat[key] = ",".join(str(one) for one in value)
        else:
            raise UsageError(f"{where}: the value of '{key}' must be text, a number or true/false, not {value!r}")
    return flat


def _read_environment(environ: Mapping[str, str]) -> dict[str, Value]:
    known = {environment_name(key): key for key in [*fields(), *ALIASES, *WITHOUT_COUNTERPART]}
    values: dict[str, Value] = {}
    for name, value in environ.items():
        # Variables without the double underscore belong to other parts of yarnspec.
        if not name.startswith("YARNSPEC_") or "__" not in name:
            continue
        if name not in known:
            raise UsageError(f"environment: no option belongs to the variable '{name}'.{suggest(name, known)}")
        values[known[name]] = value
    return values


def _read_settings(settings: Iterable[str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key:
            raise UsageError(f"--set {setting}: write it as GROUP.NAME=VALUE")
        values[key.strip()] = value
    return values


def _build(values: dict[str, Value], origins: dict[str, str]) -> Options:
    groups: dict[str, dict[str, Value]] = {}
    for key, field in fields().items():
        try:
            typed = field.read(values[key])
        except ValueError as error:
            raise UsageError(f"option '{key}' ({origins[key]}): {error}") from error
        groups.setdefault(field.group, {})[field.attribute] = typed
    return msgspec.convert(groups, Options)


def _with_implied_detector(
    options: Options, aliases: Iterable[tuple[str, Value, str]], origins: dict[str, str], layers: Iterable[_Layer]
) -> tuple[Options, list[str]]:
    """Choose the detector that another system's names in effect are options of; say so, and note it in ``origins``.

    A place that names a detector itself has chosen.
    """
    chosen_by = {
        one.source for one in layers if "detector.kind" in one.values and "detector" not in _copied_groups(one.values)
    }
    for alias, _, source in aliases:
        kind = ALIASES[alias].detector
        if kind and source not in chosen_by and origins[ALIASES[alias].key] == f"{source}, as {alias}":
            origins["detector.kind"] = f"{source}, as {alias}"
            said = (
                f"option '{alias}' ({source}) chooses the detector {kind}: "
                "set detector.kind as well to say which detector you want"
            )
            detector = msgspec.structs.replace(options.detector, kind=kind)
            return msgspec.structs.replace(options, detector=detector), [said]
    return options, []


def _without_effect(options: Options, origins: dict[str, str]) -> list[str]:
    """Name what is set for a detector that is not the chosen one; a copy of the defaults sets nothing."""
    kind = options.detector.kind
    if not options.speculation.enabled:
        return []
    return [
        f"option '{key}' ({origins[key]}) has no effect: detector.kind is {kind}, "
        f"which does not read it; only {' and '.join(kinds)} do"
        for key, field in fields().items()
        if field.group == "detector" and (kinds := read_by(field.attribute))
        if origins[key] != "default" and kind not in kinds and _differs(key, options)
    ]


def _asked(options: Options, set_by: Mapping[str, _Layer]) -> frozenset[str]:
    """Name what somebody set, without the defaults that a file only repeats."""
    return frozenset(
        key for key, layer in set_by.items() if _differs(key, options) or fields()[key].group not in layer.repeating
    )


def _differs(key: str, options: Options) -> bool:
    field = fields()[key]
    return field.get(options) != field.get(default_options())


def _rank(name: str) -> int:
    """Of two names for one option in the same place the one of the higher rank wins."""
    return list(ALIASES).index(name) if name in ALIASES else len(ALIASES)


def _deprecated(alias: str, value: Value, source: str, origins: dict[str, str]) -> str:
    target = ALIASES[alias].key
    said = f"option '{alias}' ({source}) is deprecated"
    if origins[target] == f"{source}, as {alias}":
        return f"{said}: it is {target}={_as_text(value)} now"
    return f"{said} and ignored: {target} is set as well ({origins[target]})"


def _converted(alias: str, value: Value, source: str) -> Value:
    try:
        return ALIASES[alias].convert(value)
    except ValueError as error:
        raise UsageError(f"option '{alias}' ({source}): {error}") from error


def _as_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _positive(value: int, text: str, least: str = "more than nothing") -> int:
    if value <= 0:
        raise ValueError(f"'{text}' must be {least}")
    return value


def _read_bool(text: str) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if text.lower() not in words:
        raise ValueError(f"'{text}' is neither true nor false")
    return words[text.lower()]
