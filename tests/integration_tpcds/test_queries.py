"""Spark gets the queries in its own words, and whoever lacks them is told why."""

from __future__ import annotations

import runpy
import subprocess
from pathlib import Path
from typing import Any

import pytest

from integration.packages import PackagesError
from integration.tpcds import data, queries

EXCESS = """select sum(x) as "excess discount amount" from t limit 100;\n\n"""


def test_words_are_changed_where_the_list_says_so() -> None:
    texts = queries.spark_texts({32: EXCESS, 33: "select 1;"})
    assert texts == {32: "select sum(x) as `excess discount amount` from t limit 100", 33: "select 1"}


@pytest.mark.parametrize("text", ["select 1", EXCESS + EXCESS])
def test_words_that_are_not_there_once_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"query 32 has \"excess discount amount\" [02] times"):
        queries.spark_texts({32: text})


def test_the_module_for_the_program_has_what_the_program_takes(tmp_path: Path) -> None:
    module = runpy.run_path(str(queries.write_module(tmp_path / "queries.py", {32: EXCESS, 1: "select '\\n\"'"})))
    assert list(module["QUERIES"]) == [32, 1]
    assert module["query_text"](1, 0.05) == "select '\\n\"'"
    assert "date_dim" in module["TABLES"]


def test_nothing_is_kept_and_the_reason_is_told_when_pip_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **_: Any) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="no such host: pypi.org")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(PackagesError, match=r"from PyPI once(?s:.*)no such host"):
        data.tpcds_queries()
    assert list((tmp_path / "yarnspec").iterdir()) == []
