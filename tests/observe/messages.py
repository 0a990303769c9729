"""Hypothesis strategies for everything that the core is told and answers."""

from __future__ import annotations

import msgspec
from hypothesis import strategies as st

from yarnspec.core.messages.all_messages import COMMANDS, EVENTS
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event, Observed

# Observations are no records: the records are made of their rows (tests/observe/forms/test_observation_lines.py).
KINDS: tuple[type[Event] | type[Command], ...] = (
    *(kind for kind in EVENTS if kind is not Observed),
    *COMMANDS,
)
_FEW = st.sampled_from(["1", "2", "3", "127.0.0.2", "container_1_0001_01_000001", "SUCCESS", "FAILED", ""])

# Few different ids and small numbers, so that messages of one list speak about the same things.
st.register_type_strategy(str, st.one_of(_FEW, st.text(max_size=8)))
# JSON has no word for the others.
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(int, st.one_of(st.integers(-2, 12), st.integers(-(2**62), 2**62)))


def _below(kind: type[msgspec.Struct]) -> set[type[msgspec.Struct]]:
    return {kind}.union(*(_below(one) for one in kind.__subclasses__()))


# The default for a map is a maker of one, which Hypothesis would take for a value.
for _struct in (one for one in _below(msgspec.Struct) if one.__module__.startswith("yarnspec.core.")):
    _fields = msgspec.structs.fields(_struct)
    if any(one.default_factory is dict for one in _fields):
        st.register_type_strategy(_struct, st.builds(_struct, **{one.name: ... for one in _fields}))

messages: st.SearchStrategy[Event | Command] = st.one_of([st.from_type(kind) for kind in KINDS])
