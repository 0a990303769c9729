"""TPC-H tables as Parquet files on this machine, made once per scale factor."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from integration.tpch.queries import TABLES

# The large tables come in several files, so that small scale factors give Spark several tasks as well.
PARTS_OF_LARGE_TABLES = 4
LARGE_TABLES = ("lineitem", "orders")
GENERATION_TIMEOUT_S = 600


def cache_directory() -> Path:
    """Where generated data stays between runs, outside the source tree."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "yarnspec"


def tpch_data(scale: float) -> Path:
    """The directory that holds `<table>/*.parquet` for this scale factor; it is made when it is missing."""

    def make(directory: Path) -> None:
        generate("tpch", directory, scale, [table for table in TABLES if table not in LARGE_TABLES], 1)
        generate("tpch", directory, scale, LARGE_TABLES, PARTS_OF_LARGE_TABLES)

    return made_once(f"tpch-sf{scale:g}-p{PARTS_OF_LARGE_TABLES}", make)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The file or directory of this name in the cache; ``make`` makes it at a path when it is missing.

    It appears under its name by one rename, when it is whole: a run that is interrupted leaves nothing that a later one
    would take for data.
    """
    home = cache_directory()
    there = home / name
    if there.exists():
        return there
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=home) as workspace:
        made = Path(workspace) / "made"
        make(made)
        try:
            made.rename(there)
        except OSError:
            if not there.exists():  # else another run was quicker
                raise
    return there


def generate(
    benchmark: Literal["tpch", "tpcds"], directory: Path, scale: float, tables: Iterable[str], parts: int
) -> None:
    """Write these tables as `<table>/<table>.<part>.parquet`."""
    generator = Path(sys.executable).with_name("tpcgen-cli")
    command = [str(generator), benchmark, "parquet", f"--scale-factor={scale:g}", f"--output-dir={directory}"]
    command += ["--quiet", f"--tables={','.join(tables)}", f"--parts={parts}"]
    subprocess.run(command, check=True, timeout=GENERATION_TIMEOUT_S)
