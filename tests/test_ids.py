"""Ids of applications, and the names of the directories of driver epochs."""

import pytest

from yarnspec.ids import epoch_directory, epochs_among, id_order, is_application_id


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("application_1700000000000_0001", True),
        ("application_1700000000000_12345", True),
        ("application_1700000000000_1", False),
        ("application_1700000000000_0001/..", False),
        ("application_1700000000000_0001\n", False),
        ("last", False),
    ],
)
def test_an_id_is_known_by_its_form(text: str, is_one: bool) -> None:
    assert is_application_id(text) is is_one


def test_ids_are_ordered_by_number() -> None:
    ids = ["application_2_0001", "application_1_10000", "application_1_0002"]
    assert sorted(ids, key=id_order) == ids[::-1]


def test_epochs_are_found_among_other_names() -> None:
    names = [epoch_directory(10), epoch_directory(2), "epoch-x", "epoch-0", "epoch-02", "refused-1"]
    assert epochs_among(names) == [2, 10]
