"""Shows what was shipped with a program, as the driver and a task see it, as one JSON line.

Expects `--files words.txt`, `--py-files shipped_module.py`, and optionally a `sitecustomize`, an archive with the
link `box` and a Java agent that writes `agent.txt`. The arguments are packages that have come by `--py-files` too, each
with a file of data.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.resources
import json
import os
import sys
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession


def data_of(package: str) -> str:
    """Import a package and read its data."""
    return (importlib.resources.files(importlib.import_module(package)) / "data.txt").read_text()


def look(packages: list[str]) -> dict[str, object]:
    """Read everything."""
    import shipped_module  # type: ignore[import-not-found] # comes by --py-files

    agent = Path("agent.txt")
    box = next((path for path in (Path("box"), Path(SparkFiles.get("box"))) if path.exists()), None)
    return {
        "module": shipped_module.greeting(),
        "packages": {name: data_of(name) for name in packages},
        "words": Path(SparkFiles.get("words.txt")).read_text(),
        "box": sorted(str(path.relative_to(box)) for path in box.rglob("*") if path.is_file()) if box else None,
        "agent": agent.read_text() if agent.exists() else None,
        "python": sys.executable,
        "prefix": sys.prefix,
        "directory": str(Path.cwd()),
        "container": os.environ["CONTAINER_ID"],
        "customized": hasattr(builtins, "CUSTOMIZED"),  # by a sitecustomize.py
        "mark": os.environ.get("YARNSPEC_TEST_MARK"),
    }


def main() -> None:
    """Look here and there."""
    spark = SparkSession.builder.getOrCreate()
    packages = sys.argv[1:]
    there = spark.sparkContext.parallelize([packages], 1).map(look).collect()[0]
    here = look(packages)
    print(json.dumps({"program": Path(__file__).name, "driver": here, "task": there}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
