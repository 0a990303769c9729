"""The driver's half of a sink: from the claim to the published output, in named steps.

Whatever happens at whichever operation of whichever step, the next owner of the path comes to one of two ends: without
a decision everything that was begun is deleted; with one it is carried out, each operation of it being one that may be
repeated.
"""

from __future__ import annotations

import contextlib
import json
import logging
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.attempts import AttemptFile, whole_files
from yarnspec.sink.claim import Claim, Owner, Superseded
from yarnspec.sink.decision import SUCCESS, Decision, Mode, OutputPlace, read_back
from yarnspec.sink.earlier import EarlierSaves
from yarnspec.sink.files import SinkFiles

_LOGGER = logging.getLogger(__name__)
_SWEPT = ".swept"
"""How the name of a directory ends that is being deleted."""
_TRIES = 4


class SaveStep(StrEnum):
    """The named points of a ``save``, in their order; a killed driver stops at one of them.

    Which of the four in the middle there are depends on the mode and on what is at the path.
    """

    CLAIM = "claim the path"
    RECOVER = "end what earlier owners began"
    PREPARE = "make the attempts' directory"
    WRITE = "run the tasks"
    DECIDE = "write down what is published"
    GATHER = "take one attempt of each partition"
    SWEEP = "delete the other attempts"
    SEAL = "put the manifest to the files"
    SET_ASIDE = "move the old output away"
    PUBLISH = "give the output its name"
    UNMARK = "take away _SUCCESS while files are added"
    ADD = "move the files to those that are there"
    COMMIT = "move the manifest to the files"
    MARK = "put _SUCCESS back"
    CLEAN = "delete what is not published"
    RELEASE = "give up the claim"


class OutputExists(UsageError):  # noqa: N818 - named for what happened
    """The path has something, and the mode is ``fail``."""


class Unfinished(YarnspecError):  # noqa: N818
    """An error in the midst of publishing: what is decided is carried out first by whoever writes to the path next."""


@dataclass(frozen=True)
class Begun:
    """The note of a run before its first task, for the next epoch: whose it is, and what it computes, where known."""

    application: str
    epoch: int
    ordinal: int
    identity: str
    partitions: int
    key: str = ""

    def continues(self, other: Begun) -> bool:
        """Whether this is the same computation in a later epoch of the same application; never when in doubt."""
        return (
            bool(self.identity)
            and self.identity == other.identity
            and self.partitions == other.partitions
            and self.application == other.application
            and (self.ordinal, self.key) == (other.ordinal, other.key)
            and 0 < other.epoch < self.epoch
        )


