"""Which saved shuffle a shuffle of this driver may take over (seed 002), and why not.

A saved shuffle is one that an earlier epoch recorded. It is taken over when it is the same computation: the same
signature, and the same number of maps and reduces. Three things speak against it, and in doubt they win:

* *It is uncertain*: INDETERMINATE, or computed from something that is. Then a map that ran again would not fit those
  that did not: it comes back whole or not at all, and only above exactly what it was computed from.
* *It is not reusable*, or something that it was computed from is not: a part of what that computation does (the updates
  of accumulators, for example) is known to nobody and would be missing.
* Its maps' outputs may be gone. That is no reason: what does not come back is computed again.
"""

from __future__ import annotations

from dataclasses import dataclass

from yarnspec.core.recoveryevents import SavedShuffle, ShuffleDeclared, ShuffleRestored


@dataclass(slots=True)
class Known:
    """A shuffle of this epoch's driver."""

    uncertain: bool
    reusable: bool
    reused: bool = False
    whole: bool = False


class Shuffles:
    """The shuffles of earlier epochs that are offered, and those of this one."""

    def __init__(self) -> None:
        self._offered: dict[int, SavedShuffle] = {}
        self._by_signature: dict[str, list[int]] = {}
        self._refused: dict[str, str] = {}
        self._known: dict[int, Known] = {}

    @property
    def offered(self) -> tuple[SavedShuffle, ...]:
        """The saved shuffles that may still be taken over."""
        return tuple(self._offered.values())

    def offer(self, saved: tuple[SavedShuffle, ...]) -> None:
        """Take what the journal holds of earlier epochs."""
        for one in sorted(saved, key=lambda each: each.shuffle):
            if one.not_reusable:
                self._refused[one.signature] = one.not_reusable
            elif one.outputs:
                # It ran again since, and nothing was found against it.
                self._refused.pop(one.signature, None)
                self._offered[one.shuffle] = one
                self._by_signature.setdefault(one.signature, []).append(one.shuffle)

    def declare(self, declared: ShuffleDeclared) -> tuple[SavedShuffle | None, str]:
        """The saved shuffle that the declared one takes over, or None, and the reason."""
        saved, why = self._match(declared)
        self._known[declared.shuffle if saved is None else saved.shuffle] = Known(
            uncertain=self.uncertain(declared),
            # What was refused before would have to be done again in full, and what is above would not let it.
            reusable=declared.reusable and declared.signature not in self._refused and not self._unreusable(declared),
            reused=saved is not None,
        )
        if saved is not None:
            del self._offered[saved.shuffle]
        return saved, why

    def restored(self, event: ShuffleRestored) -> bool:
        """Take how much of a shuffle came back; False when nobody had asked for it."""
        known = self._known.get(event.shuffle)
        if known is None or not known.reused:
            return False
        known.whole = event.restored == event.wanted
        return True

    def refuse(self, shuffle: int) -> None:
        """Nothing of a shuffle of this epoch may be used by a later one, nor of those above it from now on."""
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
        # Of a parent that nobody has declared nothing is known.
        return declared.determinism == "indeterminate" or any(one is None or one.uncertain for one in parents)

    def _unreusable(self, declared: ShuffleDeclared) -> bool:
        parents = [self._known.get(parent) for parent in declared.parents]
        return any(one is not None and not one.reusable for one in parents)

    def _match(self, declared: ShuffleDeclared) -> tuple[SavedShuffle | None, str]:
        if not declared.reusable:
            return None, declared.why_not or "it cannot be recorded"
        if declared.signature in self._refused:
            return None, f"what is saved of it is not reusable: {self._refused[declared.signature]}"
        same = self._by_signature.get(declared.signature, ())
        candidates = [self._offered[one] for one in same if one in self._offered]
        if not candidates:
            return None, "nothing is saved of it"
        objections = []
        for saved in reversed(candidates):  # the newest first
            why = self._objection(saved, declared)
            if not why:
                return saved, f"{saved.outputs} of its {saved.maps} map outputs are saved as shuffle {saved.shuffle}"
            objections.append(f"shuffle {saved.shuffle} is no match: {why}")
        return None, "; ".join(objections)

    def _objection(self, saved: SavedShuffle, declared: ShuffleDeclared) -> str:
        for name in ("maps", "reduces", "determinism"):
            if getattr(saved, name) != getattr(declared, name):
                return f"its {name} were {getattr(saved, name)}, now they are {getattr(declared, name)}"
        if len(saved.parents) != len(declared.parents):
            return f"it was computed from {len(saved.parents)} shuffles, now from {len(declared.parents)}"
        for before, now in zip(saved.parents, declared.parents, strict=True):
            why = self._objection_to_parent(before, now)
            if why:
                return why
        if saved.outputs < saved.maps and self.uncertain(declared):
            return f"it comes back whole or not at all, and {saved.outputs} of {saved.maps} map outputs are saved"
        return ""

    def _objection_to_parent(self, before: int, now: int) -> str:
        parent = self._known.get(now)
        if parent is None:
            return f"it is computed from shuffle {now}, of which nothing is known"
        if not parent.reusable:
            return f"it is computed from shuffle {now}, which has to run again in full"
        if parent.uncertain and not (before == now and parent.whole):
            return f"it was computed from shuffle {before}, and shuffle {now} of today may hold something else"
        return ""
