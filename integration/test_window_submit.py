"""yarnspec.window inside a program that `yarnspec submit` runs, on hosts whose Python has no yarnspec."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from integration.conftest import Submit
from integration.local.test_window import check_windows, python_without_yarnspec
from integration.submitting import PROGRAMS


@pytest.mark.one_a_day("whole programs")
def test_windows_in_a_submitted_program(submit: Submit, tmp_path: Path) -> None:
    python = python_without_yarnspec(tmp_path / "venv")
    options = [
        *("--py-files", str(PROGRAMS / "total_of_partition.py")),
        *("--conf", f"spark.pyspark.python={python}"),
        *("--conf", f"spark.pyspark.driver.python={sys.executable}"),
    ]
    (line,) = submit("windows.py", "-", "-", options=options).wait(180).expect(0).lines
    check_windows(line, python)
