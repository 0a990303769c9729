"""Shows how arguments, variables and files on the class path arrived, as one JSON line: `arrives.py ARGUMENTS…`.

Expects `--files any.properties`, the variable `MINE` for driver and executors, and in `YARN` the path of a `yarn`
command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def look(_: object = None) -> dict[str, str]:
    """What a program may see where it runs."""
    names = ("MINE", "PYTHONPATH", "PWD", "NM_HOST")
    return {name: os.environ.get(name, "") for name in names}


def main() -> None:
    """Look here and there."""
    spark = SparkSession.builder.getOrCreate()
    context = spark.sparkContext
    there = context.parallelize([0], 1).map(look).collect()[0]
    loader = context._jvm.Thread.currentThread().getContextClassLoader()
    hadoop = context._jsc.hadoopConfiguration()
    applications = subprocess.run(
        [os.environ["YARN"], "application", "-list"], stdout=subprocess.PIPE, text=True, check=False
    )
    document = {
        "arguments": [os.fsencode(argument).hex() for argument in sys.argv[1:]],
        "driver": look(),
        "task": there,
        "resource": str(loader.getResource("any.properties")),
        "hadoop": {key: hadoop.get(key) for key in ("fs.defaultFS", "mine")},
        "yarn": applications.stdout,
        "read": [row.value for row in spark.read.text(Path("any.properties").absolute().as_uri()).collect()],
    }
    print(json.dumps(document, ensure_ascii=False), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
