"""The driver as a child process of the negotiator: stock spark-submit with our cluster manager on its class path."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from yarnspec.plan import (
    HADOOP_CONF_DIRECTORY,
    HADOOP_CONF_JAR_FILE,
    JAR_FILE,
    OWN_NAMES,
    PROGRAM_REPORT_FILE,
    SPARK_JARS_LINK,
    USERS_HADOOP_CONF,
    Plan,
)
from yarnspec.spark.last_words import (
    ProgramError,
    exception_line,
    last_line,
    last_lines,
    last_traceback,
    of_error,
    of_exit,
    tail,
)
from yarnspec.spark.log_links import driver_links
from yarnspec.spark.runtime import (
    COMMAND_LINE_MASTER,
    DRIVER_MAIN,
    MODULE_OPTIONS,
    UTF_8_FOR_THE_JVM,
    driver_class_path,
    spark_home,
)
from yarnspec.spark.variables import expand, expand_option, has_references, set_variables

STDOUT_FILE = "driver.stdout"
STDERR_FILE = "driver.stderr"
OWNED_KEYS_FILE = f"{OWN_NAMES}owned-keys.json"
PROGRAM_END_FILE = f"{OWN_NAMES}program-end.json"
_PROGRAM_END = "YARNSPEC_PROGRAM_END"

_EXECUTOR_ENVIRONMENT = "spark.executorEnv."
PLANNED = (
    "spark.yarn.",
    _EXECUTOR_ENVIRONMENT,
    "spark.executor.extraJavaOptions",
    "spark.executor.defaultJavaOptions",
    "spark.executor.extraClassPath",
    "spark.executor.extraLibraryPath",
)
"""How the properties begin that containers are made with: a program that sets them comes too late."""

_SHELL = ("/bin/sh", "-c", f'{UTF_8_FOR_THE_JVM}\nexec "$@"', "driver")
_BYTES = f"{OWN_NAMES}bytes:"
"""An argument that is not UTF-8 passes the JVM as hexadecimal digits after this; the hook in the program undoes it."""

_CRASH_CODES = frozenset({52, 53, 56, 134, 135, 137, 139, 143})
"""Exit codes by which a JVM or its Python child tells of a signal or of running out of memory: 128 + signal, and
Spark's codes for uncaught errors and OutOfMemoryError. A program may also choose them; then it has left a note."""

_OUT_OF_MEMORY = "# java.lang.OutOfMemoryError"
"""The line that a JVM prints before it runs the command of ``-XX:OnOutOfMemoryError``."""

_NO_PROGRAM = 'Cannot run program "{}"'
"""The JVM's words when this host has no such Python."""
_KILLED = frozenset({-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGKILL, 128 + signal.SIGTERM})
"""Exit codes after a signal from outside: the JVM's own, and what it answers when it hit the program's Python."""

_LEFT_OVER_S = 5.0
_LEFT_OVER_PAUSE_S = 0.02


def bridge_file(epoch: int) -> str:
    """The name of the file in which this driver epoch says where it listens (``Announcement``)."""
    return f"{OWN_NAMES}driver-bridge-{epoch}.json"


class ProgramEnd(msgspec.Struct, frozen=True):
    """The hook's note when the program's Python ends: the code that the program named, what it said, or the error."""

    exit_code: int | None = None
    said: str = ""
    failure: ProgramError | None = None


class DriverExit(msgspec.Struct, frozen=True):
    """How a driver ended: ``crashed`` when another epoch may go better, else the program's own result.

    ``out_of_memory``: its JVM said so. ``killed``: somebody outside ended it, by SIGKILL or SIGTERM, and the kernel was
    not short of memory meanwhile. ``traceback``: its last words, whatever they are; ``reason`` is a line of them.
    """

    exit_code: int
    crashed: bool
    out_of_memory: bool = False
    killed: bool = False
    traceback: str = ""
    reason: str = ""


