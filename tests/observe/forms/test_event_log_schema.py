"""The JSON Schema of the event log's lines: each type of line is one that it allows."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.observe.messages import KINDS
from yarnspec.core.messages.commands import Command
from yarnspec.core.messages.events import Event
from yarnspec.observe.forms.event_log_schema import events_schema
from yarnspec.observe.forms.records import encode, record_of

DEFINITIONS: dict[str, Any] = events_schema()["$defs"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=5, deadline=None)
@given(st.data())
def test_a_line_of_each_type_is_one_of_the_schema(kind: type[Event] | type[Command], data: st.DataObject) -> None:
    line = json.loads(encode(record_of(data.draw(st.from_type(kind)), seq=1, time_ms=2, epoch=3)))
    schema = {"$ref": f"#/$defs/{kind.__name__}", "$defs": DEFINITIONS}
    assert [one.message for one in jsonschema.Draft202012Validator(schema).iter_errors(line)] == []
