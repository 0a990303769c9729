"""The last words of a program: a few kilobytes with its frames, its exception and both ends of its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from yarnspec.spark.last_words import (
    SHOWN_BYTES,
    ProgramError,
    exception_line,
    last_line,
    last_lines,
    last_traceback,
    of_error,
    without_middle,
)

LOG = """\
26/11/21 03:14:18 INFO DAGScheduler: Job 1 finished
Traceback (most recent call last):
  File "/app/etl.py", line 4, in load
    return int(text)
           ^^^^^^^^^
ValueError: invalid literal for int() with base 10: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/etl.py", line 9, in <module>
    main()
  File "/app/etl.py", line 6, in main
    raise BadInput(f"row 7 of 9") from error
etl.BadInput: row 7 of 9
is not a number
(see the manual)
26/11/21 03:14:18 INFO ShutdownHookManager: Shutdown hook called
26/11/21 03:14:19 INFO more
"""


def wrote(directory: Path, text: str) -> Path:
    path = directory / "log"
    path.write_text(text)
    return path


def test_the_last_of_chained_tracebacks_with_its_whole_message(tmp_path: Path) -> None:
    found = last_traceback(wrote(tmp_path, LOG))
    assert found.splitlines()[0] == "Traceback (most recent call last):"
    assert found.splitlines()[1:3] == ['  File "/app/etl.py", line 9, in <module>', "    main()"]
    assert found.splitlines()[-3:] == ["etl.BadInput: row 7 of 9", "is not a number", "(see the manual)"]
    assert exception_line(found) == "etl.BadInput: row 7 of 9"


def test_javas_stack_is_left_out(tmp_path: Path) -> None:
    found = last_traceback(
        wrote(
            tmp_path,
            "Traceback (most recent call last):\n"
            '  File "/app/etl.py", line 9, in <module>\n'
            "    df.collect()\n"
            "py4j.protocol.Py4JJavaError: An error occurred while calling o37.collect.\n"
            ": org.apache.spark.SparkException: Job aborted due to stage failure\n"
            "\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)\n"
            "\t... 12 more\n",
        )
    )
    assert found.splitlines()[-1] == ": org.apache.spark.SparkException: Job aborted due to stage failure"
    assert exception_line(found) == "org.apache.spark.SparkException: Job aborted due to stage failure"


def test_a_long_traceback_keeps_both_ends_and_its_exception(tmp_path: Path) -> None:
    frames = "".join(f'  File "a.py", line {number}, in f\n    f()\n' for number in range(1000))
    found = last_traceback(wrote(tmp_path, f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n"))
    assert "line 0," in found
    assert "line 999," in found
    assert "(1,960 lines left out)" in found
    assert exception_line(found) == "RecursionError: too deep"
    assert len(found.splitlines()) < 60


def test_logs_without_a_traceback(tmp_path: Path) -> None:
    assert last_traceback(tmp_path / "none") == ""
    assert last_traceback(wrote(tmp_path, "all is well\n")) == ""
    assert last_lines(wrote(tmp_path, "\n".join("abc")), 2) == "b\nc"
    assert (last_line(""), last_line("b\nc\n")) == ("", "c")


MAIN = 'Exception in thread "main" java.lang.'
STACK = "\tat org.yarnspec.driver.ProgramSubmit.main(ProgramSubmit.java:35)\n"


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (
            f":: USE VERBOSE\n{MAIN}RuntimeException: [unresolved dependency: org.example#none;1.0: not found]\n",
            "java.lang.RuntimeException: [unresolved dependency: org.example#none;1.0: not found]",
        ),
        (f"{MAIN}Error: two\nlines\n", "java.lang.Error: two lines"),
        (
            f"{MAIN}Error: no\n{STACK}Caused by: a.B: x\n{STACK}Caused by: a.C: full\n\t... 9 more\n",
            "java.lang.Error: no, caused by a.C: full",
        ),
        (f"{MAIN}Error: a.C: full\n{STACK}Caused by: a.C: full\n", "java.lang.Error: a.C: full"),
    ],
)
def test_of_a_jvm_that_an_error_ended_the_reason_is_that_error(tmp_path: Path, log: str, why: str) -> None:
    said = last_lines(wrote(tmp_path, f"{log}{STACK * 30}26/11/21 03:14:18 INFO ShutdownHookManager: Shutdown\n"))
    assert "ProgramSubmit.java" not in said
    assert last_line(said) == why


HUGE = f"first words {'x' * 3_000_000} last words"
FRAMES = ('  File "/app/etl.py", line 9, in <module>\n    main()\n',)
JAVA = "Py4JJavaError: calling o37\n: SparkException: aborted\n" + "\tat org.Class.method(A.scala:1)\n" * 90_000


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"etl.BadPlan: {HUGE}\n", ["etl.BadPlan: first words", "last words"]),
        ("BadPlan: " + "a line\n" * 400_000 + "last words", ["BadPlan: a line", "last words"]),
        (
            f"{JAVA}Caused by: IOException: disk\n\t... 7 more\n",
            ["Py4JJavaError: calling o37", ": SparkException: aborted", "Caused by: IO"],
        ),
        ("BadPlan: " + "\u20ac" * 1_000_000, ["BadPlan: \u20ac"]),
    ],
)
def test_of_an_error_with_megabytes_of_text_both_ends_are_kept(tmp_path: Path, text: str, kept: list[str]) -> None:
    """From the hook's note and, where there is none, from the log."""
    log = f"{'out ' * 1000}\nTraceback (most recent call last):\n{FRAMES[0]}{text}\n26/11/21 03:14:18 INFO Done\n"
    for found in (of_error(ProgramError(FRAMES, text)), last_traceback(wrote(tmp_path, log))):
        assert len(found.encode()) <= SHOWN_BYTES
        assert found.startswith(f"Traceback (most recent call last):\n{FRAMES[0]}{kept[0][:5]}")
        wanted = kept[:2] if "IO" in kept[-1] and found.endswith("aborted") else kept
        assert [part for part in wanted if part not in found] == []
        assert len(exception_line(found).encode()) <= 600


