"""HDFS through Hadoop's own client in the driver's JVM, with Spark's configuration and credentials."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yarnspec.errors import UsageError
from yarnspec.sink.files import LocalSinkFiles, SinkFiles

if TYPE_CHECKING:
    from pyspark import SparkContext

_DFS = "org.apache.hadoop.hdfs.DistributedFileSystem"
_TAKEN = "org.apache.hadoop.fs.FileAlreadyExistsException"
_ABSENT = "java.io.FileNotFoundException"
_NOT_EMPTY = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"


class HadoopFiles:
    """HDFS; made by ``files_of``. ``lister`` gives a directory's content in one text, as each call to the JVM costs."""

    def __init__(self, context: SparkContext, file_system: Any, lister: Any) -> None:
        self._jvm: Any = context._jvm
        self._files = file_system
        self._lister = lister
        # Its rename with options does not move into a directory that has the name already.
        self._no_options = context._gateway.new_array(self._jvm.org.apache.hadoop.fs.Options.Rename, 0)

    def exists(self, path: str) -> bool:
        """See ``SinkFiles``."""
        with _python_errors():
            return bool(self._files.exists(self._path(path)))

    def is_directory(self, path: str) -> bool:
        """See ``SinkFiles``."""
        with _python_errors():
            return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def names(self, directory: str) -> dict[str, int]:
        """See ``SinkFiles``."""
        with _python_errors():
            told = str(self._lister.list(self._files, self._path(directory)))
        entries = [entry.partition("/") for entry in told.split("\0") if entry]
        return {name: int(size) for size, _, name in entries}

    def read(self, path: str) -> bytes | None:
        """See ``SinkFiles``."""
        try:
            with _python_errors():
                stream = self._files.open(self._path(path))
                try:
                    return bytes(stream.readAllBytes())
                finally:
                    stream.close()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """See ``SinkFiles``."""
        with _python_errors():
            # Unlike `create`, it makes no directory: a driver whose directory is gone shall notice.
            stream = self._files.createFile(self._path(path)).overwrite(True).build()
            try:
                stream.write(bytearray(data))
            finally:
                stream.close()

    def make_directories(self, path: str) -> None:
        """See ``SinkFiles``."""
        with _python_errors():
            self._files.mkdirs(self._path(path))

    def rename(self, source: str, target: str) -> bool:
        """See ``SinkFiles``."""
        try:
            with _python_errors():
                self._files.rename(self._path(source), self._path(target), self._no_options)
        except FileExistsError:
            return False
        return True

    def delete(self, path: str) -> None:
        """See ``SinkFiles``."""
        with _python_errors():
            self._files.delete(self._path(path), True)

    def remove_empty(self, directory: str) -> None:
        """See ``SinkFiles``."""
        with contextlib.suppress(OSError), _python_errors():
            self._files.delete(self._path(directory), False)

    def why_fixed(self, path: str, parent: str, *, replaced: bool) -> str | None:
        """See ``SinkFiles``. HDFS renames no directory of which it has snapshots, and another one would have none.

        Nor does it rename a file into an encryption zone, and the directory that takes a zone's place is none.
        """
        with _python_errors():
            there, above = (self._files.getFileStatus(self._path(each)) for each in (path, parent))
            if there.isEncrypted() != above.isEncrypted():
                return "an encryption zone"
            return "a directory of which snapshots may be made" if replaced and there.isSnapshotEnabled() else None

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def files_of(context: SparkContext, path: str, lister: Any) -> tuple[SinkFiles, str]:
    """The file system of a path, and the path as that knows it: absolute, without a ``/`` at its end.

    Raises:
        UsageError: a rename is not atomic there, or not known to be; or the path is a root.
    """
    jvm: Any = context._jvm
    if not path:
        raise UsageError("an output needs a path")
    named = jvm.org.apache.hadoop.fs.Path(path)
    conf = context._jsc.hadoopConfiguration()
    scheme = str(named.toUri().getScheme() or jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(conf).getScheme())
    if scheme in ("file", "hdfs"):
        file_system = named.getFileSystem(conf)
        named = file_system.makeQualified(named)
        if named.isRoot():
            raise UsageError(f"{path}: the root of a file system is no place for an output")
        if scheme == "file":
            local = str(named.toUri().getPath())
            # Behind a link there is one output, with one claim, whatever it is called. Links above it may be each
            # host's own.
            return LocalSinkFiles(), os.path.realpath(local) if Path(local).is_symlink() else local
        if str(file_system.getClass().getName()) == _DFS:
            return HadoopFiles(context, file_system, lister), str(named.toString())
    raise UsageError(
        f"{path}: on {scheme}: a rename is not atomic, or not known to be, and a sink stands on that. Write to hdfs: "
        "or file: (for viewfs: name the hdfs: path that is mounted), or leave it to Spark: DataFrame.write has "
        "committers for object stores"
    )


@contextlib.contextmanager
def _python_errors() -> Iterator[None]:
    """Hadoop's errors as Python's own."""
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        name = str(error.java_exception.getClass().getName())
        text = str(error.java_exception.getMessage())
        if name == _TAKEN:
            raise FileExistsError(text) from None
        if name == _ABSENT:
            raise FileNotFoundError(text) from None
        raise OSError(text if name == _NOT_EMPTY else f"{name}: {text}") from None
