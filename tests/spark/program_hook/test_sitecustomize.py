"""The hook in the user's program, in a Python of its own: what a program may not change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import yarnspec.spark
from yarnspec.spark.driver import PLANNED

HOOK = Path(yarnspec.spark.__file__).parent / "program_hook"

# As much of pyspark as the hook touches; a test below looks whether the real one still has it.
PYSPARK = {
    "__init__.py": "",
    "conf.py": """
class SparkConf:
    def __init__(self):
        self.values = {}
    def set(self, key, value):
        self.values[key] = value
        return self
    def setAll(self, pairs):
        for key, value in pairs:
            self.set(key, value)
        return self
    def setMaster(self, value):
        return self.set("spark.master", value)
    def setIfMissing(self, key, value):
        return self.set(key, value)
    def getAll(self):
        return list(self.values.items())
    def get(self, key, default=None):
        return self.values.get(key, default)
""",
    "core/__init__.py": "",
    "core/context.py": """
from pyspark.conf import SparkConf
class SparkContext:
    PACKAGE_EXTENSIONS = (".zip", ".egg", ".jar")
    def __init__(self, conf):
        self._initialize_context(conf)
    def getConf(self):
        return SparkConf().setAll([("spark.yarn.x", "as the JVM has it")])
    def _initialize_context(self, jconf):
        import json
        print("RUNS", json.dumps(jconf.values), flush=True)
""",
    "core/rdd.py": """
class RDD:
    def __init__(self, ctx):
        self.ctx = ctx
    def foreach(self, f):
        f(self)
    def foreachPartition(self, f):
        f(self)
""",
    "sql/__init__.py": "",
    "sql/session.py": """
from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
class SparkSession:
    class Builder:
        def __init__(self):
            self.conf = SparkConf()
        def config(self, key=None, value=None, *, conf=None, map=None):
            if conf is not None:
                self.conf.setAll(conf.getAll())
            elif map is not None:
                self.conf.setAll(map.items())
            else:
                self.conf.set(key, value)
            return self
        def master(self, master):
            return self.config("spark.master", master)
        def getOrCreate(self):
            return SparkContext(self.conf)
