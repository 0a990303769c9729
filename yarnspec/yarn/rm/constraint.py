"""A user's placement constraint in YARN's own syntax: our check of it, and on which hosts it can hold.

YARN reads the expression itself (``PlacementConstraintParser``). Its errors name no place, and some nonsense passes: so
the expression is checked here first, against the syntax of ``docs/placement.md``. YARN also takes spaces and capital
letters for parts of names: so it gets the text of what was read here (``str``), never the user's own. Only the
ResourceManager can judge allocation tags. Node attributes are compared with the attributes that hosts publish.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from yarnspec.core.messages.settings import Settings
from yarnspec.core.options.placement import PlacementSettings
from yarnspec.errors import UsageError

DEFAULT_PREFIX = "rm.yarn.io"

_NAMESPACES = ("self", "not-self", "all")
_SCOPES = ("node", "rack")
_KEY = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"[0-9]{1,10}")
_LARGEST_NUMBER = 2**31 - 1
"""YARN's parser takes no larger number: it is a Java ``int``."""
_SHOWN_VALUES = 5
_CARDINALITY_PARTS = 5


class Attribute(msgspec.Struct, frozen=True):
    """A node attribute, with its prefix, has this value, or has not."""

    key: str
    value: str
    equal: bool

    def can_hold(self, attributes: Mapping[str, str]) -> bool:
        """Whether it holds; a host without the attribute differs from every value."""
        return (attributes.get(self.key) == self.value) is self.equal

    def own_limit(self, _own: Collection[str]) -> int | None:
        """It says nothing of other containers."""
        return None

    def follows_tags(self, _own: Collection[str]) -> bool:
        """It says nothing of other containers."""
        return False

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.equal else '!='}{self.value}"


class Tags(msgspec.Struct, frozen=True):
    """Something about containers with allocation tags: near them, away from them, or so many of them.

    ``tags``: with their namespaces, as written. ``bounds``: the least and the most of ``cardinality``.
    """

    kind: Literal["in", "notin", "cardinality"]
    scope: Literal["node", "rack"]
    tags: tuple[str, ...]
    bounds: tuple[int, int] | None = None

    def can_hold(self, _attributes: Mapping[str, str]) -> bool:
        """Which containers run where only the ResourceManager knows."""
        return True

    def own_limit(self, own: Collection[str]) -> int | None:
        """How many containers with these tags of their own may be on one host, if it is about nothing else."""
        names = {tag.removeprefix("self/").removeprefix("all/") for tag in self.tags}
        is_own = not names.isdisjoint(own) if self.kind == "notin" else names.issubset(own)
        least, most = self.bounds or (0, 0)
        if self.kind == "in" or self.scope != "node" or not is_own or least or most == _LARGEST_NUMBER:
            return None
        return most + 1  # YARN counts those that are there before.

    def follows_tags(self, own: Collection[str]) -> bool:
        """Whether it ties containers to others, as more than a limit of those with their own tags."""
        return self.kind != "notin" and self.own_limit(own) is None

    def __str__(self) -> str:
        return ",".join((self.kind, self.scope, *self.tags, *map(str, self.bounds or ())))


class Composed(msgspec.Struct, frozen=True):
    """All of several constraints, or one of them."""

    kind: Literal["and", "or"]
    parts: tuple[Constraint, ...]

    def can_hold(self, attributes: Mapping[str, str]) -> bool:
        """Whether it can hold on a host with these attributes."""
        each = (part.can_hold(attributes) for part in self.parts)
        return all(each) if self.kind == "and" else any(each)

    def own_limit(self, own: Collection[str]) -> int | None:
        """How many containers with these tags of their own may be on one host; None: as many as there are."""
        if self.kind == "or":
            return None
        return min((limit for part in self.parts if (limit := part.own_limit(own)) is not None), default=None)

    def follows_tags(self, own: Collection[str]) -> bool:
        """Whether it ties containers to others, so that only the ResourceManager knows the hosts."""
        return any(part.follows_tags(own if self.kind == "and" else ()) for part in self.parts)

    def __str__(self) -> str:
        return f"{self.kind}({':'.join(map(str, self.parts))})"


