"""Makes several Spark contexts one after the other: `contexts.py [CONTEXTS]`.

Prints one JSON line per context (`context`, `sum`, `containers`).
"""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession

TASKS = 8


def main(contexts: int) -> None:
    """Use and stop one context after the other."""
    for number in range(1, contexts + 1):
        spark = SparkSession.builder.getOrCreate()
        numbers = spark.sparkContext.parallelize(range(TASKS), TASKS)
        found = numbers.map(lambda index: (index, os.environ["CONTAINER_ID"])).collect()
        line = {
            "context": number,
            "sum": sum(index for index, _ in found),
            "containers": sorted({container for _, container in found}),
        }
        print(json.dumps(line), flush=True)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
