"""`docs/journal-format.md` is what a stranger writes a reader by: it names the records that are written."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from yarnspec.journal.records import TYPES

PAGE = Path(__file__).parents[2] / "docs/journal-format.md"
ROW = re.compile(r"^\| (\d+) \| (\w+) \| ([^|]*) \|", re.MULTILINE)
NOTES = re.compile(r" \([^)]*\)")


def test_the_page_has_all_records_with_their_fields() -> None:
    told = {
        int(number): (name, NOTES.sub("", fields).split(", "), len(NOTES.findall(fields)))
        for number, name, fields in ROW.findall(PAGE.read_text(encoding="utf-8"))
    }
    assert told.keys() == TYPES.keys()
    for number, kind in TYPES.items():
        fields = msgspec.structs.fields(kind)
        name, names, noted = told[number]
        assert (name, names) == (kind.__name__, [field.name for field in fields])
        assert noted >= sum(not field.required for field in fields), f"{name} has defaults that are not told"