class Publication:
    """One ``save`` to one path.

    ``step`` is where it is, or where it stopped; ``decided``: from here on only carrying out is right, as what it is to
    publish is written down, or may be.
    """

    def __init__(self, files: SinkFiles, target: str, owner: Owner, mode: Mode) -> None:
        self.owner = owner
        self.mode = mode
        self._files = files
        self.place = OutputPlace(target, owner.run)
        self._claim = Claim(files, self.place.claim, self.place.room, owner)
        self.step = SaveStep.CLAIM
        self.decided = False

    def claim(self, active: Collection[str] = (), *, take_over: bool = False) -> None:
        """Become the one who writes to the path.

        Raises:
            PathClaimed: somebody else does.
        """
        self.step = SaveStep.CLAIM
        self._files.make_directories(self.place.parent)
        self._claim.take(active, take_over=take_over)

    def recover(self, begun: Begun) -> list[AttemptFile]:
        """End what earlier owners of the path left: publish what they had decided, delete the rest.

        Returns:
            What is left of the same computation by the driver before: whole files, now among the attempts of this run.
        """
        self.step = SaveStep.RECOVER
        usable: list[AttemptFile] = []
        for name, size in sorted(self._files.names(self.place.room).items()):
            left = f"{self.place.room}/{name}"
            if size >= 0:
                # Of somebody who claims the path, or wanted to.
                self._files.delete(left)
                continue
            place = OutputPlace(self.place.target, name)
            if not name.endswith(_SWEPT):  # what is being deleted is over, whatever is left of it
                decided = self._files.read(place.decision)
                if decided is not None:
                    self._carry_out_again(decided, place)
                elif begun.continues(_begun(self._files.read(place.begun))) and not usable:
                    usable = self._adopt(place, begun)
            self.step = SaveStep.RECOVER
            self._sweep(left)
        return usable

    def earlier(self, ordinal: int, line: str = "", origin: str = "", key: str = "") -> Decision | None:
        """This very ``save`` as it was published by this application: it must not be done twice (``EarlierSaves``).

        Args:
            ordinal: the number; 0 with a key.
            line: where it stands.
            origin: what its records are made of; empty when that is not known.
            key: the user's name of it, or empty.

        Raises:
            OutputExists: there is other output at the path, and the mode is ``fail``.
            UsageError: nothing can be published at the path, as it is a file or in another file system.
            YarnspecError: what was published under this number is something else, or may be, or later ones took its
                place.
            Superseded: a later driver has published at the path.
        """
        self.step = SaveStep.RECOVER
        if key or self.owner.epoch:
            saves = EarlierSaves(self._files, self.place.target, self.owner, self.mode)
            found = saves.of_key(key, line, origin) if key else saves.of_number(ordinal, line, origin)
            if found is not None:
                self.decided = True
                return found
        self._check_target()
        return None

    def _check_target(self) -> None:
        target = self.place.target
        if not self._files.exists(target):
            return
        if self.mode is Mode.FAIL:
            raise OutputExists(f"{target} exists: write elsewhere, or with mode='overwrite' or mode='append'")
        if self.mode is Mode.APPEND and not self._files.is_directory(target):
            raise UsageError(f"{target} is a file: nothing can be added to it")
        replaced = self.mode is Mode.OVERWRITE
        if (fixed := self._files.why_fixed(target, self.place.parent, replaced=replaced)) is not None:
            raise UsageError(f"{target} is {fixed}: there is no rename for that. Name a directory below it")

    def prepare(self, begun: Begun) -> str:
        """Make the directory for the attempts, and return it."""
        self.step = SaveStep.PREPARE
        self._files.make_directories(self.place.attempts)
        self._note(begun)
        self.step = SaveStep.WRITE
        return self.place.attempts

    def names_of_attempts(self) -> dict[str, int]:
        """The files that tasks have written so far."""
        return self._files.names(self.place.attempts)

    def is_unmarked(self) -> bool:
        """Whether there are files at the path of which nobody says by ``_SUCCESS`` that they are whole."""
        names = self._files.names(self.place.target)
        return SUCCESS not in names and any(not name.startswith(("_", ".")) for name in names)

    def publish(self, decision: Decision) -> None:
        """Write the decision down and carry it out.

        Raises:
            OutputExists: somebody made an output there meanwhile, and the mode is ``fail``.
            Superseded: another driver has taken over.
        """
        self.step = SaveStep.DECIDE
        self.still_ours()
        self._files.write(f"{self.place.decision}.new", decision.encode())
        self.decided = True  # or may be: a rename that was done can be told as failed
        self._files.rename(f"{self.place.decision}.new", self.place.decision)
        try:
            self._carry_out(decision, self.place)
        except OutputExists:
            self.decided = False
            raise

    @contextlib.contextmanager
    def ended(self) -> Iterator[None]:
        """Delete at the end what is not published, and the claim, also after an error.

        Raises:
            Unfinished: the publication is decided and could not be carried out. Nothing is deleted then.
        """
        try:
            yield
            self.leave()
        except OutputExists:
            self.leave()
            raise
        except Superseded:
            # Whoever has taken over owns the decision, and may be in the midst of carrying it out.
            if not self.decided:
                self.leave()
            raise
        except BaseException as error:
            if self.decided and self.step is SaveStep.DECIDE:
                self._withdraw()
            if not self.decided:
                with contextlib.suppress(Exception):  # the error that led here is the one to be seen
                    self.leave()
                raise
            if not isinstance(error, Exception):
                raise
            if self.step is SaveStep.DECIDE:
                what = (
                    "nobody can tell whether it is decided. If it is, the next save to the path publishes it first: "
                    f"look there for files part-*-{self.owner.run}* before you add it again"
                )
            elif self.step in (SaveStep.CLEAN, SaveStep.RELEASE):
                what = "everything is published; what is left beside it is deleted by the next save to the path"
            else:
                what = (
                    "what it is to publish is decided: the next save to the path does it first, so do not add it again"
                )
            raise Unfinished(f"{self.place.target}: could not {self.step}: {error}; {what}") from error

    def _withdraw(self) -> None:
        """Take back a decision that may be written down and of which nothing is carried out, if that is possible."""
        with contextlib.suppress(Exception):  # the error that led here is the one to be seen
            if self._claim.is_ours():
                self._files.rename(self.place.run, f"{self.place.run}{_SWEPT}")
                self.decided = False

    def leave(self) -> None:
        """Delete what is not published, and give up the claim."""
        self.step = SaveStep.CLEAN
        self._sweep(self.place.run)
        self._sweep(f"{self.place.run}{_SWEPT}")  # of a decision that was taken back
        self._files.remove_empty(self.place.room)
        self.step = SaveStep.RELEASE
        self._claim.release()

    # carrying out a decision: all of this may be begun again at any point

    def _carry_out(self, decision: Decision, place: OutputPlace) -> None:
        adding = decision.mode is Mode.APPEND
        if not self._files.exists(f"{place.target}/{decision.manifest}"):
            self._gather(decision, place)
            self.step = SaveStep.SWEEP
            losers = self._move_away(place.attempts, place)
            with contextlib.suppress(OSError):  # nobody looks for them there; `leave` tries again
                self._files.delete(losers)
            self.step = SaveStep.SEAL
            self._seal(decision, place)
            self.still_ours()
            if not self._put_in_place(decision.mode, place):
                self._add(decision, place)
        if adding and not decision.unmarked and not self._files.exists(f"{place.target}/{SUCCESS}"):
            self.step = SaveStep.MARK
            # Out of our own directory: a driver whose directory is gone must not mark what another one is adding to.
            with contextlib.suppress(FileNotFoundError):
                self._files.rename(f"{place.ready}/{SUCCESS}", f"{place.target}/{SUCCESS}")

    def _carry_out_again(self, decided: bytes, place: OutputPlace) -> None:
        for tries_left in reversed(range(_TRIES)):
            if not (self._files.exists(place.attempts) or self._files.exists(place.ready)):
                # The last rename published it, whatever has become of the output since.
                return
            otherwise = f"move {place.run} elsewhere: it has the attempts' files, of which none is published then"
            decision = read_back(place.decision, decided, otherwise)
            if self._was_added(decision, place):
                return
            try:
                self._check_whole(decision, place)
                # One whose mode is `fail` may find that others were quicker.
                with contextlib.suppress(OutputExists):
                    self._carry_out(decision, place)
            except FileNotFoundError as error:
                # Its own driver may live on, and be carrying it out as well: look again at what is left to do.
                if not tries_left:
                    raise YarnspecError(
                        f"{place.run} is what {decision.application} had decided to publish, and something of it is "
                        f"gone: {error}. If somebody has deleted the output in the midst of that, what is left to "
                        f"publish is in this directory still: move it elsewhere, out of {place.room}, and save again"
                    ) from error
            except OSError as error:
                raise YarnspecError(
                    f"{place.run} is what {decision.application} had decided to publish, and it cannot be carried out: "
                    f"could not {self.step}: {error}. The next save to the path tries again: mend what is in its way. "
                    f"If that cannot be, move {place.run} out of {place.room} and save again: what is left to publish "
                    "is in it, and decision.json there says under which names"
                ) from error
            else:
                return

    def _was_added(self, decision: Decision, place: OutputPlace) -> bool:
        """Whether all of it had come to the output, which somebody has deleted, or replaced, since."""
        if decision.mode is not Mode.APPEND or not decision.files:
            return False
        # In this order: where the manifest is in neither place by then, nobody is about to move it.
        left = self._files.names(place.attempts) | self._files.names(place.ready)
        return left.keys() <= {SUCCESS} and not self._files.exists(f"{place.target}/{decision.manifest}")

    def _check_whole(self, decision: Decision, place: OutputPlace) -> None:
        """A host that lost its power may have lost the end of a file that was whole when it was decided on."""
        left = self._files.names(place.attempts) | self._files.names(place.ready)
        for file in decision.files:
            size = left.get(file.attempt, left.get(file.name, file.size_bytes))
            if size != file.size_bytes:
                raise OSError(f"{file.attempt} has {size} of its {file.size_bytes} bytes")

    def _gather(self, decision: Decision, place: OutputPlace) -> None:
        self.step = SaveStep.GATHER
        self._files.make_directories(place.ready)
        there = self._files.names(place.ready)
        if decision.mode is Mode.APPEND:
            there |= self._files.names(place.target)  # where an earlier try may have brought them
        for file in decision.files:
            if file.name not in there:
                self._files.rename(f"{place.attempts}/{file.attempt}", f"{place.ready}/{file.name}")

    def _put_in_place(self, mode: Mode, place: OutputPlace) -> bool:
        """Give the whole directory its name; False when it is one to add to."""
        while True:
            if not self._files.exists(place.target):
                self.step = SaveStep.PUBLISH
                if self._files.rename(place.ready, place.target):
                    return True
            if mode is Mode.APPEND:
                return False
            if mode is Mode.FAIL:
                raise OutputExists(f"{place.target} was made by somebody else meanwhile")
            self.step = SaveStep.SET_ASIDE
            self._move_away(place.target, place)

    def _add(self, decision: Decision, place: OutputPlace) -> None:
        """Move the files to those that are there: none is seen by whoever heeds ``_SUCCESS`` or the manifests."""
        self.step = SaveStep.UNMARK
        self._move_away(f"{place.target}/{SUCCESS}", place)
        self.step = SaveStep.ADD
        left = self._files.names(place.ready)
        for file in decision.files:
            if file.name in left:
                self._files.rename(f"{place.ready}/{file.name}", f"{place.target}/{file.name}")
        self.step = SaveStep.COMMIT
        self._files.rename(f"{place.ready}/{decision.manifest}", f"{place.target}/{decision.manifest}")

    # smaller parts

    def _seal(self, decision: Decision, place: OutputPlace) -> None:
        """Seal the decision by a rename: its own driver may live on, and may have shown the same manifest already."""
        content = decision.encode()
        new, sealed = f"{place.run}/{uuid.uuid4().hex}.new", f"{place.ready}/{decision.manifest}"
        self._files.write(new, content)
        if not self._files.rename(new, sealed) and self._files.read(sealed) not in (content, None):
            self._files.delete(sealed)  # that of a host which lost its power in the midst of it
            self._files.rename(new, sealed)
        self._files.write(f"{place.ready}/{SUCCESS}", b"")

    def _note(self, begun: Begun) -> None:
        self._files.write(self.place.begun, json.dumps(begun.__dict__).encode())

    def _adopt(self, place: OutputPlace, begun: Begun) -> list[AttemptFile]:
        """Take the attempts' directory of the driver before: its tasks, if one still runs, find it gone."""
        self._files.make_directories(self.place.run)
        self._note(begun)  # first: the next driver may have to take it from here
        try:
            self._files.rename(place.attempts, self.place.attempts)
        except FileNotFoundError:
            return []
        first: dict[int, AttemptFile] = {}
        for attempt in whole_files(self._files.names(self.place.attempts)):
            first.setdefault(attempt.partition, attempt)
        return list(first.values())

    def _move_away(self, path: str, place: OutputPlace) -> str:
        """Into our own directory, where it returns: a driver whose directory is gone does no harm any more."""
        away = f"{place.run}/old-{uuid.uuid4().hex}"
        try:
            self._files.rename(path, away)
        except FileNotFoundError:
            if self._files.exists(path):
                raise
        return away

    def _sweep(self, directory: str) -> None:
        """Delete a directory in which tasks may still be writing: under another name, where they find nothing.

        What cannot be deleted yet, as on NFS while somebody has it open, is left for the next owner of the path.
        """
        away = directory
        if not directory.endswith(_SWEPT):
            away = f"{directory}.{uuid.uuid4().hex}{_SWEPT}"
            with contextlib.suppress(FileNotFoundError):
                self._files.rename(directory, away)
        try:
            self._files.delete(away)
        except OSError as error:
            _LOGGER.warning("%s cannot be deleted yet, and is left for the next save: %s", away, error)

    def still_ours(self) -> None:
        """Raise Superseded unless it is."""
        if not self._claim.is_ours():
            raise Superseded(f"{self.place.claim} is not this driver's any more: another one has taken over")


def _begun(content: bytes | None) -> Begun:
    """The note about a begun save. One that cannot be read is a note that no save continues."""
    with contextlib.suppress(ValueError, TypeError):
        return Begun(**json.loads(content or b""))
    return Begun("", 0, 0, "", 0)
