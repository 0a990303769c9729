"""The archives that make daemons start quickly: made once, used from then on, and never in the way."""

from pathlib import Path

import pytest

from yarnspec.minicluster.hadoop.classarchive import ClassArchives

RECORD = ["-XX:+RecordDynamicDumpInfo"]


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    """A Java whose jcmd writes the archive it is asked for, unless the process is number 13."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
    jcmd = home / "bin" / "jcmd"
    jcmd.write_text('#!/bin/sh\n[ "$1" != 13 ] && [ "$2 $3" = "VM.cds dynamic_dump" ] && echo "$1" > "$4"\n')
    jcmd.chmod(0o755)
    return home


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """The directory that holds Hadoop's jars."""
    path = tmp_path / "hadoop" / "jars"
    path.mkdir(parents=True)
    return path


def used(options: list[str]) -> str:
    [option] = options
    return Path(option.removeprefix("-XX:SharedArchiveFile=")).read_text()


def test_an_archive_is_made_once_and_used_from_then_on(jars: Path, java_home: Path) -> None:
    archives = ClassArchives(jars, java_home)
    assert archives.options("namenode") == RECORD

    archives.make_missing({"namenode": 1, "datanode": 2})
    archives.make_missing({"namenode": 3, "datanode": 4})

    assert used(archives.options("namenode")) == "1\n"
    assert used(archives.options("datanode")) == "2\n"
    assert archives.options("nodemanager") == RECORD


def test_another_java_has_archives_of_its_own(jars: Path, java_home: Path) -> None:
    ClassArchives(jars, java_home).make_missing({"namenode": 1})
    (java_home / "release").write_text('JAVA_VERSION="17.0.2"\n')

    assert ClassArchives(jars, java_home).options("namenode") == RECORD


def test_an_archive_that_cannot_be_made_leaves_nothing_behind(jars: Path, java_home: Path) -> None:
    archives = ClassArchives(jars, java_home)
    archives.make_missing({"namenode": 13})

    assert archives.options("namenode") == RECORD
    assert list(jars.parent.glob("classes-*/*")) == []


def test_a_java_without_jcmd_goes_without(jars: Path, java_home: Path) -> None:
    (java_home / "bin" / "jcmd").unlink()
    archives = ClassArchives(jars, java_home)
    archives.make_missing({"namenode": 1})

    assert archives.options("namenode") == []
