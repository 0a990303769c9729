"""Rows of observations for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from yarnspec.core.messages.observations import COLUMNS, Observations, ObservationsBuilder, RowKind

_HOSTS = st.none() | st.sampled_from(["127.0.0.2", "127.0.0.3", 'a "host"\n'])
_TEXTS = st.just("") | st.text(max_size=6)
_SMALL = st.integers(-1, 4)


@st.composite
def observations(draw: st.DrawFn, max_rows: int = 12) -> Observations:
    """Rows about few stages, tasks and hosts, in any order."""
    rows = ObservationsBuilder()
    for _ in range(draw(st.integers(0, max_rows))):
        numbers = {name: draw(_SMALL) for name in COLUMNS if name not in ("host", "executor", "kind")}
        numbers["task_id"] = draw(st.integers(-1, 2**62))
        kind = draw(st.sampled_from(RowKind))
        rows.add(kind=kind, host=draw(_HOSTS), executor=draw(_HOSTS), text=draw(_TEXTS), **numbers)
    return rows.observations()


def plain(rows: Observations) -> list[dict[str, object]]:
    """What the rows say, without codes, to compare them."""
    table = []
    for row in range(len(rows)):
        one: dict[str, object] = {name: int(getattr(rows, name)[row]) for name in COLUMNS}
        one["host"] = rows.hosts[rows.host[row]] if rows.host[row] >= 0 else None
        one["executor"] = rows.executors[rows.executor[row]] if rows.executor[row] >= 0 else None
        one["text"] = rows.texts.get(row, "")
        table.append(one)
    return table
