"""Decides which saved shuffle a shuffle of this driver may take over (the batch job recovery proposal, FLIP-383).

A saved shuffle is one that an earlier epoch recorded. A shuffle takes it over if both are the same computation: the
same signature, and the same number of maps and reduces. Three things speak against it, and in doubt they win:

* *The shuffle is uncertain*: INDETERMINATE, or computed from something that is. Then a map that ran again would not fit
  those that did not. Such a shuffle comes back whole or not at all.
* *Its input may be something else today.* Another run of the maps of a shuffle below it may give other rows. UNORDERED
  counts as well, unless the user says otherwise. Which of two equal rows comes first is chance, and nobody knows what
  the program's functions return. Then the shuffle above is used only under two conditions. Exactly that input is back
  as a whole. None of the input's maps ran after one of the maps above. A shuffle that is sorted by bounds may have
  other bounds today unless it is the same one, and so may all above it.
* *The shuffle is not reusable*, or something that it was computed from is not. Nobody knows a part of what that
  computation does (the updates of accumulators, for example), and that part would be missing.

Outputs of its maps that are gone are no reason: the maps whose outputs do not come back run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from yarnspec.core.messages.recoveryevents import SavedShuffle, ShuffleDeclared, ShuffleRestored


class Objection(NamedTuple):
    """Why a saved shuffle is not taken over: in words that are the same for many, and in full."""

    short: str
    full: str


class Match(NamedTuple):
    """The saved shuffle that a declared one takes over, or None, and the reason; and why other saved ones are not."""

    saved: SavedShuffle | None
    why: str
    unused: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class Known:
    """A shuffle of this epoch's driver."""

    maps: int
    uncertain: bool
    varies: bool
    bounded: bool
    reusable: bool
    reused: bool = False
    newest: int = 0
    whole: bool = False
    recorded: bool = False


