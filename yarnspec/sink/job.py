"""The Spark job of a sink: the user's writer in every partition, and what each accepted attempt says of its file."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, cast

from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.attempts import AttemptFile, Task
from yarnspec.sink.tasks import CHUNK, Writer, arrow_chunks_of, chunks_of, row_chunks_of
from yarnspec.window import full_window_partition
from yarnspec.window.dataframe import takes_batches
from yarnspec.window.shipping import ship

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame

Records = Literal["arrow", "rows"]

_WHICH = "yarnspec.sink.save"
"""A local property: which save a job is for."""

_CLASS = "org.yarnspec.sink.SinkDriver"

_drivers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_loading = threading.Lock()


def sink_driver(context: SparkContext) -> Any:
    """Our object in the driver's JVM; the first time in a Spark context its executors get our jar, too."""
    from yarnspec.jvm import jar_path

    with _loading:
        if context not in _drivers:
            jar = jar_path()
            jvm: Any = context._jvm
            gateway: Any = context._gateway
            context._jsc.addJar(str(jar))
            urls = gateway.new_array(jvm.java.net.URL, 1)
            urls[0] = jvm.java.io.File(str(jar)).toURI().toURL()
            # Where the jar is on the class path already, its classes come from there.
            loader = jvm.java.net.URLClassLoader(urls, jvm.Thread.currentThread().getContextClassLoader())
            _drivers[context] = loader.loadClass(_CLASS).getDeclaredConstructors()[0].newInstance(None)
        return _drivers[context]


class SinkJob:
    """The attempts at an RDD's or a DataFrame's partitions."""

    def __init__(self, data: RDD[Any] | DataFrame, writer: Writer, records: Records | None) -> None:
        from pyspark import RDD
        from pyspark.sql.classic.dataframe import DataFrame

        if isinstance(data, RDD):
            if records is not None:
                raise UsageError(f"records={records!r} is for DataFrames: an RDD's records are what they are")
            self.context = data.context
            ship(self.context)
            chunks: Any = data.mapPartitions(partial(chunks_of, writer))
            # Pieces of bytes reach the JVM as they are.
            chunks._bypass_serializer = True
            self._driver = sink_driver(self.context)
            self._rows: Any = None
            self._objects = chunks
        elif isinstance(data, DataFrame):
            if data.isStreaming:
                raise UsageError(
                    "a streaming DataFrame has no end to publish: save the batches in foreachBatch, each with the "
                    "batch's number as its key: save(batch, key=str(number))"
                )
            self.context = data.sparkSession.sparkContext
            view = full_window_partition(data)
            arrow = records == "arrow" or (records is None and takes_batches(writer))
            task = partial(arrow_chunks_of if arrow else row_chunks_of, writer)
            self._rows = view.map_partition(task, f"{CHUNK} binary", records="arrow" if arrow else "rows")
            self._driver = sink_driver(self.context)
        else:
            raise TypeError(f"a DataFrame (not of Spark Connect) or an RDD can be saved, {type(data)} cannot")
        self._stages: set[tuple[int, int]] = set()

    @functools.cached_property
    def _chunks(self) -> Any:
        """The pieces, asked for only when wanted: adaptive execution then runs all below a DataFrame's last shuffle."""
        return self._objects._jrdd if self._rows is None else self._driver.chunks(self._rows._jdf.toJavaRDD())

    @property
    def partitions(self) -> int:
        """How many there are."""
        return int(self._chunks.getNumPartitions())

    def identity(self) -> str:
        """Equal in two drivers of an application only when each partition's records are the same; empty in doubt."""
        return str(self._driver.identity(self._chunks)) if self._rows is None else ""

    def origin(self) -> str:
        """The data and the writer that the files are made of; empty when that is not known."""
        return str(self._driver.origin(self._objects._jrdd.rdd() if self._rows is None else self._rows._jdf))

    @contextlib.contextmanager
    def told_apart(self, which: str) -> Iterator[None]:
        """While it lasts, recovery tells shuffles from those of another ``save`` of the same functions.

        These may go by something else than their input (docs/internals/recovery.md).
        """
        before = self.context.getLocalProperty(_WHICH)
        self.context.setLocalProperty(_WHICH, which)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # the context may have ended, and the save's own error is to be told
                self.context.setLocalProperty(_WHICH, cast(str, before))  # None takes it away

    def run(self, attempts: str, epoch: int, partitions: list[int]) -> list[AttemptFile]:
        """Write these partitions to a directory; gives the attempts whose results Spark accepted, one of each."""
        from pyspark.core.rdd import _load_from_socket
        from pyspark.serializers import UTF8Deserializer

        if not partitions:
            return []
        jvm: Any = self.context._jvm
        directory = f"file://{attempts}" if attempts.startswith("/") else attempts
        writing = self._driver.attempts(self._chunks, directory, epoch)
        with _named(self.context), contextlib.closing(self._driver.notes(writing, directory, epoch)):
            results = jvm.PythonRDD.runJob(self.context._jsc.sc(), writing, partitions)
            with _load_from_socket(results, UTF8Deserializer()) as told:
                accepted = [self._accepted(each) for each in told]
        if sorted(each.partition for each in accepted) != sorted(partitions):
            raise YarnspecError(f"Spark gave {len(accepted)} results for {len(partitions)} partitions")
        return accepted

    def tasks(self, epoch: int) -> list[Task]:
        """The tasks of the stages that wrote, as Spark knows them."""
        found = []
        for stage, last_attempt in self._stages:
            for attempt in range(last_attempt + 1):
                for line in str(self._driver.tasks(self.context._jsc.sc(), stage, attempt)).splitlines():
                    partition, task, copy = line.split(" ")
                    found.append(Task(int(partition), f"e{epoch}.t{task}", copy == "1"))
        return found

    def _accepted(self, told: str) -> AttemptFile:
        name, size, stage, stage_attempt = told.split(" ")
        self._stages.add((int(stage), int(stage_attempt)))
        return AttemptFile(name, int(size))


def stream(context: SparkContext) -> str:
    """The number of the stream in whose foreachBatch this thread is; empty: in none. It is the same in all epochs."""
    in_a_batch = context.getLocalProperty("streaming.sql.batchId") is not None
    return (context.getLocalProperty("sql.streaming.queryId") or "unknown") if in_a_batch else ""


@contextlib.contextmanager
def _named(context: SparkContext) -> Iterator[None]:
    """The job goes by the name of the user's line, as Spark's own actions do."""
    frame = _users_frame()
    line = f" at {frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""
    context._jsc.setCallSite(f"PartitionFileSink.save{line}")
    try:
        yield
    finally:
        context._jsc.clearCallSite()


def users_line() -> str:
    """Where the user calls us, and who calls there, up to the program's first line: ``HELPER.py:7 < PROGRAM.py:42``.

    As any driver of the application knows it: files' names without directories.
    """
    lines = []
    frame = _users_frame()
    while frame is not None:
        lines.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(lines)


def _users_frame() -> FrameType | None:
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("yarnspec.sink", "contextlib")):
        frame = frame.f_back
    return frame
