"""Runs first in the user's program: keeps the settings that yarnspec owns, notes its end, and dies with the JVM.

This directory comes first on the PYTHONPATH of the program, and stays there: a process that the program starts, or
replaces itself with, meets the hook again. Spark lets a program's own SparkConf beat every flag of submit; a program
that names another master would run there, without anybody noticing. Where the hook is lost (``python -I``),
MasterGuard.java refuses the master, and ``spark.yarnspec.sharedThreads`` stays true.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import signal
import sys
import traceback
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_HERE = str(Path(__file__).parent)
_MASTER = "yarn"
_PROGRAM = "YARNSPEC_PROGRAM"
_PR_SET_PDEATHSIG = 1
_KEPT_FRAMES = 20
_KEPT_OF_A_CAUSE = 300
_KEPT_CAUSES = 4
_KEPT_CHARACTERS = 4 * 1024 * 1024
_WRITES = "spark.yarnspec.writes"  # read by Sinks.java
_BYTES = "yarnspec-bytes:"  # written by spark/driver.py
_FLAGS = {"spark.driver.memory": "--driver-memory", "spark.executor.instances": "--max-executors"}


def _die_with_the_jvm() -> None:
    """Without this, a killed JVM leaves the program running."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent == 1 or os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _note_an_orderly_end(note: Path) -> None:
    """A program may choose the exit code of a killed process; that it chose is told by what it leaves here.

    The note holds the code where it is known, and what the program said with it (``sys.exit("no input")``). A program
    that an error ended has chosen nothing: the error may well be that its JVM was gone. Of such an end the note holds
    the error, of which a log can hold megabytes.
    """
    program = os.getpid()
    chosen: list[dict[str, Any]] = []
    exit_by_name, exit_at_once = sys.exit, os._exit

    def write() -> None:
        if os.getpid() == program:
            found: dict[str, Any] = chosen[-1] if chosen else {"exit_code": None}
            with contextlib.suppress(Exception):
                error = getattr(sys, "last_value", None)
                if error is not None:
                    found = {"failure": {"frames": _frames(error), "text": _text(error)}}
            with contextlib.suppress(OSError):
                note.write_text(json.dumps(found), encoding="utf-8")

    def noted_exit(status: Any = None, /) -> Any:
        # An exit value that is no number is printed and becomes 1; a caller may still catch it and go on.
        if status is None or isinstance(status, int):
            chosen[:] = [{"exit_code": (status or 0) & 0xFF}]
        else:
            chosen[:] = [{"exit_code": 1}]
            with contextlib.suppress(Exception):  # its own __str__
                chosen[0]["said"] = _shortened(str(status))
        exit_by_name(status)

    def noted_exit_at_once(status: int) -> Any:
        chosen[:] = [{"exit_code": status & 0xFF}]
        write()
        exit_at_once(status)

    sys.exit = noted_exit
    os._exit = noted_exit_at_once
    # The first to be registered is the last to run.
    atexit.register(write)


def _restore_arguments() -> None:
    """A JVM passes on no argument that is not UTF-8: it came as hexadecimal digits."""
    for at, argument in enumerate(sys.argv):
        if argument.startswith(_BYTES):
            sys.argv[at] = os.fsdecode(bytes.fromhex(argument.removeprefix(_BYTES)))


def _frames(error: BaseException) -> list[str]:
    """The frames of a traceback, the first and the last of a very long one."""
    first = traceback.extract_tb(error.__traceback__, _KEPT_FRAMES)
    last = traceback.extract_tb(error.__traceback__, -2 * _KEPT_FRAMES)
    frames = last if len(last) < 2 * _KEPT_FRAMES else [*first, *last[_KEPT_FRAMES:]]
    return traceback.StackSummary.from_list(frames).format()


def _causes(error: BaseException) -> list[BaseException]:
    """The errors that an error was raised from, the nearest first; of a long chain those, and the first of all."""
    chain: list[BaseException] = []
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return chain if len(chain) <= _KEPT_CAUSES else [*chain[: _KEPT_CAUSES - 1], chain[-1]]