class DriverProcess:
    """The processes of one driver epoch: its JVM and, below it, the user's Python program.

    Args:
        plan: what to run.
        application_id: YARN's, which Java options may refer to.
        directory: the AM container's working directory.
        log_directory: where stdout and stderr go.
        properties: Spark's properties (written to a 0600 file by the caller, secrets included).

    ``owned`` are the properties that the program cannot override. ``sized`` are the names of those that the submit
    could have been given. ``defaults`` are properties that the program may set itself. ``planned`` are those that have
    been acted on before the program runs (``PLANNED``). Set all before ``start``.
    """

    def __init__(
        self, plan: Plan, *, application_id: str, directory: Path, log_directory: Path, properties: Path
    ) -> None:
        self.owned: dict[str, str] = {}
        self.sized: tuple[str, ...] = ()
        self.defaults: dict[str, str] = {}
        self.planned: dict[str, str] = {}
        self._plan = plan
        self._application_id = application_id
        self._directory = directory
        self._log_directory = log_directory
        self._properties = properties
        self._process: subprocess.Popen[bytes] | None = None
        self._begins: dict[Path, int] = {}

    @property
    def stdout(self) -> Path:
        """The file that holds all the program's standard output so far, that of earlier epochs included."""
        return self._log_directory / STDOUT_FILE

    @property
    def stderr(self) -> Path:
        """The file that holds the driver's log and the program's standard error."""
        return self._log_directory / STDERR_FILE

    def command(self, environment: Mapping[str, str]) -> list[str]:
        """The JVM's command line in this environment; no secret stands in it."""
        plan = self._plan
        if plan.spark_jars is None:
            jars = spark_home() / "jars"
        elif plan.spark_jars == SPARK_JARS_LINK:
            jars = self._directory / SPARK_JARS_LINK
        else:
            jars = Path(plan.spark_jars)
        class_path = [
            # The user's first, then the working directory, as in Spark.
            *(expand(entry, environment) for entry in plan.driver_class_path),
            str(self._directory),
            str(self._directory / JAR_FILE),
            str(self._directory / HADOOP_CONF_JAR_FILE),
            *driver_class_path(jars),
        ]
        java_home = environment.get("JAVA_HOME")
        names = {**environment, "APP_ID": self._application_id}  # as Spark promises for Java options
        return [
            f"{java_home}/bin/java" if java_home else "java",
            f"-Xmx{plan.driver_heap_mb}m",
            "-XX:OnOutOfMemoryError=kill -9 %p",
            *MODULE_OPTIONS,
            *(expand_option(option, names) for option in plan.driver_java_options),
            expand_option("-Dspark.yarn.app.container.log.dir=<LOG_DIR>", environment),
            "-cp",
            ":".join(class_path),
            DRIVER_MAIN,
            "--master",
            COMMAND_LINE_MASTER,
            "--deploy-mode",
            "client",
            "--properties-file",
            str(self._properties),
            plan.program.primary,
            *(_as_utf_8(argument) for argument in plan.program.arguments),
        ]

    def environment(self) -> dict[str, str]:
        """The driver's environment: the user's variables, Spark's, and the hook in the program's Python."""
        plan = self._plan
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SKEIN_")}
        environment.pop("JDK_JAVA_OPTIONS", None)
        # For what the program starts, as `yarn` or distcp, which have none of our classes. The JVM reads our jar.
        environment["HADOOP_CONF_DIR"] = str(self._directory / HADOOP_CONF_DIRECTORY / USERS_HADOOP_CONF)
        environment = set_variables(plan.driver_environment, environment)
        environment = set_variables(driver_links(plan, stdout=STDOUT_FILE, stderr=STDERR_FILE), environment)
        environment |= {
            # The JVM puts it first on the program's PYTHONPATH, before Spark's own.
            "YARNSPEC_PROGRAM_HOOK": str(Path(__file__).parent / "program_hook"),
            "PYSPARK_PYTHON": plan.worker_python,
            "PYSPARK_DRIVER_PYTHON": plan.driver_python,
            "SPARK_HOME": str(spark_home()),
            # Spark's pages listen there: on loopback they are reached through Skein's web server only.
            "SPARK_LOCAL_IP": "127.0.0.1" if plan.options.am.page else os.environ["NM_HOST"],
            "SPARK_ENV_LOADED": "1",
            "SPARK_SCALA_VERSION": "2.13",
            "YARNSPEC_OWNED_KEYS": str(self._directory / OWNED_KEYS_FILE),
            "YARNSPEC_PROGRAM_REPORT": str(self._directory / PROGRAM_REPORT_FILE),
            _PROGRAM_END: str(self._directory / PROGRAM_END_FILE),
        }
        # Pickled functions must not differ from one driver epoch to the next.
        environment.setdefault("PYTHONHASHSEED", "0")
        return environment

    def _expands(self, key: str) -> bool:
        return key.startswith(_EXECUTOR_ENVIRONMENT) and has_references(self.planned[key])

    def _give_the_program_its_name(self) -> None:
        """Copy the program to its link: Spark runs what the link leads to, which may be stored under a plainer name."""
        program = self._directory / self._plan.program.primary
        if program.is_symlink() and program.resolve().name != program.name:
            content = program.read_bytes()
            program.unlink()
            program.write_bytes(content)

    def start(self, on_exit: Callable[[DriverExit], None]) -> int:
        """Start the JVM; ``on_exit`` is called once, from a thread of its own. Returns the process id.

        The JVM stays in the AM's process group on purpose: when YARN ends the container, it ends the whole group.
        """
        (self._directory / PROGRAM_END_FILE).unlink(missing_ok=True)
        self._give_the_program_its_name()
        owned = os.open(self._directory / OWNED_KEYS_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(owned, "wb") as stream:
            told = {
                "owned": self.owned,
                "sized": self.sized,
                "defaults": self.defaults,
                "planned": self.planned,
                "planned_keys": PLANNED,
                "expanded": [key.removeprefix(_EXECUTOR_ENVIRONMENT) for key in self.planned if self._expands(key)],
                "files": [str(self._directory / link) for link in self._plan.program.files],
                "recovery": self._plan.options.recovery.enabled,
            }
            stream.write(msgspec.json.encode(told))
        with self.stdout.open("ab") as out, self.stderr.open("ab") as err:
            self._begins = {self.stdout: out.tell(), self.stderr: err.tell()}
            environment = self.environment()
            process = subprocess.Popen(
                [*_SHELL, *self.command(environment)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment
            )
        self._process = process
        short_of_memory = _kernel_ended_for_memory()

        def wait() -> None:
            code = process.wait()
            on_exit(self._exit(code, by_kernel=_kernel_ended_for_memory() > short_of_memory))

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

    def _exit(self, code: int, *, by_kernel: bool) -> DriverExit:
        end = self._program_end()
        crashed = code < 0 or (code in _CRASH_CODES and not _chosen_by_the_program(end, code))
        if code == 0:
            return DriverExit(exit_code=0, crashed=False)
        if crashed:
            self._end_left_over()
        memory = crashed and any(_out_of_memory(*log) for log in self._begins.items())
        killed = crashed and code in _KILLED and not memory and not by_kernel
        words, reason = self._last_words(end, code)
        return DriverExit(
            exit_code=code, crashed=crashed, out_of_memory=memory, killed=killed, traceback=words, reason=reason
        )

    def _end_left_over(self, deadline_s: float = _LEFT_OVER_S) -> None:
        """End what a killed driver left running: nothing that the program started may go on beside the next driver."""
        mark = f"{_PROGRAM_END}={self._directory / PROGRAM_END_FILE}".encode()
        until_s = time.monotonic() + deadline_s
        while (left := _processes_with(mark)) and time.monotonic() < until_s:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_LEFT_OVER_PAUSE_S)

    def _program_end(self) -> ProgramEnd | None:
        try:
            note = (self._directory / PROGRAM_END_FILE).read_bytes()
            return msgspec.json.decode(note, type=ProgramEnd)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _last_words(self, end: ProgramEnd | None, code: int) -> tuple[str, str]:
        """The program's error, and the line of it that says why. Without a note of the error what the logs hold.

        Spark sends the program's stderr to stdout, so that the other log is the JVM's.
        """
        found: list[tuple[str, Callable[[str], str]]]
        logs = self._begins.items()
        out, err = logs
        if end is not None and end.failure is not None:
            found = [(of_error(end.failure), exception_line)]
        elif end is not None:
            # The program ended as it wanted, and may have handled the error of a traceback long before.
            found = [
                (of_exit(end.said) if code == end.exit_code else "", last_line),
                (last_traceback(*out, at_the_end=True), exception_line),
                (last_lines(*out), last_line),
                (last_traceback(*err), exception_line),
                (last_lines(*err), last_line),
            ]
        elif any(_says(*log, _NO_PROGRAM.format(self._plan.driver_python)) for log in logs):
            found = [(self._no_python(), last_line)]
        else:
            found = [*((last_traceback(*log), exception_line) for log in logs)]
            found += [(last_lines(*log), last_line) for log in logs]
        return next(((words, reason(words)) for words, reason in found if words), ("", ""))

    def _no_python(self) -> str:
        return (
            f"The driver's Python, {self._plan.driver_python}, cannot be run on {os.environ['NM_HOST']}, the host "
            "of the driver's container. Name one that is there by --conf spark.pyspark.driver.python or "
            "PYSPARK_DRIVER_PYTHON; without these two, the driver runs the workers' Python (PYSPARK_PYTHON)."
        )


def _chosen_by_the_program(end: ProgramEnd | None, code: int) -> bool:
    return end is not None and end.failure is None and end.exit_code in (None, code)


def _as_utf_8(argument: bytes) -> str:
    try:
        text = argument.decode()
    except UnicodeDecodeError:
        return _BYTES + argument.hex()
    return _BYTES + argument.hex() if text.startswith(_BYTES) else text


def _kernel_ended_for_memory(counters: Path = Path("/proc/vmstat")) -> int:
    """How many processes of this machine the kernel has killed for want of memory; 0 where it does not say."""
    try:
        found = re.search(r"^oom_kill (\d+)$", counters.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _out_of_memory(log: Path, begins: int) -> bool:
    return any(line.startswith(_OUT_OF_MEMORY) for line in tail(log, begins))


def _says(log: Path, begins: int, words: str) -> bool:
    return any(words in line for line in tail(log, begins))


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
