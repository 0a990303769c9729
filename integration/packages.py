"""Installs packages that only some tests need, each set into its own directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 300
_INSTALL = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")


class PackagesError(Exception):
    """A package could not be installed, or a program that uses it failed; the message says why."""


def install(place: Path, *packages: str) -> None:
    """Install packages into a directory, without what they need in turn.

    Raises:
        PackagesError: PyPI did not give them in time.
    """
    python(*_INSTALL, "--target", str(place), *packages)


def python(*arguments: str, **variables: str) -> str:
    """What a Python of its own prints.

    Raises:
        PackagesError: it failed, or took more than five minutes.
    """
    try:
        done = subprocess.run(
            [sys.executable, *arguments], env=os.environ | variables, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=TIMEOUT_S, check=True,
        )  # fmt: skip
    except subprocess.SubprocessError as error:
        said = getattr(error, "stderr", "") or ""
        words = said if isinstance(said, str) else said.decode(errors="replace")
        raise PackagesError(
            "some tests install packages from PyPI once, and keep what they need of them in yarnspec's cache; "
            f"this time: {error}\n{words.strip()[-2000:]}"
        ) from error
    return done.stdout
