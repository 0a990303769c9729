"""All events and commands, whichever file declares them: for whoever reads, lists or describes any of them."""

from __future__ import annotations

from typing import Final

from yarnspec.core.messages import recoverycommands, recoveryevents, writeevents  # noqa: F401 - declare some of them
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event

EVENTS: Final = tuple(Event.__subclasses__())
COMMANDS: Final = tuple(Command.__subclasses__())
