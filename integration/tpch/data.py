"""TPC-H tables as Parquet files on this machine, made once per scale factor."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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
    """The directory that holds `<table>/*.parquet` for this scale factor; it is made when it is missing.

    The directory appears under its name by one rename, when it is whole: a run that is interrupted leaves nothing that
    a later one would take for data.
    """
    home = cache_directory()
    directory = home / f"tpch-sf{scale:g}-p{PARTS_OF_LARGE_TABLES}"
    if directory.is_dir():
        return directory
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=home) as workspace:
        made = Path(workspace) / "data"
        small = [table for table in TABLES if table not in LARGE_TABLES]
        _generate(made, scale, small, 1)
        _generate(made, scale, list(LARGE_TABLES), PARTS_OF_LARGE_TABLES)
        for table in small:
            folder = made / table
            folder.mkdir()
            shutil.move(made / f"{table}.parquet", folder / f"{table}.parquet")
        try:
            made.rename(directory)
        except OSError:
            if not directory.is_dir():  # else another run was quicker
                raise
    return directory


def _generate(directory: Path, scale: float, tables: list[str], parts: int) -> None:
    generator = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(generator), "parquet", f"--scale-factor={scale:g}", f"--output-dir={directory}", "--quiet"]
    command.append(f"--tables={','.join(tables)}")
    if parts > 1:
        command.append(f"--parts={parts}")
    subprocess.run(command, check=True, timeout=GENERATION_TIMEOUT_S)
