"""Random events about what a program writes, for the tests of what always holds."""

from __future__ import annotations

from hypothesis import strategies as st

from yarnspec.core.messages import events as ev
from yarnspec.core.messages import writeevents as wr

_numbers = st.integers(0, 4)
_paths = st.sampled_from(["f:/x", "f:/x/day=1", "f:/y"])
_modes = st.sampled_from(["replace", "amend", "add", "create", "ignore", "save", "unknown"])
_signatures = st.sampled_from(["", "a", "b"])

saved_writes = st.lists(
    st.builds(
        wr.SavedWrite,
        ordinal=_numbers,
        signature=_signatures,
        path=_paths,
        mode=_modes,
        existed=st.booleans(),
        instead=st.booleans(),
        defers=st.booleans(),
        state=st.sampled_from(["begun", "committing", "committed"]),
        digest=st.sampled_from(["", "d"]),
        job=st.sampled_from(["", "j"]),
    ),
    max_size=4,
    unique_by=lambda one: one.ordinal,
).map(tuple)

write_events: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(wr.WritesAsked, question=_numbers),
    st.builds(
        wr.WriteResolved,
        question=_numbers,
        ordinal=_numbers,
        outcome=st.sampled_from(["committed", "undone", "restored", "failed"]),
    ),
    st.builds(
        wr.WriteDeclared,
        question=_numbers,
        write=_numbers,
        path=_paths,
        mode=_modes,
        signature=_signatures,
        existed=st.booleans(),
    ),
    st.builds(wr.WriteMissing, question=_numbers, write=_numbers),
    st.builds(
        wr.WriteBeginning,
        question=_numbers,
        write=_numbers,
        job=st.just("j"),
        existed=st.booleans(),
        defers=st.booleans(),
    ),
    st.builds(wr.WriteClearing, question=_numbers, write=_numbers),
    st.builds(wr.WriteDeleting, question=_numbers, write=_numbers),
    st.builds(
        wr.WriteCommitBeginning,
        question=_numbers,
        write=_numbers,
        files=_numbers,
        digest=st.just("d"),
        made=st.just({}),
    ),
    st.builds(wr.WriteAborting, question=_numbers, write=_numbers),
    st.builds(wr.WriteFinished, question=_numbers, write=_numbers),
    st.builds(wr.WriteRefused, question=_numbers, why=st.just("replaced")),
    st.builds(
        wr.InputRead,
        question=_numbers,
        paths=st.lists(_paths, max_size=2).map(tuple),
        held=st.lists(st.builds(wr.Held, _paths, st.just(("j",))), max_size=2).map(tuple),
    ),
)
