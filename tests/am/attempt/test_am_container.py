"""Where the negotiator runs, as YARN's environment tells it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.errors import UsageError
from yarnspec.plan import HADOOP_CONF_JAR_FILE

ENVIRONMENT = {
    "CONTAINER_ID": "container_e17_1700000000000_0042_02_000001",
    "NM_HOST": "127.0.0.3",
    "LOG_DIRS": "/logs/a,/logs/b",
}


def test_what_the_container_id_tells(tmp_path: Path) -> None:
    place = AmContainer.from_environment(ENVIRONMENT, tmp_path)
    assert place.application_id == "application_1700000000000_0042"
    assert place.attempt == 2
    assert place.host == "127.0.0.3"
    assert place.log_directory == Path("/logs/a")
    plain = ENVIRONMENT | {"CONTAINER_ID": "container_1700000000000_0001_01_000001"}
    assert AmContainer.from_environment(plain, tmp_path).attempt == 1


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_elsewhere_it_says_what_is_missing(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=name):
        AmContainer.from_environment({key: value for key, value in ENVIRONMENT.items() if key != name}, tmp_path)


def test_not_a_container_id(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'nonsense'"):
        AmContainer.from_environment(ENVIRONMENT | {"CONTAINER_ID": "nonsense"}, tmp_path)


def test_credentials_go_with_the_files_behind_the_links(tmp_path: Path) -> None:
    cache = tmp_path / "filecache"
    work = tmp_path / "work"
    cache.mkdir()
    work.mkdir()
    for name in (".skein.crt", ".skein.pem"):
        (cache / name).write_text("key")
        (work / name).symlink_to(cache / name)
    place = AmContainer.from_environment(ENVIRONMENT, work)
    place.remove_credentials()
    assert [*cache.iterdir(), *work.iterdir()] == []
    place.remove_credentials()  # and again: nothing there


def test_the_shipped_configuration_as_a_directory(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / HADOOP_CONF_JAR_FILE, "w") as jar:
        jar.writestr("core-site.xml", "<configuration/>")
    directory = AmContainer.from_environment(ENVIRONMENT, tmp_path).unpack_hadoop_configuration()
    assert (directory / "core-site.xml").read_text() == "<configuration/>"