""",
}
SIZED = {"spark.driver.memory": "2g", "spark.driver.memoryOverhead": "384m", "spark.executor.instances": "4"}
DEFAULTS = {"spark.executor.memory": "2g", "spark.executor.cores": "2"}
OWNED = {"spark.master": "yarn", "spark.driver.host": "127.0.0.3", **SIZED}
PLANNED_VALUES = {"spark.executor.extraClassPath": "/opt/x", "spark.yarn.queue": "q"}


class Program:
    """A program in a directory, run as the driver's JVM runs it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name, text in PYSPARK.items():
            path = directory / "lib" / "pyspark" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        told = {
            "owned": OWNED,
            "sized": list(SIZED),
            "defaults": DEFAULTS,
            "planned": PLANNED_VALUES,
            "planned_keys": PLANNED,
            "expanded": [],
            "files": [],
            "recovery": False,
        }
        (directory / "owned.json").write_text(json.dumps(told))
        self.path = [str(HOOK), str(directory / "lib")]
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYSPARK_GATEWAY_PORT": "1",
            "YARNSPEC_OWNED_KEYS": str(directory / "owned.json"),
            "YARNSPEC_PROGRAM_REPORT": str(directory / "report.jsonl"),
            "YARNSPEC_PROGRAM_END": str(directory / "end.json"),
        }

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        program = self.directory / "app.py"
        program.write_text(text)
        return subprocess.run(
            [sys.executable, str(program)],
            env=self.environment | {"PYTHONPATH": ":".join(self.path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def report(self) -> list[dict[str, str]]:
        path = self.directory / "report.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


IMPORT = "from pyspark.sql.session import SparkSession\nfrom pyspark.conf import SparkConf\n"


def ran_with(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.removeprefix("RUNS "))


def test_a_program_that_says_yarn_runs_as_ours(program: Program) -> None:
    done = program.run(f"{IMPORT}SparkSession.Builder().master('yarn').getOrCreate()\n")
    assert ran_with(done)["spark.master"] == "yarn"
    assert program.report == []


@pytest.mark.parametrize(
    "line",
    [
        "b.master('local[2]')",
        "b.config('spark.master', 'local[2]')",
        "b.config(key='spark.master', value='local[2]')",
        "b.config(map={'spark.master': 'local[2]'})",
        "b.config(conf=SparkConf().setMaster('local[2]'))",
    ],
)
def test_another_master_ends_the_program_and_names_the_line(program: Program, line: str) -> None:
    done = program.run(f"{IMPORT}b = SparkSession.Builder()\nb.config('a', 'b')\n{line}\n\nb.getOrCreate()\n")
    assert done.returncode == 1
    assert f"{program.directory}/app.py:5 sets the master 'local[2]'" in done.stderr
    assert "RUNS" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_key_that_yarnspec_owns_keeps_our_value_and_is_warned_about(program: Program) -> None:
    done = program.run(
        f"{IMPORT}b = SparkSession.Builder().master('yarn').config('mine', '1')\n"
        "b.config('spark.driver.host', 'elsewhere')\nb.getOrCreate()\n"
    )
    found = ran_with(done)
    assert (found["spark.driver.host"], found["mine"]) == ("127.0.0.3", "1")
    (told,) = program.report
    assert (told["key"], told["value"]) == ("spark.driver.host", "elsewhere")
    assert f"{program.directory}/app.py:4 sets spark.driver.host" in told["message"]
    assert told["message"].endswith("its own is used")
    assert done.stderr == ""  # spark-submit would mix it into the stdout that is the data


def test_of_a_size_the_warning_says_where_it_belongs(program: Program) -> None:
    done = program.run(
        f"{IMPORT}b = SparkSession.Builder().master('yarn').config('spark.driver.memory', '4g')\n"
        "b.config('spark.driver.memoryOverhead', '1g').config('spark.executor.instances', '9').getOrCreate()\n"
    )
    assert ran_with(done)["spark.driver.memory"] == "2g"
    said = {line["key"]: line["message"] for line in program.report}
    assert said["spark.driver.memory"].endswith("; give yours to the submit (--driver-memory)")
    assert said["spark.driver.memoryOverhead"].endswith("; give yours to the submit (--conf)")
    assert said["spark.executor.instances"].endswith("; give yours to the submit (--max-executors)")


def test_the_size_of_executors_is_the_programs_to_set(program: Program) -> None:
    done = program.run(
        f"{IMPORT}SparkSession.Builder().master('yarn').config('spark.executor.memory', '4g').getOrCreate()\n"
    )
    found = ran_with(done)
    assert (found["spark.executor.memory"], found["spark.executor.cores"]) == ("4g", "2")
    assert program.report == []


def test_what_the_containers_are_made_of_comes_too_late(program: Program) -> None:
    done = program.run(
        f"{IMPORT}b = SparkSession.Builder().master('yarn')\n"
        "b.config('spark.executorEnv.PASSWORD', 'word')\n"
        "b.config('spark.executor.extraClassPath', '/opt/x')\n"
        "b.config('spark.yarn.queue', 'other')\n"
        "b.conf.setIfMissing('spark.yarn.tags', 't')\n"
        "b.getOrCreate()\n"
    )
    assert ran_with(done)["spark.yarn.queue"] == "other"
    told = {line["key"]: line for line in program.report}
    assert set(told) == {"spark.executorEnv.PASSWORD", "spark.yarn.queue", "spark.yarn.tags"}
    assert f"{program.directory}/app.py:6 sets spark.yarn.queue too late" in told["spark.yarn.queue"]["message"]
    assert "word" not in str(told["spark.executorEnv.PASSWORD"])


def test_what_a_program_only_reads_it_has_not_set(program: Program) -> None:
    done = program.run(
        f"{IMPORT}b = SparkSession.Builder().master('yarn')\n"
        "b.getOrCreate().getConf()\n"
        "b.conf.values['spark.yarn.x'] = 'as the JVM has it'\n"
        "b.getOrCreate()\n"
    )
    assert (done.returncode, program.report) == (0, [])


def test_an_equal_value_is_no_override(program: Program) -> None:
    done = program.run(
        f"{IMPORT}SparkSession.Builder().master('yarn').config('spark.driver.host', '127.0.0.3').getOrCreate()\n"
    )
    assert ran_with(done)["spark.driver.host"] == "127.0.0.3"
    assert (program.report, done.stderr) == ([], "")


def test_a_configuration_made_from_nothing_gets_our_values_without_a_warning(program: Program) -> None:
    done = program.run(f"{IMPORT}SparkSession.Builder().master('yarn').getOrCreate()\n")
    assert ran_with(done)["spark.driver.host"] == "127.0.0.3"
    assert program.report == []


def test_settings_from_a_generator_arrive(program: Program) -> None:
    done = program.run(
        f"{IMPORT}from pyspark.core.context import SparkContext\n"
        "conf = SparkConf().setAll((key, '1') for key in ('mine', 'spark.driver.host')).setMaster('yarn')\n"
        "SparkContext(conf)\n"
    )
    assert ran_with(done)["mine"] == "1"
    assert [told["key"] for told in program.report] == ["spark.driver.host"]


FOREIGN = f"{IMPORT}SparkSession.Builder().master('local[2]').getOrCreate()"


@pytest.mark.parametrize(
    "start",
    [
        "os.execv(sys.executable, [sys.executable, '-c', code])",
        "sys.exit(subprocess.run([sys.executable, '-c', code]).returncode)",
        "pid = os.fork()\nif pid: sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\nexec(code)",
    ],
)
def test_neither_a_fork_nor_an_exec_loses_the_hook(program: Program, start: str) -> None:
    done = program.run(f"import os, subprocess, sys\ncode = {FOREIGN!r}\n{start}\n")
    assert done.returncode == 1
    assert "sets the master 'local[2]'" in done.stderr


def test_only_the_program_s_own_end_is_noted_and_another_jvms_program_is_left_alone(program: Program) -> None:
    done = program.run(
        "import os, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import sys; sys.exit(5)'])\n"
        f"other = os.environ | {{'PYSPARK_GATEWAY_PORT': '2'}}\n"
        f"subprocess.run([sys.executable, '-c', {FOREIGN!r}], env=other)\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'import sys; sys.exit(7)'])\n"
    )
    assert done.returncode == 7
    assert "RUNS" in done.stdout
    assert json.loads((program.directory / "end.json").read_text()) == {"exit_code": 7}


@pytest.mark.parametrize("then", ["", "\nraise ValueError('theirs')", "\nimport pyspark"])
def test_another_sitecustomize_is_run_as_well(program: Program, then: str) -> None:
    (program.directory / "lib" / "sitecustomize.py").write_text(f"import builtins\nbuiltins.MARK = 'theirs'{then}\n")
    done = program.run(f"import sitecustomize; print(sitecustomize.builtins.MARK, flush=True)\n{FOREIGN}\n")
    assert done.stdout == "theirs\n" or "theirs" in then
    assert done.returncode == 1
    if "raise" not in then:
        assert "sets the master 'local[2]'" in done.stderr


def test_a_program_of_its_own_without_a_jvm_is_left_alone(program: Program) -> None:
    del program.environment["PYSPARK_GATEWAY_PORT"]
    done = program.run(f"{IMPORT}SparkSession.Builder().master('local[2]').getOrCreate()\n")
    assert ran_with(done)["spark.master"] == "local[2]"


def test_without_pyspark_the_program_still_runs(program: Program) -> None:
    program.path = [str(HOOK)]
    program.environment["PYTHONNOUSERSITE"] = "1"
    (program.directory / "pyspark.py").write_text("raise ImportError('no pyspark here')\n")
    program.path.append(str(program.directory))
    assert program.run("print('runs')\n").stdout == "runs\n"


def test_the_program_dies_with_its_parent(program: Program) -> None:
    text = (
        "import os, pathlib, signal\n"
        "pathlib.Path('ready').write_text(str(os.getpid()))\n"
        "os.write(int(os.environ['SAY']), b'x')\n"
        "signal.pause()\n"
    )
    (program.directory / "app.py").write_text(text)
    # A parent that starts the program and then dies, as the JVM does when it is killed.
    reads, writes = os.pipe()
    parent = subprocess.Popen(
        [
            sys.executable,
            "-S",
            "-c",
            f"import subprocess, sys\nsubprocess.call([sys.executable, 'app.py'], pass_fds=[{writes}])",
        ],
        cwd=program.directory,
        env=program.environment | {"PYTHONPATH": ":".join(program.path), "SAY": str(writes)},
        pass_fds=[writes],
    )
    os.close(writes)
    assert os.read(reads, 1) == b"x"
    parent.kill()
    parent.wait(10)
    # The pipe's last writer was the program: its end is the pipe's.
    import select

    assert select.select([reads], [], [], 20)[0]
    assert os.read(reads, 1) == b""
    os.close(reads)


def test_the_real_pyspark_still_has_what_the_hook_holds_on_to(program: Program) -> None:
    program.path = [str(HOOK)]
    done = program.run(
        "from pyspark.sql import SparkSession\n"
        "from pyspark.core.context import SparkContext\n"
        "class Conf(dict):\n"
        "    set = dict.__setitem__\n"
        "SparkSession.builder.master('local[4]').config('spark.driver.host', 'x').config(map={'a': 'b'})\n"
        "print(SparkContext._initialize_context.__qualname__)\n"
        "SparkContext._initialize_context(None, Conf({'spark.master': 'local[4]'}))\n"
    )
    assert "_guard" in done.stdout
    assert done.returncode == 1
    assert f"{program.directory}/app.py:5 sets the master 'local[4]'" in done.stderr


# A context that keeps local properties by thread, as Spark does.
CONTEXT = """
import threading
class Context(threading.local):
    def __init__(self):
        self.values = {}
    def getLocalProperty(self, key):
        return self.values.get(key)
    def setLocalProperty(self, key, value):
        self.values[key] = value
    def setCallSite(self, site):
        self.setLocalProperty("site", site)
    _jsc = property(lambda self: self)
KEY = "spark.yarnspec.writes"
"""


def test_spark_takes_wheels_for_what_tasks_import(program: Program) -> None:
    done = program.run("from pyspark.core.context import SparkContext\nprint(*SparkContext.PACKAGE_EXTENSIONS)\n")
    assert done.stdout == ".zip .egg .jar .whl\n"


def test_jobs_that_python_writes_in_are_marked(program: Program) -> None:
    done = program.run(
        f"{CONTEXT}from pyspark.core.rdd import RDD\n"
        "ctx = Context()\n"
        "def say(rdd): print(rdd.ctx.getLocalProperty(KEY))\n"
        "def nest(rdd): RDD(ctx).foreach(say); say(rdd)\n"
        "def fail(rdd): raise ValueError('of the program')\n"
        "RDD(ctx).foreachPartition(nest)\n"
        "try: RDD(ctx).foreach(f=fail)\n"
        "except ValueError as error: print(error)\n"
        "say(RDD(ctx))\n"
    )
    assert done.stdout.splitlines() == ["foreach", "foreachPartition", "of the program", "None"], done.stderr


def test_a_lost_jvm_does_not_hide_the_error_of_the_call(program: Program) -> None:
    done = program.run(
        f"{CONTEXT}from pyspark.core.rdd import RDD\n"
        "ctx = Context()\n"
        "def refuse(key, value): raise ConnectionError('gone')\n"
        "def fail(rdd):\n    ctx.setLocalProperty = refuse\n    raise ValueError('of the program')\n"
        "try: RDD(ctx).foreach(fail)\n"
        "except ValueError as error: print(error)\n"
    )
    assert done.stdout == "of the program\n", done.stderr


def test_the_real_pyspark_writes_are_marked_whatever_another_thread_does(program: Program) -> None:
    """A thread inside of another call keeps PySpark from naming the stage; the mark does not depend on the name."""
    program.path = [str(HOOK)]
    done = program.run(
        f"{CONTEXT}from pyspark.core.rdd import RDD\n"
        "from pyspark.sql.classic.dataframe import DataFrame\n"
        "from pyspark.traceback_utils import SCCallSiteSync\n"
        "class Lazy(RDD):\n"
        "    def __init__(self, ctx): self.ctx = ctx\n"
        "    def __del__(self): pass\n"
        "    def mapPartitions(self, f, preservesPartitioning=False): return self\n"
        "    def count(self):\n"
        "        with SCCallSiteSync(self.ctx):\n"
        "            print(self.ctx.getLocalProperty(KEY), self.ctx.getLocalProperty('site'))\n"
        "class Frame(DataFrame):\n"
        "    __new__ = object.__new__\n"
        "    def __init__(self): pass\n"
        "    rdd = property(lambda self: Lazy(ctx))\n"
        "ctx = Context()\n"
        "with SCCallSiteSync(ctx):\n"
        "    thread = threading.Thread(target=Lazy(ctx).foreachPartition, args=[print])\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "Lazy(ctx).foreach(print)\n"
        "Frame().foreach(print)\n"
        "Frame().foreachPartition(print)\n"
        "print(ctx.getLocalProperty(KEY), ctx.getLocalProperty('site'))\n"
    )
    assert done.returncode == 0, done.stderr
    text = (program.directory / "app.py").read_text().splitlines()
    found = []
    for line in done.stdout.splitlines():
        mark, _, site = line.partition(" ")
        call, _, place = site.partition(f" at {program.directory}/app.py:")
        found.append((mark, call, text[int(place) - 1] if place else None))
    # Where there is a name, it and its line are the program's, as without the hook.
    assert found == [
        ("foreachPartition", "None", None),
        ("foreach", "foreach", "Lazy(ctx).foreach(print)"),
        ("foreach", "foreach", "Frame().foreach(print)"),
        ("foreachPartition", "foreachPartition", "Frame().foreachPartition(print)"),
        ("None", "None", None),
    ]


@pytest.mark.parametrize(("pinned", "shared"), [("false", "true"), ("TRUE", "false")])
def test_python_threads_that_share_those_of_the_jvm_are_told_of(program: Program, pinned: str, shared: str) -> None:
    program.environment["PYSPARK_PIN_THREAD"] = pinned
    done = program.run(f"{IMPORT}SparkSession.Builder().master('yarn').getOrCreate()\n")
    assert ran_with(done).get("spark.yarnspec.sharedThreads") == shared


@pytest.mark.parametrize(
    ("text", "code", "noted"),
    [
        ("import sys; sys.exit(137)", 137, 137),
        ("import sys; sys.exit()", 0, 0),
        ("raise SystemExit(137)", 137, None),
        ("import os; os._exit(143)", 143, 143),
        ("pass", 0, None),
    ],
)
def test_an_orderly_end_is_noted(program: Program, text: str, code: int, noted: int | None) -> None:
    assert program.run(text).returncode == code
    assert json.loads((program.directory / "end.json").read_text()) == {"exit_code": noted}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("'no input'", "no input"),
        ("ValueError('a', 1)", "('a', 1)"),
        ("3.5", "3.5"),
        ("'\\ud800'", "\\ud800"),
    ],
)
def test_the_text_of_an_exit_is_noted(program: Program, status: str, said: str) -> None:
    assert program.run(f"import sys; sys.exit({status})").returncode == 1
    assert json.loads((program.directory / "end.json").read_text()) == {"exit_code": 1, "said": said}


def test_an_exit_whose_text_cannot_be_made_is_noted(program: Program) -> None:
    assert program.run("class E:\n def __str__(self): return 1 / 0\nimport sys; sys.exit(E())").returncode == 1
    assert json.loads((program.directory / "end.json").read_text()) == {"exit_code": 1}


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.kill(os.getpid(), 9)",
        "import os; os.fork() or os._exit(3); os.wait(); os.kill(os.getpid(), 9)",
    ],
)
def test_a_signal_is_no_orderly_end(program: Program, text: str) -> None:
    assert program.run(text).returncode != 0
    assert not (program.directory / "end.json").exists()


