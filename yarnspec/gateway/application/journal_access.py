"""An application's journal from outside: by the application's id, or by the directory that it is in."""

from __future__ import annotations

from pathlib import Path

from yarnspec.errors import NotAllowed, NotFound
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import hadoop_conf
from yarnspec.journal.directory import JOURNAL_DIRECTORY, JournalDirectory
from yarnspec.yarn.files.cluster_files import Files, open_files, path_of
from yarnspec.yarn.files.local_files import LocalFiles


def journal_of(application: Application) -> JournalDirectory:
    """The journal of an application. After its end all of it can be read, however it ended."""
    ended = application.has_ended()
    path = f"{application.cluster.history.path(application.id)}/{JOURNAL_DIRECTORY}"
    directory = JournalDirectory(application.cluster.history_files, path)
    if not directory.epochs():
        raise NotFound(f"there is no journal of {application.id}: {path} is not there, or empty")
    if ended:
        try:
            directory.close_for_dead_writers()
        except NotAllowed:
            return directory  # what can be read without its owner's rights
    return directory


def journal_at(location: str) -> JournalDirectory:
    """The journal in a local directory, or at an ``hdfs://`` URI; also when that is of the application's history."""
    files: Files
    if "://" in location or location.startswith("file:"):
        files, path = open_files(hadoop_conf(), location), path_of(location)
    else:
        files, path = LocalFiles(), str(Path(location).absolute())
    for candidate in (f"{path.rstrip('/')}/{JOURNAL_DIRECTORY}", path):
        directory = JournalDirectory(files, candidate)
        if directory.epochs():
            return directory
    raise NotFound(f"there is no journal at {location}: it has no directories epoch-1, epoch-2, …")
