"""Shows what was shipped with a program, as the driver and a task see it, as one JSON line.

Expects `--files words.txt`, `--py-files shipped_module.py`; optionally a `sitecustomize.py` and an archive with the
link `box`.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession


def look(_: object = None) -> dict[str, object]:
    """Read everything."""
    import shipped_module  # type: ignore[import-not-found] # comes by --py-files

    words = Path(SparkFiles.get("words.txt"))
    beside = Path("words.txt")
    box = next((path for path in (Path("box"), Path(SparkFiles.get("box"))) if path.exists()), None)
    return {
        "module": shipped_module.greeting(),
        "words": words.read_text() if words.exists() else beside.read_text() if beside.exists() else None,
        "box": sorted(str(path.relative_to(box)) for path in box.rglob("*") if path.is_file()) if box else None,
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
    there = spark.sparkContext.parallelize([0], 1).map(look).collect()[0]
    print(json.dumps({"driver": look(), "task": there}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