def _text(error: BaseException) -> str:
    text = _shortened("".join(traceback.format_exception_only(error)))
    for cause in _causes(error):
        said = "".join(traceback.format_exception_only(cause))[:_KEPT_OF_A_CAUSE].rstrip()
        last = traceback.extract_tb(cause.__traceback__, -1)
        where = f' (File "{last[0].filename}", line {last[0].lineno}, in {last[0].name})' if last else ""
        text += _writable(f"Caused by: {said}{where}\n")
    return text


def _shortened(text: str) -> str:
    if len(text) > _KEPT_CHARACTERS:
        text = text[: _KEPT_CHARACTERS // 2] + "…" + text[-_KEPT_CHARACTERS // 2 :]
    return _writable(text)


def _writable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _whose() -> str:
    """``program``: the JVM waits for this process; ``child``: the program has started it; ``other``: of another JVM."""
    port = os.environ["PYSPARK_GATEWAY_PORT"]
    pid, _, its_port = os.environ.setdefault(_PROGRAM, f"{os.getpid()}:{port}").partition(":")
    if port != its_port:
        return "other"
    return "program" if pid == str(os.getpid()) else "child"


def _run_the_next_sitecustomize() -> None:
    """Another ``sitecustomize`` further down the path is run as it would have been without us."""
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


class _WhenPysparkIsImported(importlib.abc.MetaPathFinder):
    """Calls a function when the program has imported pyspark, wherever it comes from by then."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._looks = False

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "pyspark" or self._looks:
            return None
        self._looks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looks = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            with contextlib.suppress(ValueError):
                sys.meta_path.remove(self)
            with contextlib.suppress(ImportError):
                self._then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _program_line() -> str:
    """``file:line`` of the nearest caller outside pyspark and outside this hook."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and f"{os.sep}pyspark{os.sep}" not in name and not name.startswith("<"):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "unknown line"


def _replace(name: str, made_of: Callable[[Any], Any]) -> None:
    """Put another method in the place of one of an RDD's that acts."""
    from pyspark.core.rdd import RDD

    original = getattr(RDD, name)
    ours = made_of(original)
    # PySpark names a stage after the first frame in its own files and the line that called it.
    theirs = original.__code__
    ours.__code__ = ours.__code__.replace(
        co_filename=theirs.co_filename, co_name=theirs.co_name, co_firstlineno=theirs.co_firstlineno
    )
    setattr(RDD, name, functools.wraps(original)(ours))


def _mark_writers() -> None:
    """Mark the jobs of ``foreach`` and ``foreachPartition``, which the JVM cannot tell from a ``count()``.

    A local property goes with the jobs of its thread alone, and comes back to what it was. DataFrames use the same two.
    """

    def marked_with(name: str, original: Any) -> Any:
        def marked(self: Any, f: Any) -> None:
            before = self.ctx.getLocalProperty(_WRITES)
            self.ctx.setLocalProperty(_WRITES, name)
            try:
                original(self, f)
            finally:
                # With the JVM gone the program shall see the error of its call, not one of ours.
                with contextlib.suppress(Exception):
                    self.ctx.setLocalProperty(_WRITES, before)

        return marked

    for name in ("foreach", "foreachPartition"):
        _replace(name, functools.partial(marked_with, name))


def _save_once() -> None:
    """Have the driver asked before an RDD is saved: an earlier one may have done it."""

    def saved_once(original: Any) -> Any:
        signature = inspect.signature(original)

        def saved(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                given = signature.bind(self, *args, **kwargs).arguments
                how = {name: value for name, value in given.items() if name not in ("self", "path")}
                call = json.dumps([original.__name__, how], sort_keys=True)
            except (TypeError, ValueError):  # Spark will say what it thinks of such arguments
                original(self, *args, **kwargs)
                return
            driver = self.ctx._jvm.org.yarnspec.write.RecordedOutputCommitter
            path = str(given["path"])
            try:
                if not driver.isThere(self._jrdd, path, call):
                    original(self, *args, **kwargs)
            finally:
                with contextlib.suppress(Exception):
                    driver.leave(path)

        return saved

    for name in ("saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile"):
        _replace(name, saved_once)


def _import_wheels() -> None:
    """Have tasks find modules in wheels that Spark serves or fetches; PySpark's list has ``.egg``, but not ``.whl``."""
    from pyspark.core.context import SparkContext

    SparkContext.PACKAGE_EXTENSIONS = (*SparkContext.PACKAGE_EXTENSIONS, ".whl")


def _pickle_alike() -> None:
    """Pickle the program's functions alike in each driver epoch: else the next one recognizes none of them.

    YARN puts the program's file into another directory on each host, and its path would go into each function; classes
    of the program would get random names, where numbers serve as well.
    """
    from pyspark.cloudpickle import cloudpickle

    def named(path: str) -> str:
        program = getattr(sys.modules["__main__"], "__file__", None)
        return os.path.basename(path) if path == program else path  # noqa: PTH119 - a path as code objects have it

    reduce_code = cloudpickle.Pickler._dispatch_table[types.CodeType]
    new_arguments = cloudpickle.Pickler._function_getnewargs

    def reduced(code: types.CodeType) -> Any:
        return reduce_code(code.replace(co_filename=named(code.co_filename)))

    def arguments_of(self: Any, function: Any) -> Any:
        arguments = new_arguments(self, function)
        its_globals = arguments[1]
        if "__file__" in its_globals:
            its_globals["__file__"] = named(its_globals["__file__"])
        return arguments

    cloudpickle.Pickler._dispatch_table[types.CodeType] = reduced
    cloudpickle.Pickler._function_getnewargs = arguments_of

    numbers: Counter[str] = Counter()

    def tracker_id(class_def: type) -> str:
        with cloudpickle._DYNAMIC_CLASS_TRACKER_LOCK:
            known = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(class_def)
            if known is None:
                name = f"{class_def.__module__}.{class_def.__qualname__}"
                numbers[name] += 1
                known = f"{name}#{numbers[name]}"
                cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS[class_def] = known
                cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID[known] = class_def
        return str(known)

    cloudpickle._get_or_create_tracker_id = tracker_id


def _leave_to_executors(expanded: list[str]) -> None:
    """Keep PySpark from sending these variables to its workers as they were written.

    Each executor has replaced the references in them, and its Python workers inherit that.
    """
    if not expanded:
        return
    from pyspark.core.context import SparkContext

    original = SparkContext._initialize_context

    def initialize(self: Any, jconf: Any) -> Any:
        for name in expanded:
            self.environment.pop(name, None)
        return original(self, jconf)

    SparkContext._initialize_context = initialize


def _show_files(files: list[str]) -> None:
    """Have ``SparkFiles.get(name)`` find shipped files in the driver, as it does in tasks, which YARN has put there."""
    if not files:
        return
    from pyspark.core.context import SparkContext

    original = SparkContext._initialize_context

    def initialize(self: Any, jconf: Any) -> Any:
        context = original(self, jconf)
        there = Path(self._jvm.org.apache.spark.SparkFiles.getRootDirectory())
        for path in map(Path, files):
            with contextlib.suppress(OSError):  # Spark has added one of this name
                (there / path.name).symlink_to(path)
        return context

    SparkContext._initialize_context = initialize


def _instead(key: str, sized: list[str]) -> str:
    return f"; give yours to the submit ({_FLAGS.get(key, '--conf')})" if key in sized else ""


def _set_if_missing(jconf: Any, defaults: dict[str, str]) -> None:
    for key, value in defaults.items():
        if jconf.get(key, None) is None:
            jconf.set(key, value)


def _where_properties_are_set(told: dict[str, Any]) -> dict[str, str]:
    """The line of the program that set each property which it cannot override; filled while the program runs."""
    from pyspark.conf import SparkConf
    from pyspark.sql.session import SparkSession

    watched_keys = {*told["owned"], "spark.master"}
    planned_keys = tuple(told["planned_keys"])
    set_at: dict[str, str] = {}

    def watch(owner: type, name: str, key_of: Any) -> None:
        original = getattr(owner, name)

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A generator of pairs could be read only once.
            args = tuple(list(one) if isinstance(one, Iterator) else one for one in args)
            kwargs = {name: list(one) if isinstance(one, Iterator) else one for name, one in kwargs.items()}
            for key in () if _is_known(sys._getframe(1)) else key_of(*args, **kwargs):
                if key in watched_keys or str(key).startswith(planned_keys):
                    set_at[key] = _program_line()
            return original(self, *args, **kwargs)

        watched.__doc__ = original.__doc__
        watched.__name__ = name
        setattr(owner, name, watched)

    def config_keys(key: Any = None, value: Any = None, *, conf: Any = None, map: Any = None) -> list[Any]:  # noqa: A002, ARG001
        if conf is not None:
            return [name for name, _ in conf.getAll()]
        return list(map) if map is not None else [key]

    watch(SparkConf, "set", lambda key, value: [key])  # noqa: ARG005
    watch(SparkConf, "setAll", lambda pairs: [key for key, _ in pairs])
    watch(SparkConf, "setMaster", lambda value: ["spark.master"])  # noqa: ARG005
    watch(SparkSession.Builder, "master", lambda master: ["spark.master"])  # noqa: ARG005
    watch(SparkSession.Builder, "config", config_keys)
    return set_at


def _is_known(caller: Any) -> bool:
    """Whether pyspark copies what the program only reads (``getConf``), or what it has given to ``setAll``."""
    of_pyspark = caller.f_globals.get("__name__", "").startswith("pyspark.")
    return of_pyspark and caller.f_code.co_name in ("getConf", "setAll")


def _guard(told: dict[str, Any], report: Path) -> None:
    from pyspark.core.context import SparkContext

    owned: dict[str, str] = told["owned"]
    planned_keys = tuple(told["planned_keys"])
    set_at = _where_properties_are_set(told)

    def tell(key: str, value: Any, text: str) -> None:
        # Not to stderr: spark-submit sends a program's stderr the way of its stdout, which is data.
        shown = "hidden" if "secret" in key or key.startswith(planned_keys) else str(value)
        with report.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"key": key, "value": shown, "message": text}) + "\n")

    original = SparkContext._initialize_context

    def initialize(self: Any, jconf: Any) -> Any:
        master = jconf.get("spark.master", "")
        if master != _MASTER:
            where = set_at.get("spark.master") or _program_line()
            message = (
                f"yarnspec: {where} sets the master {master!r}; a program run by yarnspec submit runs on YARN. "
                "Remove it there, or say 'yarn'."
            )
            raise SystemExit(message)
        # Otherwise the marks of _mark_writers could end up in other threads: no job of Python's is above suspicion.
        pinned = os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"
        jconf.set("spark.yarnspec.sharedThreads", "false" if pinned else "true")
        for key, value in owned.items():
            given = jconf.get(key, None)
            if given == value:
                continue
            if given is not None:  # else it was made from nothing, and that is no wish of the program's
                said = f"{set_at.get(key, 'the program')} sets {key}, which yarnspec owns; its own is used"
                tell(key, given, said + _instead(key, told["sized"]))
            jconf.set(key, value)
        _set_if_missing(jconf, told["defaults"])
        for key, where in set_at.items():
            given = jconf.get(key, None)
            if key not in owned and key.startswith(planned_keys) and given not in (None, told["planned"].get(key)):
                text = f"{where} sets {key} too late to have an effect; give it to the submit (--conf)"
                tell(key, given, text)
        return original(self, jconf)

    SparkContext._initialize_context = initialize


def _hold_on_to_pyspark() -> None:
    told = json.loads(Path(os.environ["YARNSPEC_OWNED_KEYS"]).read_text(encoding="utf-8"))
    _leave_to_executors(told["expanded"])
    _show_files(told["files"])
    _import_wheels()
    if told["recovery"]:
        _pickle_alike()
        _save_once()
    _mark_writers()
    _guard(told, Path(os.environ["YARNSPEC_PROGRAM_REPORT"]))


if "PYSPARK_GATEWAY_PORT" in os.environ and "YARNSPEC_OWNED_KEYS" in os.environ:
    _process = _whose()
    if _process == "program":
        _die_with_the_jvm()
        _restore_arguments()
        if "YARNSPEC_PROGRAM_END" in os.environ:
            _note_an_orderly_end(Path(os.environ["YARNSPEC_PROGRAM_END"]))
    if _process != "other":
        sys.meta_path.insert(0, _WhenPysparkIsImported(_hold_on_to_pyspark))
# Last: whatever it does, ours has done its work.
_run_the_next_sitecustomize()