@pytest.mark.parametrize(
    ("text", "frame", "said"),
    [
        ("raise ValueError('p' * 3_000_000)", 'app.py", line 1, in <module>', f"ValueError: {'p' * 3_000_000}\n"),
        ("import sys\nsys.excepthook = print\n1 / 0", "line 3", "ZeroDivisionError: division by zero\n"),
        ("def f(): f()\nf()", "line 2", "RecursionError: maximum recursion depth exceeded\n"),
        ("class E(Exception):\n def __str__(self): return 1 / 0\nraise E", "line 3", "E: <exception str() failed>\n"),
        ("raise ValueError('\\ud800')", "line 1", "ValueError: \\ud800\n"),
        ("raise ValueError(1) from ValueError(2)", "line 1", "ValueError: 1\nCaused by: ValueError: 2\n"),
    ],
)
def test_an_error_is_noted_with_its_frames(program: Program, text: str, frame: str, said: str) -> None:
    assert program.run(text).returncode == 1
    failure = json.loads((program.directory / "end.json").read_text())["failure"]
    assert frame in failure["frames"][0]
    assert failure["text"].removeprefix("__main__.") == said
    assert len(failure["frames"]) <= 40


def test_of_a_chain_of_errors_each_is_noted_with_its_line(program: Program) -> None:
    text = "def f(n):\n if n: \n  try: f(n - 1)\n  except ValueError as e: raise ValueError(n) from e\n 1 / n\n"
    assert program.run(f"{text}try: f(0)\nexcept ZeroDivisionError as e: raise KeyError('k') from e").returncode == 1
    failure = json.loads((program.directory / "end.json").read_text())["failure"]
    said = failure["text"].splitlines()
    assert said[0] == "KeyError: 'k'"
    assert said[1].startswith("Caused by: ZeroDivisionError: division by zero (File ")
    assert said[1].endswith('app.py", line 5, in f)')


