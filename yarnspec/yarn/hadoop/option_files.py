"""The files of options that an admin keeps for all users, and the options as they hold on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from yarnspec import options
from yarnspec.yarn.hadoop.hadoop_conf import configuration_directories

SYSTEM_DIRECTORY = Path("/etc/yarnspec")
_FILE = "yarnspec.yaml"


def load_options(
    config_file: Path | None = None, settings: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> options.Loaded:
    """The options in effect for a user of this machine: ``options.load`` with the cluster's files.

    Raises:
        UsageError: a file, a variable or a setting is wrong, or a file cannot be read.
    """
    return options.load(config_file, settings, environ, cluster_files=_cluster_files(environ))


def _cluster_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """The files that are there; a later one wins.

    As for other files of the Hadoop configuration, the first of several directories comes before the others.
    """
    directories, _ = configuration_directories(environ)
    for directory in (SYSTEM_DIRECTORY, *reversed(directories)):
        path = directory / _FILE
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass  # who reads it says what is wrong
        yield path
