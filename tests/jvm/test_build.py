"""When the jar is built, and where Maven comes from."""

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from yarnspec.errors import UsageError
from yarnspec.jvm import build, jar_path, maven


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A room with one source and a jar, both from the same second."""
    source = tmp_path / "src" / "main" / "java" / "A.java"
    source.parent.mkdir(parents=True)
    for path in (tmp_path / "pom.xml", source, tmp_path / "yarnspec.jar"):
        path.write_text("")
    for path in sorted(tmp_path.rglob("*")):
        os.utime(path, (1000, 1000))
    monkeypatch.setattr(build, "ROOM", tmp_path)
    monkeypatch.setattr(build, "POM", tmp_path / "pom.xml")
    monkeypatch.setattr(build, "JAR", tmp_path / "yarnspec.jar")
    return tmp_path


def test_a_jar_as_new_as_its_sources_is_left_alone(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "maven_command", None)
    assert build.ensure_jar() == room / "yarnspec.jar"


@pytest.mark.parametrize("path", ["pom.xml", "src/main/java/A.java", "src/main/java"])
def test_a_newer_source_or_a_removed_one_makes_the_jar_old(room: Path, path: str) -> None:
    assert build.is_current()
    os.utime(room / path, (2000, 2000))
    assert not build.is_current()


def test_a_build_that_fails_is_an_error(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (room / "yarnspec.jar").unlink()
    monkeypatch.setattr(build, "maven_command", lambda: ["false"])
    with pytest.raises(build.JarNotBuilt, match="exit code 1"):
        build.ensure_jar()

    monkeypatch.setattr(build, "maven_command", lambda: ["true"])
    with pytest.raises(build.JarNotBuilt, match="exit code 0"):
        build.ensure_jar()


def test_tests_that_fail_are_an_error(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.is_dir()
    monkeypatch.setattr(build, "maven_command", lambda: ["false"])
    with pytest.raises(build.JarNotBuilt, match="surefire"):
        build.run_tests()
    monkeypatch.setattr(build, "maven_command", lambda: ["true"])
    build.run_tests()


def test_without_sources_a_missing_jar_cannot_be_built(room: Path) -> None:
    (room / "yarnspec.jar").unlink()
    (room / "pom.xml").unlink()
    with pytest.raises(build.JarNotBuilt, match="reinstall"):
        build.ensure_jar()


def test_a_missing_jar_is_named_with_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("yarnspec.jvm.JAR", tmp_path / "yarnspec.jar")
    with pytest.raises(UsageError, match="make jar"):
        jar_path()


class TestMaven:
    """Where Maven comes from."""

    @pytest.fixture(autouse=True)
    def _nothing_here(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("MVNW_REPOURL", raising=False)

    def repository(self, tmp_path: Path) -> str:
        """Make a repository that holds a Maven of one file; return its address."""
        archive = tmp_path / "repository" / maven._ARCHIVE
        archive.parent.mkdir(parents=True)
        script = b"#!/bin/sh\necho maven\n"
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo(f"apache-maven-{maven.MAVEN_VERSION}/bin/mvn")
            member.size, member.mode = len(script), 0o755
            tar.addfile(member, io.BytesIO(script))
        return f"file://{tmp_path}/repository"

    def test_the_one_on_the_path_is_taken_first(self, tmp_path: Path) -> None:
        mvn = tmp_path / "bin" / "mvn"
        mvn.parent.mkdir()
        mvn.touch(mode=0o755)
        assert maven.maven_command() == [str(mvn)]

    def test_a_repository_is_asked_once_and_its_archive_is_checked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MVNW_REPOURL", self.repository(tmp_path))
        with pytest.raises(maven.MavenMissing, match="SHA-512 differs"):
            maven.maven_command()

        archive = tmp_path / "repository" / maven._ARCHIVE
        monkeypatch.setattr(maven, "MAVEN_SHA512", hashlib.sha512(archive.read_bytes()).hexdigest())
        [command] = maven.maven_command()
        assert os.access(command, os.X_OK)

        archive.unlink()
        assert maven.maven_command() == [command]

    def test_where_it_cannot_be_had_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # No java on PATH either: Ivy cannot run.
        monkeypatch.delenv("JAVA_HOME", raising=False)
        with pytest.raises(maven.MavenMissing, match="apt-get install maven"):
            maven.maven_command()

        monkeypatch.setenv("MVNW_REPOURL", "not-an-address")
        with pytest.raises(maven.MavenMissing, match="not an address"):
            maven.maven_command()