def test_of_a_program_that_python_cannot_read_the_line_is_noted(program: Program) -> None:
    assert program.run("x = 1\ny = = 2\n").returncode == 1
    failure = json.loads((program.directory / "end.json").read_text())["failure"]
    assert 'app.py", line 2' in failure["text"]


PICKLES = """
import hashlib, json
from pyspark import cloudpickle
from pyspark.serializers import CloudPickleSerializer

FACTOR = 3

class Shape:
    def area(self, side):
        return (lambda each: each * each * FACTOR)(side)

def function(side):
    def inner():
        return Shape().area(side)
    return inner()

data = CloudPickleSerializer().dumps(function)
print(json.dumps([hashlib.sha256(data).hexdigest(), cloudpickle.loads(data)(2)]))
"""


@pytest.mark.parametrize("recovery", [True, False])
def test_functions_are_pickled_alike_wherever_the_program_lies(tmp_path: Path, recovery: bool) -> None:
    """A next driver on another host has to recognize them; without recovery nothing of pyspark is touched."""
    found = []
    for name in ("one", "another"):
        program = Program(tmp_path / name)
        told = json.loads((program.directory / "owned.json").read_text()) | {"recovery": recovery}
        (program.directory / "owned.json").write_text(json.dumps(told))
        program.path = [str(HOOK)]  # and the real pyspark
        done = program.run(PICKLES)
        assert done.returncode == 0, done.stderr
        digest, area = json.loads(done.stdout)
        assert area == 12
        found.append(digest)
    assert (found[0] == found[1]) is recovery


