"""The saved outputs that a journal's records give the next epoch, without the bytes, and what this epoch may add."""

from __future__ import annotations

from array import array
from collections import Counter

from yarnspec.core.journal.journalrecords import (
    ApplicationRegistered,
    MapFinished,
    ShuffleRegistered,
    WriteBegan,
    WriteCommitting,
    WriteState,
)
from yarnspec.core.journal.journalstate import Recorded, RecordedShuffle
from yarnspec.core.messages.recoveryevents import SavedShuffle
from yarnspec.core.messages.writeevents import SavedWrite

_NOT_YET = -1
_TOLD = {
    "application_id": "the application",
    "program_digest": "its files",
    "arguments_digest": "its arguments",
    "spark_version": "Spark's version",
    "python_version": "Python's version",
    "yarnspec_version": "yarnspec's version",
}


def saved_shuffles(recorded: Recorded) -> tuple[SavedShuffle, ...]:
    """The shuffles that were recorded."""
    return tuple(_saved(one) for _, one in sorted(recorded.shuffles.items()))


def _saved(shuffle: RecordedShuffle) -> SavedShuffle:
    registered = shuffle.registered
    by_host: Counter[str] = Counter()
    tasks = array("q")
    epochs: set[int] = set()
    for output in shuffle.outputs.values():
        by_host[output.host] += 1
        tasks.append(output.map_id)
        epochs.add(output.epoch)
    return SavedShuffle(
        shuffle=registered.shuffle,
        signature=registered.signature,
        maps=registered.maps,
        reduces=registered.reduces,
        determinism=registered.determinism,
        description=registered.description,
        parents=registered.parents,
        by_host=dict(by_host),
        bounded=shuffle.facts is not None,
        oldest=min(tasks, default=0),
        newest=max(tasks, default=0),
        epoch=min(epochs, default=0),
        not_reusable=shuffle.not_reusable,
    )


def saved_writes(recorded: Recorded) -> tuple[SavedWrite, ...]:
    """The writes that were recorded, in their order."""
    return tuple(_write(recorded, ordinal) for ordinal in sorted(recorded.writes))


def moved_writes(recorded: Recorded) -> tuple[SavedWrite, ...]:
    """Writes with nothing left at their paths, whose files may have another name."""
    return tuple(_as_saved(*recorded.moved[ordinal], state="committed") for ordinal in sorted(recorded.moved))


def _write(recorded: Recorded, ordinal: int) -> SavedWrite:
    committing = recorded.committing.get(ordinal)
    state: WriteState = "begun" if committing is None else "committing"
    return _as_saved(recorded.writes[ordinal], committing, state="committed" if ordinal in recorded.commits else state)


def _as_saved(began: WriteBegan, committing: WriteCommitting | None, *, state: WriteState) -> SavedWrite:
    return SavedWrite(
        ordinal=began.ordinal,
        signature=began.plan,
        path=began.paths[0] if began.paths else "",
        mode=began.mode,
        job=began.job,
        epoch=began.epoch,
        existed=began.existed,
        instead=began.instead,
        defers=began.defers,
        state=state,
        files=committing.files if committing else 0,
        digest=committing.digest if committing else "",
        made=committing.made if committing else {},
        done_before=committing.done_before if committing else 0,
    )


def changed(before: ApplicationRegistered | None, now: ApplicationRegistered) -> tuple[str, ...]:
    """How the program differs from before, for people; empty if no earlier epoch said what it was."""
    if before is None:
        return ()
    return tuple(told for name, told in _TOLD.items() if getattr(before, name) != getattr(now, name))


class Taken:
    """The shuffles whose map outputs go into the journal of this epoch.

    A map of an indeterminate shuffle that runs again gives other rows than those that do not. Its saved and its new
    outputs must not be mixed, so nothing more is taken of it.
    """

    def __init__(self) -> None:
        self._recorded: dict[int, bool] = {}
        self._ran: dict[int, array[int]] = {}  # by shuffle, the task that ran each map

    def past(self, recorded: Recorded) -> None:
        """Know the maps of indeterminate shuffles of earlier epochs."""
        for shuffle, known in recorded.shuffles.items():
            if known.registered.determinism == "indeterminate":
                ran = self._ran[shuffle] = array("q", [_NOT_YET]) * known.registered.maps
                for index, output in known.outputs.items():
                    ran[index] = output.map_id

    def begin(self, registered: ShuffleRegistered) -> None:
        """A shuffle is recorded from now on."""
        differs = registered.determinism == "indeterminate"
        self._recorded[registered.shuffle] = differs
        if differs and registered.shuffle not in self._ran:
            self._ran[registered.shuffle] = array("q", [_NOT_YET]) * registered.maps

    def end(self, shuffle: int) -> None:
        """The shuffle is not recorded any more."""
        self._recorded.pop(shuffle, None)
        self._ran.pop(shuffle, None)

    def recorded(self, shuffle: int) -> bool:
        """Whether its map outputs are recorded."""
        return shuffle in self._recorded

    def runs_again(self, finished: MapFinished) -> bool:
        """Whether it is the second run of a map whose runs may differ."""
        if not self._recorded.get(finished.shuffle, False):
            return False
        ran = self._ran[finished.shuffle]
        if ran[finished.index] in {_NOT_YET, finished.map_id}:
            ran[finished.index] = finished.map_id
            return False
        del self._recorded[finished.shuffle]
        return True
