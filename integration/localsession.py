"""A plain local Spark in the test's own process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from integration.quickjvm import QUICK_TEXT


def local_session(
    scratch: Path, master: str = "local[1]", options: dict[str, str] | None = None
) -> Iterator[SparkSession]:
    """One slot, so that all tasks meet the same Python worker; Spark's files below ``scratch``. Ended with its JVM."""
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g")
    builder = builder.config("spark.driver.extraJavaOptions", QUICK_TEXT)
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "OFF")
    builder = builder.config("spark.local.dir", str(scratch))
    builder = builder.config(map=dict(options or {}))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = builder.getOrCreate()
    yield session
    session.stop()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)
    SparkContext._gateway = SparkContext._jvm = None
