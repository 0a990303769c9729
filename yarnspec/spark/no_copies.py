"""Marks jobs of a program whose tasks must not run twice at once: ``yarnspec.no_copies``.

The program imports this module in the driver. It works, without effect, in any other Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from yarnspec.errors import UsageError

_SPECULATION = "yarnspec.speculation"  # read by StageFlags.java


@contextmanager
def no_copies() -> Iterator[None]:
    """Have yarnspec copy no task of the jobs that this thread starts inside the block, however slow it is.

    A stage belongs to the job that runs it. Where two jobs share one, the first one's wish counts.

    Raises:
        UsageError: there is no SparkContext yet, so that nothing would be marked.

    >>> with no_copies():
    ...     orders.rdd.mapPartitions(book).count()
    """
    from pyspark.sql.utils import is_remote

    if is_remote():
        yield  # Spark Connect: the session's jobs are another process's
        return
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        raise UsageError("yarnspec.no_copies() marks jobs of a SparkContext: start the SparkSession before the block")
    before = context.getLocalProperty(_SPECULATION)
    context.setLocalProperty(_SPECULATION, "false")
    try:
        yield
    finally:
        # With the context stopped or the JVM gone, the program shall see the error of its own call.
        with suppress(Exception):
            context.setLocalProperty(_SPECULATION, before)