def test_arguments_that_are_not_utf_8_come_as_they_were(program: Program) -> None:
    path = program.directory / "app.py"
    path.write_text("import os, sys; print([os.fsencode(one) for one in sys.argv[1:]])")
    for locale in ("C", "C.UTF-8"):
        told = subprocess.check_output(
            [sys.executable, str(path), "yarnspec-bytes:636166e9", "größe", "yarnspec-byte"],
            env=program.environment | {"PYTHONPATH": ":".join(program.path), "LC_ALL": locale},
            timeout=60,
        )
        assert told.decode().strip() == str([b"caf\xe9", "größe".encode(), b"yarnspec-byte"])


def test_variables_that_executors_have_replaced_are_not_sent_to_workers(program: Program) -> None:
    told = json.loads((program.directory / "owned.json").read_text())
    (program.directory / "owned.json").write_text(json.dumps(told | {"expanded": ["MINE"]}))
    done = program.run(
        "from pyspark.core.context import SparkContext\n"
        "from pyspark.conf import SparkConf\n"
        "SparkContext.environment = {'MINE': '{{PWD}}', 'OTHER': 'x'}\n"
        "context = SparkContext(SparkConf().setMaster('yarn'))\n"
        "import sys; print(context.environment, file=sys.stderr)"
    )
    assert done.stderr.strip() == "{'OTHER': 'x'}"


def test_shipped_files_are_spark_files_in_the_driver_too(program: Program) -> None:
    for name in ("container", "spark"):
        (program.directory / name).mkdir()
    for name in ("container/a.txt", "container/b.txt", "spark/b.txt"):
        (program.directory / name).write_text(name)
    told = json.loads((program.directory / "owned.json").read_text())
    files = [str(program.directory / "container" / name) for name in ("a.txt", "b.txt")]
    (program.directory / "owned.json").write_text(json.dumps(told | {"files": files}))
    done = program.run(
        "from types import SimpleNamespace as N\n"
        "from pyspark.core.context import SparkContext\n"
        "from pyspark.conf import SparkConf\n"
        f"spark_files = N(getRootDirectory=lambda: {str(program.directory / 'spark')!r})\n"
        "SparkContext._jvm = N(org=N(apache=N(spark=N(SparkFiles=spark_files))))\n"
        "SparkContext(SparkConf().setMaster('yarn'))\n"
    )
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_text() for path in (program.directory / "spark").iterdir()}
    assert found == {"a.txt": "container/a.txt", "b.txt": "spark/b.txt"}
