"""Random events about shuffles and the journal, in any order and of any sense."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.core.writehistories import saved_writes
from yarnspec.core.messages import events as ev
from yarnspec.core.messages import recoveryevents as rec

_small = st.integers(0, 4)
_text = st.text(max_size=3)
_hosts = st.sampled_from(["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.9"])
_ids = st.integers(1, 4)
_counts = st.dictionaries(_hosts, st.integers(1, 3), max_size=3)
_kinds = st.sampled_from(["determinate", "unordered", "indeterminate"])
_parents = st.lists(_ids, max_size=2).map(tuple)
_saved = st.builds(
    rec.SavedShuffle,
    shuffle=_ids,
    signature=st.sampled_from(["a", "b"]),
    maps=st.integers(1, 3),
    reduces=st.just(1),
    determinism=_kinds,
    parents=_parents,
    by_host=_counts,
    not_reusable=st.sampled_from(["", "", "", "an accumulator"]),
)

shuffle_events: st.SearchStrategy[ev.Event] = st.one_of(
    st.builds(
        rec.JournalReplayed,
        off=st.sampled_from(["", "", "the disk is full"]),
        problem=st.sampled_from(["", "", "damaged"]),
        changed=st.sampled_from([(), (), ("its arguments",)]),
        shuffles=st.lists(_saved, max_size=3, unique_by=lambda one: one.shuffle).map(tuple),
        epochs=st.sampled_from([(), (1,), (1, 2)]),
        progress=st.integers(0, 2),
        writes=saved_writes,
        writes_lost=st.sampled_from(["", "", "damaged"]),
    ),
    st.builds(rec.RecordingEnded, why=_text, fenced=st.booleans()),
    st.builds(rec.EpochRefused, epoch=st.integers(1, 9), refused=st.just({"records": 1})),
    st.builds(rec.SavedUnreadable, why=_text),
    st.builds(
        rec.ShuffleDeclared,
        question=_small,
        shuffle=_ids,
        signature=st.sampled_from(["a", "b"]),
        maps=st.integers(1, 3),
        reduces=st.just(1),
        determinism=_kinds,
        parents=_parents,
        reusable=st.booleans(),
    ),
    st.builds(
        rec.ShuffleRestored,
        shuffle=_ids,
        wanted=_small,
        restored=_small,
        waited_ms=_small,
        by_host=_counts,
        not_restored=_counts,
    ),
    st.builds(rec.ShuffleForgotten, shuffle=_ids),
    st.builds(rec.RecordingStopped, shuffle=_ids | st.just(rec.ALL_SHUFFLES), why=_text),
    st.builds(rec.MapOutputsRecorded),
    st.builds(rec.OutputsReported, executor_id=st.just("1"), host=_hosts, refused=_counts),
    st.builds(rec.OutputsKept, executor_id=st.just("1"), host=_hosts, outputs=_small),
    st.builds(rec.AdoptionOff, executor_id=st.sampled_from(("1", "")), host=_hosts, why=_text),
    st.builds(rec.Unrecorded, kind=st.sampled_from(("writes", "cached", "stream")), why=_text),
    st.builds(rec.LiveAdoptionBegan, executor_id=st.sampled_from(("1", "2")), host=_hosts, outputs=_small),
    st.builds(rec.LiveAdoptionEnded, executor_id=st.sampled_from(("1", "2")), host=_hosts, adopted=_small, lost=_small),
)
