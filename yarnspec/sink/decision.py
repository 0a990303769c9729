"""A sink's decision about publishing, and the names around an output."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from yarnspec.errors import YarnspecError
from yarnspec.sink.attempts import AttemptSets
from yarnspec.sink.files import SinkFiles, split

SUCCESS = "_SUCCESS"
_MANIFEST = re.compile(r"_yarnspec-([0-9a-f]{22})\.json")
_TRIES = 10
_OURS = re.compile(r"part-\d{5,}-([0-9a-f]{22})(\..*|_.*|-.*|)", re.DOTALL)


class Mode(StrEnum):
    """The fate of files that are at the path already."""

    FAIL = "fail"
    OVERWRITE = "overwrite"
    APPEND = "append"


@dataclass(frozen=True)
class PublishedFile:
    """One file of an output, and the attempt that wrote it (its name among the attempts)."""

    name: str
    attempt: str
    size_bytes: int


@dataclass(frozen=True)
class Decision:
    """The decision about one ``save``: written before the first file moves, and kept with the files as manifest."""

    run: str
    mode: Mode
    application: str
    epoch: int
    ordinal: int
    user: str
    host: str
    decided_ms: int
    files: tuple[PublishedFile, ...]
    attempts: AttemptSets
    line: str = ""
    """Where in the program the ``save`` stands, and how often it was called there: ``program.py:42 (call 1)``."""
    origin: str = ""
    """The computation of its files (``Job.origin``), how and where to; empty when that is not known."""
    key: str = ""
    """The user's name of the ``save``, if there is one; then it has no number."""
    unmarked: bool = False
    """Whether the output that it is added to has no ``_SUCCESS``, and gets none."""
    schema: int = 1

    @property
    def manifest(self) -> str:
        """The manifest's name in the output."""
        return f"_yarnspec-{self.run}.json"

    def encode(self) -> bytes:
        """The decision as JSON, without the fields that an older reader does not know and need not."""
        told = dataclasses.asdict(self)
        if not self.unmarked:
            del told["unmarked"]
        return json.dumps(told, indent=1).encode()

    @staticmethod
    def decode(data: bytes) -> Decision:
        """Read one back.

        Raises:
            ValueError: it is none, or of another schema.
        """
        try:
            told: dict[str, Any] = json.loads(data)
            if told["schema"] != 1:
                raise ValueError(f"schema {told['schema']} is not known here")
            told["mode"] = Mode(told["mode"])
            told["files"] = tuple(PublishedFile(**each) for each in told["files"])
            told["attempts"] = AttemptSets(**{name: tuple(ids) for name, ids in told["attempts"].items()})
            return Decision(**told)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not what a sink has decided: {error!r}") from None


def file_name(partition: int, run: str, suffix: str) -> str:
    """The name of a partition's file in the output: ``part-00007-0123456789abcdef012345.csv``."""
    return f"part-{partition:05d}-{run}{suffix}"


class OutputPlace:
    """Where an output and what belongs to it are: all beside each other, so that each move is a rename."""

    def __init__(self, target: str, run: str) -> None:
        parent, name = split(target)
        self.target = target
        self.parent = parent
        beside = f"{parent.rstrip('/')}/.{name}"
        self.claim = f"{beside}.yarnspec-claim"
        self.room = f"{beside}.yarnspec-sink"
        """Everything that is not published; readers pass over names that begin with a dot."""
        self.run = f"{self.room}/{run}"
        self.attempts = f"{self.run}/attempts"
        """Where tasks write; when it is gone, they cannot create a file any more."""
        self.ready = f"{self.run}/ready"
        self.begun = f"{self.run}/begun.json"
        self.decision = f"{self.run}/decision.json"


def read_back(path: str, content: bytes, otherwise: str) -> Decision:
    """The decision that a file holds.

    Raises:
        YarnspecError: it cannot be read; ``otherwise`` is what to do when it is damaged.
    """
    try:
        return Decision.decode(content)
    except ValueError as error:
        raise YarnspecError(
            f"{path} cannot be read: {error}. If a newer yarnspec has written it, use that one here. If it is damaged, "
            f"{otherwise}"
        ) from None


def new_run(application: str) -> str:
    """A name for one ``save``, which no other one has; it tells those of one application from most others."""
    return f"{_mark(application)}{uuid.uuid4().hex[:16]}"


def _mark(application: str) -> str:
    return hashlib.sha256(application.encode()).hexdigest()[:6]


def manifest_names(files: SinkFiles, target: str, application: str = "") -> list[str]:
    """The manifests in a directory; only those that may be of an application, if one is named."""
    mark = f"_yarnspec-{_mark(application) if application else ''}"
    return sorted(name for name in files.names(target) if name.startswith(mark) and _MANIFEST.fullmatch(name))


def manifest(files: SinkFiles, target: str, name: str) -> Decision | None:
    """The decision in one manifest; None when the manifest is gone.

    Raises:
        YarnspecError: it cannot be read.
    """
    content = files.read(f"{target}/{name}")
    if content is None:
        return None
    run = _MANIFEST.fullmatch(name)
    otherwise = f"move it elsewhere; without it the files part-*-{run[1] if run else ''}* do not count as published"
    return read_back(f"{target}/{name}", content, otherwise)


def published(files: SinkFiles, target: str) -> list[str]:
    """The names of the files in a directory that readers shall see: of each ``save`` all or none.

    Files of sinks count when their manifest is there, and it comes last; files of others always do, hidden ones never.
    """
    # First the manifests: of a save that has one, all files are there by the time the directory is listed.
    for _ in range(_TRIES):
        before = manifest_names(files, target)
        whole = {done.run for name in before if (done := manifest(files, target, name)) is not None}
        listed = files.names(target)
        # A listing may come in pieces, and the manifests with the first: so they are looked at once more.
        if before == sorted(filter(_MANIFEST.fullmatch, listed)) == manifest_names(files, target):
            break
    else:
        raise YarnspecError(f"{target} changes again and again while yarnspec lists it: try again")
    names = []
    for name, size in listed.items():
        ours = _OURS.fullmatch(name)
        if size >= 0 and not name.startswith(("_", ".")) and (ours is None or ours[1] in whole):
            names.append(name)
    return sorted(names)
