"""``PartitionFileSink``: output files that user code writes itself, published whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from yarnspec.errors import UsageError
from yarnspec.sink.attempts import AttemptSets
from yarnspec.sink.claim import Owner
from yarnspec.sink.decision import Decision, Mode, new_run, published
from yarnspec.sink.hadoop import files_of
from yarnspec.sink.job import Records, SinkJob, sink_driver, stream, users_line
from yarnspec.sink.publication import Publication
from yarnspec.sink.save import save
from yarnspec.sink.tasks import Writer

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

_PROCESS = uuid.uuid4().hex

_active: set[str] = set()
_saved: Counter[tuple[str, ...]] = Counter()


@dataclass(frozen=True)
class Published:
    """The outcome of a ``save``.

    ``path`` and ``files`` are as Spark reads them: with ``file:`` or ``hdfs:``, and a ``\\`` before what it would take
    for a pattern. ``written``: partitions that ran now; the others were left whole by the driver before (all of them,
    when it had published already). ``attempts``: see ``AttemptSets``.
    """

    path: str
    files: tuple[str, ...]
    size_bytes: int
    written: int
    attempts: AttemptSets


class PartitionFileSink:
    """Writes a file for each partition, by a function of yours, without Spark's committers.

    Whatever fails, is run twice or is killed: readers see of each ``save`` all files or none, and of each partition the
    file of exactly one attempt. Copies of slow tasks are safe (``docs/sink.md``).

    Args:
        path: a directory in HDFS or of local files (which all hosts see), where nobody else writes at that time.
        writer: ``writer(records, file)``, called for each attempt at a partition, an empty one as well. ``records`` is
            an iterator: of an RDD's objects; of a DataFrame's Rows, or of Arrow batches. ``file`` is a binary file,
            open for writing and reading on the local disk of the task's container, and may be sought in; ``file.name``
            is its path for libraries that want one. Nobody looks at what the writer returns.
        mode: ``"fail"`` when there is something at the path, ``"overwrite"`` it once the new output is complete, or
            ``"append"`` to it.
        suffix: the end of the files' names, like ``".csv"``.
        records: for a DataFrame ``"arrow"`` or ``"rows"``; by default Arrow when the annotation of the writer's first
            parameter names RecordBatch, else rows.
        take_over: the path is claimed by an application that has ended for certain.

    Raises:
        UsageError: a rename is not atomic at the path (s3a:, …), or an argument is wrong.

    >>> def write_lines(records, file):
    ...     for record in records:
    ...         file.write(f"{record}\\n".encode())
    >>> numbers = spark.sparkContext.parallelize(range(4), 2)
    >>> done = PartitionFileSink(directory + "/numbers", write_lines, suffix=".txt").save(numbers)
    >>> sorted(spark.read.text(done.path).collect())
    [Row(value='0'), Row(value='1'), Row(value='2'), Row(value='3')]
    """

    def __init__(
        self,
        path: str,
        writer: Writer,
        *,
        mode: Mode | str = Mode.FAIL,
        suffix: str = "",
        records: Records | None = None,
        take_over: bool = False,
    ) -> None:
        if not callable(writer):
            raise TypeError(f"a writer is a function of records and a file, not {writer!r}")
        try:
            self._mode = Mode(mode)
        except ValueError:
            raise UsageError(f"mode={mode!r}: say 'fail', 'overwrite' or 'append'") from None
        if not re.fullmatch(r"([._-][^/:\0\n]*)?", suffix) or suffix.endswith((".writing", ".swept")):
            raise UsageError(
                f"suffix={suffix!r}: a name's end begins with '.', '-' or '_' and has no '/', ':' or line end"
            )
        if records not in (None, "arrow", "rows"):
            raise UsageError(f"records={records!r}: say 'arrow' or 'rows'")
        self._path = os.fspath(path)
        self._writer = writer
        self._suffix = suffix
        self._records = records
        self._take_over = take_over

    def save(self, data: RDD[Any] | DataFrame, *, key: str | None = None) -> Published:
        """Write every partition and publish the files; returns when they are there.

        Args:
            data: a file is written for each of its partitions.
            key: says which data these are, for programs that go on where they have ended: a batch's number, a file's
                name. What the application has published at the path under a key is not written again, whatever the data
                are. Without a key a restarted program must come to the same saves again, of the same data.

        Raises:
            UsageError: a save in ``foreachBatch`` has no key, or it is not a text; or some saves to the path have one
                and some have none.
            OutputExists: there is something at the path, and the mode is ``fail``.
            PathClaimed: another application writes to the path, or another ``save`` of this program.
            Unfinished: an error in the midst of publishing; the next ``save`` to the path publishes this one first.
            YarnspecError: an earlier driver of the application has published something else under this ``save``'s
                number, or nobody can tell whether it is this (it stays published; a ``key`` spares the program this
                end); or has gone on from it, so that this one might apply a change twice.
            PythonException, Py4JJavaError: the job failed, as Spark tells it; nothing of it is left.
        """
        job = SinkJob(data, self._writer, self._records)
        context = job.context
        if key is not None and not (isinstance(key, str) and key):
            raise UsageError(f"key={key!r}: a key is a text that is not empty")
        query = stream(context)
        if key is None and query:
            raise UsageError(
                "a save in foreachBatch needs a key, as a stream goes on from its checkpoint after a restart: "
                "save(batch, key=str(number))"
            )
        files, target = files_of(context, self._path, sink_driver(context))
        owner = _owner(context)
        publication = Publication(files, target, owner, self._mode)
        with _active_run(owner.run):
            decision, written = save(
                publication,
                job,
                _saved,
                users_line(),
                key=f"{query} {key}" if query else key or "",
                suffix=self._suffix,
                active=_active,
                take_over=self._take_over,
            )
        return _published(target, decision, written=written)


def published_files(spark: SparkSession, path: str) -> list[str]:
    """The files of an output that readers shall see, of each ``save`` all or none; also while one is being added.

    Files that others wrote to the directory are among them, hidden ones (``_…``, ``.…``) are not. The names are as
    Spark reads them: with ``file:`` or ``hdfs:``, and a ``\\`` before what it would take for a pattern.

    Raises:
        FileNotFoundError: there is no such directory.

    >>> [file.rpartition("/")[2][:11] for file in published_files(spark, directory + "/numbers")]
    ['part-00000-', 'part-00001-']
    """
    context = spark.sparkContext
    files, target = files_of(context, path, sink_driver(context))
    found = published(files, target)
    if not found and not files.is_directory(target):
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", target)
    return [_for_spark(f"{target}/{name}") for name in found]


def _for_spark(path: str) -> str:
    """The path in the form in which Spark and Hadoop's commands read this one, and no other."""
    escaped = re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
    return f"file://{escaped}" if path.startswith("/") else escaped


@contextlib.contextmanager
def _active_run(run: str) -> Iterator[None]:
    """While it lasts, other saves of this process see that the run goes on."""
    _active.add(run)
    try:
        yield
    finally:
        _active.discard(run)


def _owner(context: SparkContext) -> Owner:
    told = context._jsc.sc().applicationAttemptId()
    application = str(context.applicationId)
    return Owner(
        run=new_run(application),
        application=application,
        epoch=_epoch(str(told.get())) if told.isDefined() else 0,
        process=_PROCESS,
        user=context.sparkUser(),
        host=socket.gethostname(),
        pid=os.getpid(),
        since_ms=time.time_ns() // 1_000_000,
    )


def _epoch(attempt: str) -> int:
    """The driver epoch: ``1``, or ``1-2`` in its second SparkContext; 0 when it is something else."""
    number = re.fullmatch(r"(\d+)(-\d+)?", attempt)
    return int(number[1]) if number else 0


def _published(target: str, decision: Decision, *, written: int) -> Published:
    return Published(
        path=_for_spark(target),
        files=tuple(_for_spark(f"{target}/{file.name}") for file in decision.files),
        size_bytes=sum(file.size_bytes for file in decision.files),
        written=written,
        attempts=decision.attempts,
    )