def test_long_source_lines_and_messages_without_a_traceback_are_shortened(tmp_path: Path) -> None:
    frames = (f'  File "a.py", line 1\n    {HUGE}\n',) * 20
    found = of_error(ProgramError(frames, "SyntaxError: bad"))
    assert len(found.encode()) <= SHOWN_BYTES
    assert found.endswith("\nSyntaxError: bad")
    said = last_lines(wrote(tmp_path, f"{HUGE}\n" * 2))
    assert len(said.encode()) <= SHOWN_BYTES
    assert said.startswith("first words")
    assert said.endswith("last words")


def test_a_text_without_its_middle_says_how_much_is_missing() -> None:
    assert without_middle("short", 10) == "short"
    assert without_middle("0123456789ab", 10) == "01234 … (2 bytes left out) … 789ab"


CLASS = "org.apache.spark.api.python.PythonException: "
BEGINS = "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
FRAMES_OF_TASK = '  File "job.py", line 7, in f\n    return int(row)\n           ^^^^^^^^\n'
ENDS = "\n SQLSTATE: 38000\n\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)\n"
BAD_ROW = f"{CLASS}{BEGINS}{FRAMES_OF_TASK}ValueError: bad row"
WORKER = "pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:\n"
PARSE = f"Traceback (most recent call last):\n{FRAMES_OF_TASK}RuntimeError: parse failed\n"
COUNT = "py4j.protocol.Py4JJavaError: An error occurred while calling o132.count.\n: org.apache.spark.SparkException: "
LOST = "Job aborted due to stage failure: Lost task 1.3 in stage 0.0 (TID 7) (w1 executor 1): "


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{WORKER}{PARSE}", "RuntimeError: parse failed"),
        (
            f"{COUNT}[FAILED_READ_FILE.FILE_NOT_EXIST] no /pq.\nRun REFRESH.\nCaused by: java.io.IOException: gone\n",
            "org.apache.spark.SparkException: [FAILED_READ_FILE.FILE_NOT_EXIST] no /pq.",
        ),
        (f"{COUNT}{LOST}{BAD_ROW}{ENDS}", f"org.apache.spark.SparkException: {LOST}ValueError: bad row"),
        (
            "pyspark.errors.ParseException: \n[PARSE_SYNTAX_ERROR] at 'selct'.\n\n== SQL ==\nselct 1\n^^^\n",
            "pyspark.errors.ParseException: [PARSE_SYNTAX_ERROR] at 'selct'.",
        ),
        (f"etl.LoadError: no\nCaused by: {WORKER}{PARSE}", "etl.LoadError: no"),
        (f"etl.LoadError: a child said:\n{PARSE}", "etl.LoadError: a child said:"),
    ],
)
def test_of_an_error_that_spark_passes_on_the_reason_is_that_error(text: str, why: str) -> None:
    assert exception_line(of_error(ProgramError(FRAMES, text))) == why


def test_the_error_that_the_last_one_came_of_is_kept_whatever_frames_are_left_out() -> None:
    long = f'  File "/{"d" * 400}/a.py", line 5, in deep\n    deep()\n'
    text = (
        f"{WORKER}Traceback (most recent call last):\n{long * 40}ValueError: bad rôw 77: expected int\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        f"Traceback (most recent call last):\n{long * 9}RuntimeError: parse failed\n"
    )
    found = of_error(ProgramError(FRAMES, text))
    assert len(found.encode()) <= SHOWN_BYTES
    lines = [line for line in found.splitlines() if line.strip() and not line.startswith(" ")]
    assert lines == [
        "Traceback (most recent call last):",
        WORKER.rstrip(),
        "Traceback (most recent call last):",
        "ValueError: bad rôw 77: expected int",
        "The above exception was the direct cause of the following exception:",
        "Traceback (most recent call last):",
        "RuntimeError: parse failed",
    ]