class Shuffles:
    """The shuffles of earlier epochs that are offered, and those of this one.

    ``repeatable``: the user says that maps give the same rows when they run again, or rows that do as well. This never
    holds for INDETERMINATE shuffles.
    """

    def __init__(self, *, repeatable: bool = False) -> None:
        self._repeatable = repeatable
        self._offered: dict[int, SavedShuffle] = {}
        self._by_signature: dict[str, list[int]] = {}
        self._late: set[int] = set()
        self._refused: dict[str, str] = {}
        self._bounded: set[str] = set()
        self._known: dict[int, Known] = {}

    @property
    def offered(self) -> tuple[SavedShuffle, ...]:
        """The saved shuffles that may still be taken over."""
        return tuple(self._offered.values())

    def offer(self, saved: tuple[SavedShuffle, ...]) -> None:
        """Take what the journal holds of earlier epochs."""
        for one in sorted(saved, key=lambda each: each.shuffle):
            if one.bounded:
                self._bounded.add(one.signature)
            if one.not_reusable:
                self._refused[one.signature] = one.not_reusable
            elif one.outputs:
                # The shuffle ran again since, and nothing was found against it.
                self._refused.pop(one.signature, None)
                self._offered[one.shuffle] = one
                self._by_signature.setdefault(one.signature, []).append(one.shuffle)

    def too_late(self, saved: tuple[SavedShuffle, ...]) -> None:
        """Take the journal's shuffles of earlier epochs for a later epoch: this one has begun without them."""
        for one in saved:
            self._late.add(one.shuffle)
            self._by_signature.setdefault(one.signature, []).append(one.shuffle)

    def discard_before(self, epoch: int) -> tuple[int, ...]:
        """Offer no shuffle any more that was written before an epoch. Returns the shuffles that this concerns."""
        old = tuple(one.shuffle for one in self._offered.values() if one.epoch < epoch)
        for shuffle in old:
            del self._offered[shuffle]
        return old

    def declare(self, declared: ShuffleDeclared) -> Match:
        """The saved shuffle that the declared one takes over, if there is one."""
        match = self._match(declared)
        saved = match.saved
        self._known[declared.shuffle if saved is None else saved.shuffle] = Known(
            maps=declared.maps,
            uncertain=self.uncertain(declared),
            varies=self._varies(declared),
            bounded=self._has_bounds(declared),
            # A refused shuffle would have to run again in full, which the shuffles above do not allow.
            reusable=declared.reusable and declared.signature not in self._refused and not self._unreusable(declared),
            reused=saved is not None,
            newest=0 if saved is None else saved.newest,
        )
        if saved is not None:
            del self._offered[saved.shuffle]
        return match

    def restored(self, event: ShuffleRestored) -> tuple[int, ...]:
        """Take how much of a shuffle came back. Return the saved shuffles that are of no use to any epoch from now on.

        A shuffle of which nothing came back is not used: the driver asks again, about the id that it goes on with. This
        shuffle is the last in the list, in case only some of them get into the journal. It alone tells what speaks
        against those above it.
        """
        known = self._known.get(event.shuffle)
        if known is None or not known.reused:
            return ()
        known.whole = event.restored == known.maps
        if event.restored:
            return ()
        del self._known[event.shuffle]
        above = self._withdraw_above([event.shuffle]) if known.varies or known.bounded else ()
        return (*above, event.shuffle)

    def _withdraw_above(self, shuffles: Sequence[int]) -> tuple[int, ...]:
        """Offer no shuffle any more that was computed from these, and return those, the uppermost first."""
        useless = list(shuffles)
        for below in useless:
            above = [one.shuffle for one in self._offered.values() if below in one.parents]
            for shuffle in above:
                del self._offered[shuffle]
            useless += above
        return tuple(reversed(useless[len(shuffles) :]))

    def supersede(self, declared: ShuffleDeclared) -> tuple[int, ...]:
        """The saved runs of a shuffle that runs anew, where that may give other rows; they are of no use from now on.

        Files written from the new run must never be taken for files made from an older one.
        """
        if not self._known[declared.shuffle].varies:
            return ()
        same = self._by_signature.get(declared.signature, ())
        older = tuple(one for one in same if one in self._offered or one in self._late)
        for shuffle in older:
            self._offered.pop(shuffle, None)
            self._late.discard(shuffle)
        return (*self._withdraw_above(older), *older)

    def record(self, shuffle: int) -> None:
        """The map outputs of a shuffle of this epoch go into the journal."""
        self._known[shuffle].recorded = True

    @property
    def recorded_maps(self) -> int:
        """How many maps those shuffles have of which the journal holds outputs, or may come to hold them."""
        recorded = (one.maps for one in self._known.values() if one.recorded and one.reusable)
        return sum(recorded) + sum(one.maps for one in self._offered.values())

    def refuse(self, shuffle: int) -> None:
        """Forbid later epochs to use a shuffle of this epoch, and from now on those computed from it."""
        known = self._known.get(shuffle)
        if known is not None:
            known.reusable = False

    def forget(self, shuffle: int) -> bool:
        """Spark has forgotten a shuffle; False when it was not known."""
        return self._known.pop(shuffle, None) is not None

    def knows(self, shuffle: int) -> bool:
        """Whether a shuffle of this epoch has this id."""
        return shuffle in self._known

    def uncertain(self, declared: ShuffleDeclared) -> bool:
        """Whether running one of its maps again may give something else than the first time."""
        parents = [self._known.get(parent) for parent in declared.parents]
        # A parent that nobody has declared may be anything.
        return declared.determinism == "indeterminate" or any(one is None or one.uncertain for one in parents)

    def _varies(self, declared: ShuffleDeclared) -> bool:
        """Whether another run of all its maps may give other rows to those above."""
        parents = [self._known.get(parent) for parent in declared.parents]
        itself = declared.determinism == "indeterminate" or (
            declared.determinism == "unordered" and not self._repeatable
        )
        return itself or any(one is None or one.varies for one in parents)

    def _has_bounds(self, declared: ShuffleDeclared) -> bool:
        """Whether its rows are placed by the bounds of a sort. Another run may draw other bounds."""
        parents = [self._known.get(parent) for parent in declared.parents]
        return declared.signature in self._bounded or any(one is not None and one.bounded for one in parents)

    def _unreusable(self, declared: ShuffleDeclared) -> bool:
        parents = [self._known.get(parent) for parent in declared.parents]
        return any(one is not None and not one.reusable for one in parents)

    def _match(self, declared: ShuffleDeclared) -> Match:
        if not declared.reusable:
            return Match(None, declared.why_not or "it cannot be recorded")
        same = self._by_signature.get(declared.signature, ())
        candidates = [self._offered[one] for one in same if one in self._offered]
        if declared.signature in self._refused:
            why = f"what is saved of it is not reusable: {self._refused[declared.signature]}"
            return Match(None, why, tuple((one.shuffle, why) for one in candidates))
        if not candidates:
            late = any(one in self._late for one in same)
            return Match(None, "what is saved of it was read too late" if late else "nothing is saved of it")
        objections: dict[int, Objection] = {}
        for saved in reversed(candidates):  # the newest first
            found = self._objection(saved, declared)
            if found is None:
                why = f"{saved.outputs} of its {saved.maps} map outputs are saved as shuffle {saved.shuffle}"
                return Match(saved, why, _shortly(objections))
            objections[saved.shuffle] = found
        why = "; ".join(f"shuffle {shuffle} is no match: {one.full}" for shuffle, one in objections.items())
        return Match(None, why, _shortly(objections))

    def _objection(self, saved: SavedShuffle, declared: ShuffleDeclared) -> Objection | None:
        for name in ("maps", "reduces", "determinism"):
            if getattr(saved, name) != getattr(declared, name):
                full = f"its {name} were {getattr(saved, name)}, now they are {getattr(declared, name)}"
                return Objection(f"its {name} are not what they were", full)
        before, now = len(saved.parents), len(declared.parents)
        if before != now:
            full = f"it was computed from {before} shuffles, now from {now}"
            return Objection("it is computed from other shuffles", full)
        for parents in zip(saved.parents, declared.parents, strict=True):
            found = self._objection_to_parent(saved, *parents)
            if found is not None:
                return found
        if saved.outputs < saved.maps and self.uncertain(declared):
            short = "it comes back whole or not at all"
            return Objection(short, f"{short}, and {saved.outputs} of {saved.maps} map outputs are saved")
        return None

    def _objection_to_parent(self, saved: SavedShuffle, before: int, now: int) -> Objection | None:
        parent = self._known.get(now)
        if parent is None:
            return Objection(
                "it is computed from something unknown", f"it is computed from shuffle {now}, of which nothing is known"
            )
        if not parent.reusable:
            return Objection(
                "what it is computed from has to run again in full",
                f"it is computed from shuffle {now}, which has to run again in full",
            )
        same = before == now
        if (parent.bounded and not same) or (parent.varies and not (same and parent.whole)):
            return Objection(
                "what it was computed from may be other rows today",
                f"it was computed from shuffle {before}, and shuffle {now} of today may hold something else",
            )
        # Numbers of tasks grow, from epoch to epoch as well.
        if parent.varies and parent.newest > saved.oldest:
            return Objection(
                "what it was computed from ran again since",
                f"a map of shuffle {now} ran again after it was computed from that",
            )
        return None


def _shortly(objections: dict[int, Objection]) -> tuple[tuple[int, str], ...]:
    return tuple((shuffle, one.short) for shuffle, one in objections.items())
