"""The wanted timers. Timers are data: a command sets one, and an event answers it.

There is no command to cancel one: a timer that is no longer wanted fires, is dropped and counted.
"""

from __future__ import annotations

from yarnspec.core.messages.commands import SetTimer
from yarnspec.core.messages.events import TimerFired


class Timers:
    """The timers that are wanted now, by name, with the time that each is due."""

    def __init__(self) -> None:
        self._due_ms: dict[str, int] = {}
        self.stale = 0

    def set(self, name: str, at_ms: int, reason: str) -> SetTimer:
        """Want ``name`` at ``at_ms``; an earlier wish of that name is forgotten."""
        self._due_ms[name] = at_ms
        return SetTimer(name=name, at_ms=at_ms, reason=reason)

    def cancel(self, name: str) -> None:
        """Forget ``name``: when it fires, it is stale."""
        self._due_ms.pop(name, None)

    def wanted(self, name: str) -> bool:
        """Whether ``name`` is set and has not fired."""
        return name in self._due_ms

    def take(self, event: TimerFired, now_ms: int) -> bool | SetTimer:
        """Whether the fired timer is due; it is forgotten then.

        A timer that fires before its time by the clock that events carry (the machine's clock was set back) is set
        again by a command. Without that, what it guards would be lost: the end of a block, for example.
        """
        due_ms = self._due_ms.get(event.name)
        if due_ms is None or event.at_ms < due_ms:
            self.stale += 1
            return False
        if now_ms < due_ms:
            return self.set(event.name, due_ms, f"the timer fired {due_ms - now_ms} ms before it was due")
        del self._due_ms[event.name]
        return True