Constraint = Attribute | Tags | Composed


def parse(text: str) -> Constraint:
    """Read an expression; UsageError with the part that is wrong."""
    return _ConstraintParser(text).whole()


def leaves(constraint: Constraint) -> Iterator[Attribute | Tags]:
    """The single constraints in it."""
    if isinstance(constraint, Composed):
        for part in constraint.parts:
            yield from leaves(part)
    else:
        yield constraint


def own_tags(options: PlacementSettings) -> tuple[str, ...]:
    """The allocation tags of the application's executors."""
    return tuple(tag.strip() for tag in options.tags.split(",") if tag.strip())


def constraint_of(options: PlacementSettings) -> Constraint | None:
    """The user's constraint, which was checked at submit."""
    return parse(options.constraint) if options.constraint else None


def in_effect(settings: Settings) -> Settings:
    """The settings with the options of placement that hold beside the user's constraint.

    A constraint that ties executors to other containers leaves the hosts to YARN. One that limits how many of them may
    be on a host is such a limit for yarnspec, too.
    """
    options = settings.placement
    constraint, own = constraint_of(options), own_tags(options)
    if constraint is None:
        return settings
    if constraint.follows_tags(own):
        return msgspec.structs.replace(settings, placement=msgspec.structs.replace(options, spread=False))
    limit = constraint.own_limit(own)
    if limit is None or 0 < options.max_per_host <= limit:
        return settings
    placement = msgspec.structs.replace(options, max_per_host=limit)
    return msgspec.structs.replace(settings, placement=placement, limited_by="placement.constraint")


def check_hosts(constraint: Constraint, hosts: Iterable[Mapping[str, str]]) -> None:
    """Refuse a constraint that can hold on none of the hosts; each is given by its attributes.

    With the scheduler's own handler the ResourceManager rejects nothing: such a request would wait in silence.
    """
    attributes = list(hosts)
    if any(constraint.can_hold(one) for one in attributes):
        return
    for leaf in leaves(constraint):
        if isinstance(leaf, Attribute) and not any(leaf.can_hold(one) for one in attributes):
            values = sorted({one[leaf.key] for one in attributes if leaf.key in one})
            shown = ", ".join(values[:_SHOWN_VALUES]) + (", …" if len(values) > _SHOWN_VALUES else "")
            has = f"they have {leaf.key}={shown}" if values else f"none has the attribute {leaf.key}"
            raise UsageError(
                f"placement.constraint: no running host satisfies '{leaf}': {has}. `yarn nodeattributes -list` shows "
                "what there is."
            )
    raise UsageError(
        f"placement.constraint: none of the {len(attributes)} running hosts satisfies all of it at once; each part "
        "alone holds on some host."
    )


def check_tags(text: str) -> None:
    """Refuse what is no list of allocation tags."""
    for tag in text.split(","):
        if not _WORD.fullmatch(tag.strip()):
            raise UsageError(f"placement.tags: '{tag}' is no allocation tag; tags are words separated by commas")


