"""Overrides configuration keys in its code, and prints its executors' sizes: `overrides.py KEY=VALUE… [-- KEY=VALUE…]`.

After each `--` it makes another SparkContext.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pyspark import SparkConf
from pyspark.sql import SparkSession


def executor_size(_: int) -> str:
    """Heap and cores by the command line of the JVM above this worker."""
    process, command = os.getpid(), ""
    while "CoarseGrainedExecutorBackend" not in command:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        command = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return " ".join(re.findall(r"-Xmx\w+|--cores \d+", command))


def run(pairs: list[str]) -> None:
    """Set the keys and run a job."""
    conf = SparkConf()
    for pair in pairs:
        key, _, value = pair.partition("=")
        conf.set(key, value)
    spark = SparkSession.builder.config(conf=conf).getOrCreate()
    print("counted", spark.range(10).count())
    print("sizes", *set(spark.sparkContext.parallelize(range(8), 8).map(executor_size).collect()))
    spark.stop()


def main(words: list[str]) -> None:
    """Use one context after the other."""
    while words:
        end = words.index("--") if "--" in words else len(words)
        run(words[:end])
        words = words[end + 1 :]


if __name__ == "__main__":
    main(sys.argv[1:])
