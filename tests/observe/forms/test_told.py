"""Texts of records in few words."""

from __future__ import annotations

import pytest

from yarnspec.observe.forms.told import why_failed

CLASS = "org.apache.spark.api.python.PythonException: "
BEGINS = "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
FRAMES = '  File "job.py", line 7, in f\n    return int(row)\n           ^^^^^^^^\n'
ENDS = "\n SQLSTATE: 38000\n\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:1)\n"
ALSO = "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
BAD_ROW = f"{CLASS}{BEGINS}{FRAMES}ValueError: bad row"


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (f"{BAD_ROW}{ENDS}", "ValueError: bad row"),
        (f"{BAD_ROW}\n of two lines{ENDS}", "ValueError: bad row"),
        (f"{BAD_ROW}{ALSO}{FRAMES}KeyError: 'a'{ENDS}", "KeyError: 'a'"),
        (f"{BAD_ROW}\n{ALSO}{FRAMES} …", "ValueError: bad row"),
        (f"Traceback (most recent call last):\n{FRAMES}MemoryError", "MemoryError"),
        (f"java.io.IOException: it failed\n\tat a.B\nCaused by: {BAD_ROW}{ENDS}\t... 9 more", "ValueError: bad row"),
        (f"TaskKilled (yarnspec: a copy failed: {BAD_ROW}\n SQLSTATE: 38000)",
         "TaskKilled (yarnspec: a copy failed: ValueError: bad row"),
        (f"Job aborted: task 0.0 failed 4 times (w1 executor 1): {BAD_ROW}{ENDS}",
         "Job aborted: task 0.0 failed 4 times (w1 executor 1): ValueError: bad row"),
        ("java.io.IOException: no space left\n\tat a.B.c(B.java:1)\n", "java.io.IOException: no space left"),
        (f"{CLASS}{BEGINS}{FRAMES} …", f"{CLASS}{BEGINS}".rstrip()),
        ("\n", ""),
    ],
)  # fmt: skip
def test_a_failure_in_python_is_told_by_the_line_that_names_it(failure: str, why: str) -> None:
    assert why_failed(failure) == why
