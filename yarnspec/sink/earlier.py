"""Recognizes a ``save`` that an earlier driver of the application has published, so that it is not done twice.

A save with a key is known by application, path and key. Any other is known by application, path and number, by its line
in the program, and by the inputs and functions of its records: a program that goes on from a progress of its own comes
to the same number and line with other data. The earlier driver may have changed the path after this save. For this
program such a change is in the future, and nobody knows whether the program reads there.
"""

from __future__ import annotations

from dataclasses import dataclass

from yarnspec.errors import YarnspecError
from yarnspec.sink.claim import Owner, Superseded
from yarnspec.sink.decision import Decision, Mode, manifest, manifest_names
from yarnspec.sink.files import SinkFiles


@dataclass(frozen=True)
class _Manifest:
    """A manifest without its files."""

    manifest: str
    application: str
    epoch: int
    ordinal: int
    line: str
    origin: str
    key: str


_READ: dict[tuple[str, str], dict[str, _Manifest]] = {}
"""The decisions in a path's manifests, by name. Nobody writes to a manifest again, so a process reads each once."""


class EarlierSaves:
    """The saves that the application has published at a path.

    Args:
        files: where the output is.
        target: its path.
        owner: who wants to save there, and has the path's claim.
        mode: what becomes of what is there.

    Raises:
        Superseded: a later driver has published there: one that was thought dead may come long after the next one has
            done its work, and given up its claim.
    """

    def __init__(self, files: SinkFiles, target: str, owner: Owner, mode: Mode) -> None:
        self._files = files
        self._target = target
        self._owner = owner
        self._mode = mode
        self._damaged: YarnspecError | None = None
        self._ours = [each for each in self._read() if each.application == owner.application]
        later = max((each.epoch for each in self._ours), default=0)
        if owner.epoch and later > owner.epoch:
            raise Superseded(
                f"{target}: epoch {later} of this application has published there, and this driver is of epoch "
                f"{owner.epoch}: nothing was written"
            )

    def of_key(self, key: str, line: str, origin: str) -> Decision | None:
        """The decision that is published under a key.

        Raises:
            YarnspecError: it is something else, or nobody can tell.
        """
        self._check_whole()
        before = self._before
        self._check_kinds(before, keyed=True)
        for each in self._ours:
            if each.key == key:
                self._check_key(each, line, origin)
                return self._decision(each)
        if before and self._mode is Mode.OVERWRITE:
            raise YarnspecError(
                f"{self._target}: an earlier driver of this application has published the save {before[-1].key!r} "
                f"there, and this is {key!r}: nobody can tell which of the two is later; nothing was written. A "
                "program that is to be restarted saves each round to another path, or appends"
            )
        return None

    def of_number(self, ordinal: int, line: str, origin: str) -> Decision | None:
        """The decision that an earlier driver has published under a number.

        Raises:
            YarnspecError: it is something else, or may be, or later ones took its place.
        """
        if self._owner.epoch <= 1:
            return None
        self._check_whole()
        before = self._before
        self._check_kinds(before, keyed=False)
        latest = max((each.ordinal for each in before), default=0)
        same = [each for each in before if each.ordinal == ordinal]
        if latest > ordinal and (self._mode is Mode.OVERWRITE or not same):
            raise YarnspecError(
                f"{self._target}: this is save number {ordinal} of the program, and an earlier driver of this "
                f"application has published number {latest} there already. A change of what is there would be applied "
                "twice; nothing was written. What is there is whole: start the program as a new application that goes "
                "on from it, or from its input; a program that is to be restarted saves each round to another path"
            )
        for each in same:
            if each.line == line:
                if origin and each.origin == origin:
                    return self._decision(each)
                what = (
                    "other data" if origin and each.origin else "data of which nobody can tell whether they are these"
                )
                raise YarnspecError(
                    f"{self._target}: an earlier driver of this application has published number {ordinal} of its "
                    f"saves, of {what}: the program, or its input, has gone on since, or the data are of a kind that "
                    "is not known again. What is there is whole; nothing was written. Start it as a new application, "
                    "with a key for each save that says which data it is of: save(data, key=...) (docs/sink.md)"
                )
        if same:
            raise YarnspecError(
                f"{self._target}: of this application's saves an earlier driver has published number {ordinal} in "
                f"{same[0].line}, and now it is in {line}: the program has not gone the same way again, so nobody can "
                "tell which of its saves are there already; nothing was written"
            )
        return None

    @property
    def _before(self) -> list[_Manifest]:
        """By earlier drivers."""
        return [each for each in self._ours if 0 < each.epoch < self._owner.epoch]

    def _check_whole(self) -> None:
        """Raise for a damaged manifest, where all of them have to be known."""
        if self._damaged is not None:
            raise self._damaged

    def _check_key(self, done: _Manifest, line: str, origin: str) -> None:
        """Two with one key would be a mistake that nobody notices; the same one again may have more input by now."""
        if origin and done.origin == origin:
            return
        elsewhere = _place(done.line) != _place(line)
        if elsewhere or (done.epoch == self._owner.epoch and done.origin and origin):
            raise YarnspecError(
                f"{self._target}: the key {done.key!r} belongs to a save in {done.line}, and this is one "
                f"in {line}{'' if elsewhere else ' of other data'}: each needs a key of its own; nothing was written"
            )

    def _check_kinds(self, done: list[_Manifest], *, keyed: bool) -> None:
        other = [each for each in done if bool(each.key) is not keyed]
        if other:
            raise YarnspecError(
                f"{self._target}: an earlier driver of this application has published saves "
                f"{'without' if keyed else 'with'} a key there ({other[0].line}), and this one is "
                f"{'with' if keyed else 'without'}: nothing was written. Give all saves to a path a key, or none"
            )

    def _decision(self, known: _Manifest) -> Decision:
        found = manifest(self._files, self._target, known.manifest)
        if found is None:
            raise YarnspecError(
                f"{self._target}: {known.manifest} was there just now, and is gone: nothing was written"
            )
        return found

    def _read(self) -> list[_Manifest]:
        """The manifests at the path that may be the application's, as far as they can be read."""
        before = _READ.get((self._owner.process, self._target), {})
        there: dict[str, _Manifest] = {}
        for name in manifest_names(self._files, self._target, self._owner.application):
            try:
                known = before.get(name) or self._known(name)
            except YarnspecError as error:
                self._damaged = self._damaged or error
                continue
            if known is not None:
                there[name] = known
        _READ[self._owner.process, self._target] = there
        return list(there.values())

    def _known(self, name: str) -> _Manifest | None:
        said = manifest(self._files, self._target, name)
        if said is None:
            return None
        return _Manifest(name, said.application, said.epoch, said.ordinal, said.line, said.origin, said.key)


def _place(line: str) -> str:
    """Without the count of calls, which is another one for a program that does not begin at its start."""
    return line.rpartition(" (call ")[0]