class _ConstraintParser:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text

    def whole(self) -> Constraint:
        if not self._text.strip():
            raise UsageError("placement.constraint: it is empty; write for example notin,node,all/hbase")
        return self._constraint(0, len(self._text))

    def _constraint(self, start: int, end: int) -> Constraint:
        start, end = self._stripped(start, end)
        part = self._text[start:end]
        if not part:
            raise self._wrong(start, end, "a constraint is missing here")
        opens = part.find("(")
        if opens >= 0:
            return self._composed(start, end, start + opens)
        if ":" in part:
            raise self._wrong(start, end, "several constraints stand only inside and(…:…) or or(…:…)")
        if "=" in part:
            return self._attribute(start, end)
        return self._tags(start, end)

    def _composed(self, start: int, end: int, opens: int) -> Constraint:
        kind = self._text[start:opens].strip().lower()
        if kind not in {"and", "or"}:
            raise self._wrong(start, opens + 1, "only and(…) and or(…) have parentheses")
        if self._text[end - 1] != ")" or self._closing(opens, end) != end - 1:
            raise self._wrong(start, end, "its parentheses do not match")
        bounds, depth, begin = [], 0, opens + 1
        for at in range(opens + 1, end - 1):
            depth += {"(": 1, ")": -1}.get(self._text[at], 0)
            if self._text[at] == ":" and depth == 0:
                bounds.append((begin, at))
                begin = at + 1
        bounds.append((begin, end - 1))
        if len(bounds) == 1:
            raise self._wrong(start, end, f"{kind}(…) needs at least two constraints with a colon between them")
        return Composed("and" if kind == "and" else "or", tuple(self._constraint(*each) for each in bounds))

    def _closing(self, opens: int, end: int) -> int:
        depth = 0
        for at in range(opens, end):
            depth += {"(": 1, ")": -1}.get(self._text[at], 0)
            if depth == 0:
                return at
        return -1

    def _attribute(self, start: int, end: int) -> Attribute:
        part = self._text[start:end]
        key, sign, value = part.partition("=")
        equal = not key.endswith("!")
        key = key.removesuffix("!").strip()
        value = value.strip()
        if not _KEY.fullmatch(key):
            raise self._wrong(start, end, f"'{key}' is no name of a node attribute")
        if "," in value:
            raise self._wrong(start, end, "YARN heeds only the first of several values; write or(KEY=A:KEY=B)")
        if sign and (not value or not _WORD.fullmatch(value)):
            raise self._wrong(start, end, f"'{value}' is no value of a node attribute")
        return Attribute(key if "/" in key else f"{DEFAULT_PREFIX}/{key}", value, equal)

    def _tags(self, start: int, end: int) -> Tags:
        parts = [one.strip() for one in self._text[start:end].split(",")]
        kind, scope, tags = parts[0].lower(), "".join(parts[1:2]).lower(), parts[2:]
        if kind not in {"in", "notin", "cardinality"}:
            raise self._wrong(
                start, end, "it is none of in,SCOPE,TAG  notin,SCOPE,TAG  cardinality,SCOPE,TAG,MIN,MAX  KEY=VALUE"
            )
        if scope not in _SCOPES:
            raise self._wrong(start, end, f"'{scope}' is no scope; a scope is node or rack")
        bounds = None
        if kind == "cardinality":
            if len(parts) < _CARDINALITY_PARTS:
                raise self._wrong(start, end, "cardinality needs a scope, a tag, the least and the most")
            tags, bounds = parts[2:-2], self._bounds(start, end, parts[-2:])
        if not tags:
            raise self._wrong(start, end, "a tag is missing: YARN takes this for always true")
        for tag in tags:
            self._tag(start, end, tag)
        return msgspec.convert({"kind": kind, "scope": scope, "tags": tags, "bounds": bounds}, Tags)

    def _bounds(self, start: int, end: int, texts: list[str]) -> tuple[int, int]:
        if not all(_NUMBER.fullmatch(text) and int(text) <= _LARGEST_NUMBER for text in texts):
            said = f"{' and '.join(texts)} are no whole numbers up to {_LARGEST_NUMBER}: cardinality ends with MIN,MAX"
            raise self._wrong(start, end, said)
        least, most = map(int, texts)
        if least > most:
            raise self._wrong(start, end, f"the least ({least}) is more than the most ({most})")
        return least, most

    def _tag(self, start: int, end: int, tag: str) -> None:
        namespace, slash, name = tag.rpartition("/")
        if slash and namespace not in _NAMESPACES:
            raise self._wrong(start, end, f"'{namespace}/' is no namespace here; there are {', '.join(_NAMESPACES)}")
        if not _WORD.fullmatch(name):
            raise self._wrong(start, end, f"'{tag}' is no allocation tag" if tag else "a tag is empty")

    def _stripped(self, start: int, end: int) -> tuple[int, int]:
        part = self._text[start:end]
        return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()) if part.strip() else 0)

    def _wrong(self, start: int, end: int, what: str) -> UsageError:
        return UsageError(
            f"placement.constraint: '{self._text[start:end]}' (from character {start + 1}) is wrong: {what}."
        )
