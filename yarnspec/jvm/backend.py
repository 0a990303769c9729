"""The build backend: setuptools, with the jar built before a wheel and looked for in it afterwards.

An editable install takes the jar from where `make jar` puts it.
"""

from __future__ import annotations

import configparser
import zipfile
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from yarnspec.jvm.build import JarNotBuilt, ensure_jar, is_current

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Ask for pyspark, whose jars the Java sources are compiled against, when there is something to compile."""
    needed = list(build_meta.get_requires_for_build_wheel(config_settings))
    return needed if is_current() else [*needed, _pyspark()]


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that carries the jar, or none."""
    jar = ensure_jar()
    name = str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))
    wheel = Path(wheel_directory) / name
    with zipfile.ZipFile(wheel) as contents:
        if f"yarnspec/jvm/{jar.name}" not in contents.namelist():
            wheel.unlink()
            raise JarNotBuilt(f"the wheel came out without yarnspec/jvm/{jar.name}")
    return name


def _pyspark() -> str:
    """Return the requirement on pyspark as setup.cfg has it."""
    metadata = configparser.ConfigParser()
    metadata.read("setup.cfg", encoding="utf-8")
    requirements = metadata["options"]["install_requires"].split("\n")
    return next(each.strip() for each in requirements if each.strip().startswith("pyspark"))
