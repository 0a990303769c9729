"""The identity of the program: the facts that must be the same for work of an earlier attempt to be used again."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from yarnspec.core.journal.journalrecords import ApplicationRegistered
from yarnspec.plan import Plan
from yarnspec.spark.properties import LOCAL_SCHEMES, PROGRAM_LISTS, local_jars
from yarnspec.spark.variables import set_variables

_PIECE_BYTES = 1024 * 1024
_PYTHON_S = 20.0


class UnknownProgramError(Exception):
    """The program's parts cannot be read, so nobody can say whether it is the same as before."""


def identify(plan: Plan, properties: dict[str, str], *, application_id: str, directory: Path) -> ApplicationRegistered:
    """The identity of this attempt's program.

    Other files that were shipped (``--files``, ``--archives``) are left out: YARN gives no container a file that has
    changed since the submit.

    Args:
        plan: what was submitted.
        properties: Spark's properties as they were shipped.
        application_id: YARN's.
        directory: where the shipped files are.

    Raises:
        UnknownProgramError: a file of the program is where nobody can look, or the driver's Python does not answer.
    """
    program = hashlib.sha256()
    environment = set_variables(plan.driver_environment, os.environ)
    jars = {key: local_jars(properties[key], environment) for key in PROGRAM_LISTS if key in properties}
    for name in [plan.program.primary, *plan.program.python_files, *_listed(jars)]:
        program.update(f"{name} {_digest(_path(name, directory))}\n".encode())
    arguments = msgspec.json.encode([plan.program.arguments, sorted(plan.driver_environment.items())])
    return ApplicationRegistered(
        application_id=application_id,
        program_digest=program.hexdigest(),
        arguments_digest=hashlib.sha256(arguments).hexdigest(),
        spark_version=version("pyspark"),
        python_version=_python_version(plan.driver_python),
        yarnspec_version=version("yarnspec"),
    )


def _listed(lists: dict[str, str]) -> Iterable[str]:
    return [name.strip() for names in lists.values() for name in names.split(",") if name.strip()]


def _path(name: str, directory: Path) -> Path:
    parts = urlsplit(name)
    if parts.scheme not in LOCAL_SCHEMES:
        raise UnknownProgramError(f"{name} of the program may have changed, and nobody can tell here")
    return directory / parts.path


def _digest(path: Path) -> str:
    """Of a file its bytes; of a directory the names and bytes of its files."""
    digest = hashlib.sha256()
    directory = path.is_dir()
    try:
        for file in sorted(each for each in path.rglob("*") if each.is_file()) if directory else (path,):
            if directory:
                name = os.fsencode(file.relative_to(path))
                digest.update(b"%d %s %d " % (len(name), name, file.stat().st_size))
            with file.open("rb") as stream:
                while piece := stream.read(_PIECE_BYTES):
                    digest.update(piece)
    except OSError as error:
        raise UnknownProgramError(f"{path.name} of the program cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def _python_version(python: str) -> str:
    try:
        told = subprocess.run(
            [python, "-c", "import sys; print(sys.version)"],
            capture_output=True,
            text=True,
            timeout=_PYTHON_S,
            check=True,
            env={**os.environ, "PYTHONPATH": ""},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnknownProgramError(f"the driver's Python does not say which one it is: {error}") from error
    return " ".join(told.stdout.split())
