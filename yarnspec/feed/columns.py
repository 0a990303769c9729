"""Joining batches of ``Observations``; no file, socket or Arrow in here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yarnspec.core.messages.observations import COLUMNS, NONE, IntColumn, Observations

_CODES = ("host", "executor")


def join(batches: Sequence[Observations]) -> Observations:
    """One batch with the rows of all of them, in order."""
    if len(batches) == 1:
        return batches[0]
    columns = {
        name: np.concatenate([getattr(each, name) for each in batches]) for name in COLUMNS if name not in _CODES
    }
    hosts, host_codes = _recoded([(each.hosts, each.host) for each in batches])
    executors, executor_codes = _recoded([(each.executors, each.executor) for each in batches])
    texts: dict[int, str] = {}
    before = 0
    for each in batches:
        texts |= {before + row: text for row, text in each.texts.items()}
        before += len(each)
    return Observations(
        **columns, host=host_codes, executor=executor_codes, hosts=hosts, executors=executors, texts=texts
    )


def _recoded(parts: Sequence[tuple[tuple[str, ...], IntColumn]]) -> tuple[tuple[str, ...], IntColumn]:
    """The names of all parts, and the codes into them."""
    names: dict[str, int] = {}
    recoded = []
    for part_names, codes in parts:
        # One more at the end: the code for "not known", -1, finds itself.
        table = np.array([*(names.setdefault(name, len(names)) for name in part_names), NONE], dtype=np.int64)
        recoded.append(table[codes])
    return tuple(names), np.concatenate(recoded)
