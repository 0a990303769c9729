"""Options that an admin sets for all users: where the files lie, which one wins, and what a broken one says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from yarnspec.cli.config import command
from yarnspec.cli.simulate import command as simulate
from yarnspec.errors import UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.preparation import read_request
from yarnspec.reference.options import yaml_text
from yarnspec.yarn.hadoop import option_files
from yarnspec.yarn.hadoop.option_files import load_options
from yarnspec.yarn.hadoop.site_files import Property, render_site_file


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for /etc/yarnspec."""
    directory = tmp_path / "etc"
    directory.mkdir()
    monkeypatch.setattr(option_files, "SYSTEM_DIRECTORY", directory)
    return directory


def hold(directory: Path, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "yarnspec.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_place_wins_over_the_ones_before_it(system: Path, tmp_path: Path) -> None:
    """Defaults, the system's file, the Hadoop configuration's, the user's, the environment, --set."""
    first, second = tmp_path / "first", tmp_path / "second"
    environ = {"HADOOP_CONF_DIR": f"{first}:{second}"}
    key = "am.max_attempts"

    def now(config: Path | None = None, *settings: str, **more: str) -> tuple[int, str]:
        loaded = load_options(config, settings, environ | more)
        return loaded.options.am.max_attempts, loaded.origins[key]

    assert now() == (2, "default")
    of_system = hold(system, f"{key}: 3\nhistory.retention: 3 d\n")
    assert now() == (3, f"file {of_system}")
    of_second = hold(second, f"{key}: 4\n")
    assert now() == (4, f"file {of_second}")
    of_first = hold(first, f"{key}: 5\n")
    assert now() == (5, f"file {of_first}")
    own = tmp_path / "own.yaml"
    own.write_text("am:\n  max_attempts: 6\n")
    assert now(own) == (6, f"file {own}")
    assert now(own, YARNSPEC_AM__MAX_ATTEMPTS="7") == (7, "environment")
    assert now(own, f"{key}=8", YARNSPEC_AM__MAX_ATTEMPTS="7") == (8, "flag")
    # What only the lowest one sets holds beside all others.
    assert load_options(own, (), environ).options.history.retention_ms == 3 * 86_400_000


def test_without_files_and_without_a_cluster_nothing_is_missing(system: Path, tmp_path: Path) -> None:
    for environ in ({}, {"HADOOP_CONF_DIR": str(tmp_path / "nowhere")}, {"YARN_CONF_DIR": str(system)}):
        assert set(load_options(None, (), environ).origins.values()) == {"default"}
    system.rmdir()
    assert load_options(None, (), {}).warnings == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: b: c\n", "is not YAML"),
        ("- a\n", "must hold groups of options"),
        ("am:\n  max_atempts: 3\n", "there is no option 'am.max_atempts'. Did you mean 'am.max_attempts'"),
        ("am:\n  max_attempts: [3]\n", "the value of 'am.max_attempts' must be text"),
        ("am:\n  max_attempts: many\n", "option 'am.max_attempts' (file"),
        ("flink.batch.speculative.execution.count: many\n", "option 'flink.batch.speculative.execution.count' (file"),
    ],
)
def test_a_broken_file_is_an_error_that_names_file_and_option(system: Path, text: str, words: str) -> None:
    path = hold(system, text)
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        load_options(None, (), {})
    assert str(path) in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_not_passed_over(system: Path, tmp_path: Path) -> None:
    path = hold(system, "am.max_attempts: 3\n")
    path.chmod(0)
    with pytest.raises(UsageError, match=f"cannot read the configuration file {path}"):
        load_options(None, (), {})
    path.unlink()
    closed = tmp_path / "closed"
    hold(closed, "")
    closed.chmod(0)
    with pytest.raises(UsageError, match=f"cannot read the configuration file {closed}"):
        load_options(None, (), {"HADOOP_CONF_DIR": str(closed)})
    inside = {"HADOOP_CONF_DIR": str(closed / "conf")}
    assert load_options(None, (), inside).warnings == ()
    closed.chmod(0o700)


def test_a_directory_in_the_place_of_the_file_is_an_error(system: Path) -> None:
    (system / "yarnspec.yaml").mkdir()
    with pytest.raises(UsageError, match="cannot read the configuration file"):
        load_options(None, (), {})


def test_no_user_asked_for_a_default_that_the_clusters_file_repeats(system: Path) -> None:
    """Else a stream, which cannot be copied, would be refused for the sake of ``speculation.enabled: true``."""
    hold(system, "speculation.enabled: true\nam.max_attempts: 3\n")
    assert load_options(None, (), {}).asked == {"am.max_attempts"}
    assert load_options(None, ["speculation.enabled=true"], {}).asked == {"speculation.enabled", "am.max_attempts"}
    hold(system, yaml_text())
    assert load_options(None, (), {}).asked == frozenset()
    assert load_options(None, (), {}).warnings == ()


def test_whatever_reads_options_reads_the_clusters_files(
    system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hold(system, "am.max_attempts: 3\n")
    (tmp_path / "core-site.xml").write_bytes(render_site_file([Property("fs.defaultFS", "hdfs://one")]))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    program = tmp_path / "job.py"
    program.touch()
    (line,) = (
        line
        for line in CliRunner().invoke(command, ["show", "--origin"]).stdout.splitlines()
        if line.startswith("am.max_attempts")
    )
    assert line.split(maxsplit=2)[1:] == ["3", f"file {path}"]
    assert Cluster.from_environment().options.am.max_attempts == 3
    assert read_request(SubmitRequest(program=str(program))).loaded.options.am.max_attempts == 3
    # A scenario says by itself which options hold.
    hold(system, "broken")
    assert CliRunner().invoke(command, ["show"]).exit_code != 0
    assert CliRunner().invoke(simulate, ["--help"]).exit_code == 0
