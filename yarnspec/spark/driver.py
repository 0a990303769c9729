"""The driver as a child process of the negotiator: stock spark-submit with our cluster manager on its class path."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from yarnspec.plan import HADOOP_CONF_JAR_FILE, JAR_FILE, OWN_NAMES, PROGRAM_REPORT_FILE, SPARK_JARS_LINK, Plan
from yarnspec.spark.runtime import MASTER, MODULE_OPTIONS, driver_class_path, spark_home

STDOUT_FILE = "driver.stdout"
STDERR_FILE = "driver.stderr"
OWNED_KEYS_FILE = f"{OWN_NAMES}owned-keys.json"
PROGRAM_END_FILE = f"{OWN_NAMES}program-end.json"
_PROGRAM_END = "YARNSPEC_PROGRAM_END"

PLANNED = (
    "spark.yarn.",
    "spark.executorEnv.",
    "spark.executor.extraJavaOptions",
    "spark.executor.defaultJavaOptions",
    "spark.executor.extraClassPath",
    "spark.executor.extraLibraryPath",
)
"""What properties begin with whose values containers are made of: a program that sets them comes too late."""

_CRASH_CODES = frozenset({52, 53, 56, 134, 135, 137, 139, 143})
"""Exit codes by which a JVM or its Python child tells of a signal or of running out of memory: 128 + signal, and
Spark's codes for uncaught errors and OutOfMemoryError. A program may also choose them; then it has left a note."""

# A line of Spark's log, of a Java stack, or what Python prints between two tracebacks.
_AFTER_MESSAGE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d |\t(at |\.\.\. )|Caused by: |Driver stacktrace:")
_SHOWN_FRAME_LINES = 40
_SHOWN_MESSAGE_LINES = 12
_OUT_OF_MEMORY = "# java.lang.OutOfMemoryError"
"""What a JVM prints before it runs the command of ``-XX:OnOutOfMemoryError``."""

_LEFT_OVER_S = 5.0
_LEFT_OVER_PAUSE_S = 0.02


def bridge_file(epoch: int) -> str:
    """The name of the file in which this life of the driver says where it listens (``Announcement``)."""
    return f"{OWN_NAMES}driver-bridge-{epoch}.json"


class ProgramEnd(msgspec.Struct, frozen=True):
    """What the hook in the program notes when Python ends in order; the code where the program named one."""

    exit_code: int | None = None


class DriverExit(msgspec.Struct, frozen=True):
    """How a driver ended: ``crashed`` when another life may go better, else the program's own result.

    ``out_of_memory``: its JVM said so.
    """

    exit_code: int
    crashed: bool
    out_of_memory: bool = False
    traceback: str = ""


