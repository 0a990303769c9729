"""The ids of applications as YARN writes them, and the directories that are named after driver epochs."""

from __future__ import annotations

import re
from collections.abc import Iterable

_APPLICATION_ID = re.compile(r"application_[0-9]+_[0-9]{4,}")
_EPOCH_DIRECTORY = re.compile(r"epoch-([1-9][0-9]{0,8})")


def is_application_id(text: str) -> bool:
    """Whether the text is the id of an application. Only then it may become part of addresses and paths."""
    return _APPLICATION_ID.fullmatch(text) is not None


def id_order(application_id: str) -> tuple[int, int]:
    """The order in which YARN gave the ids."""
    _, cluster, number = application_id.split("_")
    return int(cluster), int(number)


def epoch_directory(epoch: int) -> str:
    """The name of the directory that holds the files of a driver epoch."""
    return f"epoch-{epoch}"


def epochs_among(names: Iterable[str]) -> list[int]:
    """The driver epochs whose directories are among the names, first to last."""
    return sorted(int(found[1]) for name in names if (found := _EPOCH_DIRECTORY.fullmatch(name)))
