"""The record of a running cluster on disk, so that another command can find and end it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from yarnspec.errors import UsageError
from yarnspec.minicluster.hadoop.configuration import Ports, Shape
from yarnspec.minicluster.machine.processes import ProcessIdentity

if TYPE_CHECKING:
    from pathlib import Path


class ClusterRecord(msgspec.Struct, kw_only=True):
    """The contents of `cluster.json`: the cluster as it was started, and its daemons by name."""

    schema: int = 1
    shape: Shape
    ports: Ports
    java_home: str
    jars: str
    daemons: dict[str, ProcessIdentity] = {}
    owner: ProcessIdentity | None = None
    """The process with which the cluster ends; without one it runs until it is stopped."""


def read_record(path: Path) -> ClusterRecord | None:
    """Read the record; None when no cluster was ever started here."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(data, type=ClusterRecord)
    except msgspec.DecodeError as error:
        message = f"{path} is not a mini cluster's record ({error}): remove the directory or name another"
        raise UsageError(message) from None


def write_record(path: Path, record: ClusterRecord) -> None:
    """Replace the record by rename: a reader never sees half of it."""
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    scratch.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2))
    scratch.replace(path)
