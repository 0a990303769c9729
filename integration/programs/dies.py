"""Lets its own driver's JVM abort before anything is finished: `dies.py STARTS_FILE`, a line for each driver epoch."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(starts: Path) -> None:
    """The JVM has started this process."""
    SparkSession.builder.getOrCreate()
    with starts.open("a") as lines:
        lines.write("started\n")
    os.kill(os.getppid(), signal.SIGABRT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
