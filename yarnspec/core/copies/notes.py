"""The newest few notes about each task and host, for ``explain``: why it was acted on, or was not."""

from __future__ import annotations

import functools
import re
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)

_NOTES_EACH = 8
_LASTING_MS = 1_000
_DIGITS = re.compile(r"\d+")


@functools.lru_cache(maxsize=1_024)
def topic_of(why: str) -> str:
    """A reason without its numbers: what stays the same as long as the reason does."""
    return _DIGITS.sub("", why)


class Note(msgspec.Struct):
    """One decision: first taken like this at ``first_ms``, last at ``last_ms``, with the numbers of then."""

    topic: str
    text: str
    first_ms: int
    last_ms: int

    def said(self, now_ms: int) -> str:
        """The note with its age."""
        age = f"{max(0, now_ms - self.last_ms) / 1000:.1f} s ago"
        if self.last_ms - self.first_ms >= _LASTING_MS:
            age += f", since {(self.last_ms - self.first_ms) / 1000:.1f} s before"
        return f"{self.text} ({age})"


class Notes(Generic[K]):
    """Notes by what they are about; what was noted about longest ago is forgotten first."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._notes: OrderedDict[K, deque[Note]] = OrderedDict()

    def add(self, about: K, topic: str, text: str, now_ms: int) -> None:
        """Note something; the same topic as last time only brings the newest note up to date."""
        notes = self._notes.setdefault(about, deque(maxlen=_NOTES_EACH))
        self._notes.move_to_end(about)
        if len(self._notes) > self._kept:
            self._notes.popitem(last=False)
        if notes and notes[-1].topic == topic:
            notes[-1].text = text
            notes[-1].last_ms = now_ms
        else:
            notes.append(Note(topic, text, now_ms, now_ms))

    def clear(self) -> None:
        """Forget all notes."""
        self._notes.clear()

    def of(self, about: K, now_ms: int) -> tuple[str, ...]:
        """The notes, oldest first."""
        return tuple(note.said(now_ms) for note in self._notes.get(about, ()))

    def __iter__(self) -> Iterator[K]:
        """The subjects that have notes."""
        return iter(self._notes)