class Driver:
    """One life of the driver: its JVM and, below it, the user's Python program.

    Args:
        plan: what to run.
        directory: the AM container's working directory.
        log_directory: where stdout and stderr go.
        properties: Spark's properties (written to a 0600 file by the caller, secrets included).

    ``owned`` are the properties that the program cannot override, ``sized`` the names of those that the submit could
    have been given, ``planned`` those that have been acted on before the program runs (``PLANNED``); set all before
    ``start``.
    """

    def __init__(self, plan: Plan, *, directory: Path, log_directory: Path, properties: Path) -> None:
        self.owned: dict[str, str] = {}
        self.sized: tuple[str, ...] = ()
        self.planned: dict[str, str] = {}
        self._plan = plan
        self._directory = directory
        self._log_directory = log_directory
        self._properties = properties
        self._process: subprocess.Popen[bytes] | None = None
        self._begins: dict[Path, int] = {}

    @property
    def stdout(self) -> Path:
        """The file that holds all the program's standard output so far, that of earlier lives included."""
        return self._log_directory / STDOUT_FILE

    @property
    def stderr(self) -> Path:
        """The file that holds the driver's log and the program's standard error."""
        return self._log_directory / STDERR_FILE

    def command(self) -> list[str]:
        """The JVM's command line: no secret stands in it."""
        plan = self._plan
        if plan.spark_jars is None:
            jars = spark_home() / "jars"
        elif plan.spark_jars == SPARK_JARS_LINK:
            jars = self._directory / SPARK_JARS_LINK
        else:
            jars = Path(plan.spark_jars)
        class_path = [
            *plan.driver_class_path,  # the user's first, as Spark's documentation says
            str(self._directory / JAR_FILE),
            str(self._directory / HADOOP_CONF_JAR_FILE),
            *driver_class_path(jars),
        ]
        java_home = os.environ.get("JAVA_HOME")
        return [
            f"{java_home}/bin/java" if java_home else "java",
            f"-Xmx{plan.driver_heap_mb}m",
            "-XX:OnOutOfMemoryError=kill -9 %p",
            *MODULE_OPTIONS,
            *plan.driver_java_options,
            "-cp",
            ":".join(class_path),
            "org.apache.spark.deploy.SparkSubmit",
            "--master",
            MASTER,
            "--properties-file",
            str(self._properties),
            plan.program.primary,
            *plan.program.arguments,
        ]

    def environment(self) -> dict[str, str]:
        """The driver's environment: the user's variables, Spark's, and the hook in the program's Python."""
        plan = self._plan
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SKEIN_")}
        environment.pop("JDK_JAVA_OPTIONS", None)
        environment.update(plan.driver_environment)
        hook = str(Path(__file__).parent / "program_hook")
        python_path = environment.get("PYTHONPATH")
        environment |= {
            "PYTHONPATH": f"{hook}:{python_path}" if python_path else hook,
            "PYSPARK_PYTHON": plan.worker_python,
            "PYSPARK_DRIVER_PYTHON": plan.driver_python,
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": os.environ["NM_HOST"],
            "SPARK_ENV_LOADED": "1",
            "SPARK_SCALA_VERSION": "2.13",
            "YARNSPEC_OWNED_KEYS": str(self._directory / OWNED_KEYS_FILE),
            "YARNSPEC_PROGRAM_REPORT": str(self._directory / PROGRAM_REPORT_FILE),
            _PROGRAM_END: str(self._directory / PROGRAM_END_FILE),
        }
        # Pickled functions must not differ from one driver epoch to the next.
        environment.setdefault("PYTHONHASHSEED", "0")
        return environment

    def start(self, on_exit: Callable[[DriverExit], None]) -> int:
        """Start the JVM; ``on_exit`` is called once, from a thread of its own. Returns the process id.

        The JVM stays in the AM's process group on purpose: when YARN ends the container, it ends the whole group.
        """
        (self._directory / PROGRAM_END_FILE).unlink(missing_ok=True)
        owned = os.open(self._directory / OWNED_KEYS_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(owned, "wb") as stream:
            told = {
                "owned": self.owned,
                "sized": self.sized,
                "planned": self.planned,
                "planned_keys": PLANNED,
                "recovery": self._plan.options.recovery.enabled,
            }
            stream.write(msgspec.json.encode(told))
        with self.stdout.open("ab") as out, self.stderr.open("ab") as err:
            self._begins = {self.stdout: out.tell(), self.stderr: err.tell()}
            process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment()
            )
        self._process = process

        def wait() -> None:
            code = process.wait()
            on_exit(self._exit(code))

        threading.Thread(target=wait, name="driver-wait", daemon=True).start()
        return process.pid

    def stop(self, grace_s: float = 5.0) -> None:
        """End the JVM and everything below it: in order first, by force after ``grace_s`` seconds."""
        process = self._process
        if process is None:
            return
        family = [process.pid, *_descendants(process.pid)] if process.poll() is None else []
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in family:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            try:
                process.wait(timeout=grace_s)
            except subprocess.TimeoutExpired:
                continue

    def _exit(self, code: int) -> DriverExit:
        crashed = code < 0 or (code in _CRASH_CODES and not self._chosen_by_the_program(code))
        if code == 0:
            return DriverExit(exit_code=0, crashed=False)
        if crashed:
            self._end_left_over()
        memory = crashed and any(_out_of_memory(*log) for log in self._begins.items())
        return DriverExit(exit_code=code, crashed=crashed, out_of_memory=memory, traceback=self._last_words())

    def _end_left_over(self, deadline_s: float = _LEFT_OVER_S) -> None:
        """End what a killed driver left running: the program or what it started must not go on beside the next life."""
        mark = f"{_PROGRAM_END}={self._directory / PROGRAM_END_FILE}".encode()
        until_s = time.monotonic() + deadline_s
        while (left := _processes_with(mark)) and time.monotonic() < until_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_LEFT_OVER_PAUSE_S)

    def _chosen_by_the_program(self, code: int) -> bool:
        try:
            note = (self._directory / PROGRAM_END_FILE).read_bytes()
            return msgspec.json.decode(note, type=ProgramEnd).exit_code in (None, code)
        except (FileNotFoundError, msgspec.DecodeError):
            return False

    def _last_words(self) -> str:
        """The program's traceback: Spark sends its stderr to stdout. Else the end of the driver's own log."""
        logs = self._begins.items()
        said = [last_traceback(*log) for log in logs] + [last_lines(*log) for log in logs]
        return next(filter(None, said), "")


def last_lines(log: Path, begins: int = 0, count: int = 15) -> str:
    """The last lines of a log, none of those before its byte ``begins``."""
    return "\n".join(_tail(log, begins)[-count:])


def last_traceback(log: Path, begins: int = 0) -> str:
    """The last Python traceback in the tail of a log, from its byte ``begins`` on; empty when there is none."""
    lines = _tail(log, begins)
    starts = [number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if not starts:
        return ""
    after = lines[starts[-1] + 1 :]
    frames = list(itertools.takewhile(lambda line: line.startswith(" "), after))
    message = list(itertools.takewhile(lambda line: not _AFTER_MESSAGE.match(line), after[len(frames) :]))
    if len(frames) > _SHOWN_FRAME_LINES:
        half = _SHOWN_FRAME_LINES // 2
        frames = [*frames[:half], f"  ({len(frames) - 2 * half} lines)", *frames[-half:]]
    block = [lines[starts[-1]], *frames, *message[:_SHOWN_MESSAGE_LINES]]
    return "\n".join(block).rstrip()


def exception_line(traceback: str) -> str:
    """The line of a traceback that names the exception; the last line of anything else."""
    lines = traceback.strip().splitlines()
    if not lines:
        return ""
    starts = [number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if not starts:
        return lines[-1]
    return next((line for line in lines[starts[-1] + 1 :] if not line.startswith(" ")), lines[-1])


def _out_of_memory(log: Path, begins: int) -> bool:
    return any(line.startswith(_OUT_OF_MEMORY) for line in _tail(log, begins))


def _tail(log: Path, begins: int, limit_bytes: int = 256 * 1024) -> list[str]:
    """The last lines of a log, none of those before its byte ``begins``."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(begins, log.stat().st_size - limit_bytes))
            return stream.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []


def _processes_with(variable: bytes) -> list[int]:
    """The processes that run, of those we may look at, in whose environment ``NAME=value`` stands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is somebody else's
                if variable in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def _descendants(pid: int) -> list[int]:
    """All processes below ``pid``, from /proc, children before grandchildren."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(0), [])
        found += below
        waiting += below
    return found
