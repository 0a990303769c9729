"""The driver's properties: what the AM adds, and a file that Java reads back as it was written."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from yarnspec.spark import properties


def java_load(text: str) -> dict[str, str]:
    """``java.util.Properties.load``, written after its documentation."""
    found = {}
    lines: list[str] = []
    begun = ""
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun += line[:-1]
            continue
        lines.append(begun + line)
        begun = ""
    for line in lines:
        end = 0
        while end < len(line) and line[end] not in "=: \t\f":
            end += 2 if line[end] == "\\" else 1
        rest = line[end:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        found[java_unescape(line[:end])] = java_unescape(rest)
    return found


def java_unescape(text: str) -> str:
    plain = []
    letters = iter(text)
    for letter in letters:
        if letter != "\\":
            plain.append(letter)
            continue
        escaped = next(letters, "")
        if escaped == "u":
            plain.append(chr(int("".join(next(letters) for _ in range(4)), 16)))
        else:
            plain.append({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(escaped, escaped))
    return "".join(plain)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NASTY = st.text(st.sampled_from("\\=: #!\n\r\t\fu0a "), max_size=8)


@given(st.dictionaries(TEXT | NASTY, TEXT | NASTY, max_size=5))
def test_java_reads_back_what_was_written(given_properties: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "spark.properties"
        properties.write(path, given_properties)
        with path.open(encoding="utf-8", newline="") as file:
            assert java_load(file.read()) == given_properties


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    path = tmp_path / "spark.properties"
    properties.write(path, {"spark.authenticate.secret": "s"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def complete(shipped: dict[str, str], *, secret: bool = True) -> dict[str, str]:
    return properties.complete(
        shipped,
        application_id="application_1_0001",
        epoch=2,
        host="127.0.0.3",
        driver_port=4711,
        executors=5,
        awaits_negotiator=True,
        directory=Path("/work"),
        secret="s3cret" if secret else None,
    )


def test_what_only_the_am_knows() -> None:
    found = complete({"spark.sql.shuffle.partitions": "7", "spark.driver.host": "elsewhere", "spark.master": "local"})
    assert found["spark.sql.shuffle.partitions"] == "7"
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.3"
    assert found["spark.driver.port"] == "4711"
    assert (found["spark.master"], found["spark.submit.deployMode"]) == ("yarn", "client")
    wanted = complete({"spark.yarnspec.deployMode": "cluster"})
    assert wanted["spark.submit.deployMode"] == "cluster", "programs see the mode of their command line"
    assert found["spark.yarnspec.start.awaitsNegotiator"] == "true"
    # Until the hook in the program's Python takes it back.
    assert found["spark.yarnspec.sharedThreads"] == "true"
    assert found["spark.plugins.defaultList"] == properties.MASTER_GUARD
    theirs = complete({"spark.plugins.defaultList": "org.example.Theirs"})
    assert theirs["spark.plugins.defaultList"] == f"{properties.MASTER_GUARD},org.example.Theirs"
    assert found["spark.ui.proxyBase"] == "/proxy/application_1_0001"
    assert found["spark.yarnspec.epoch"] == "2"
    assert found["spark.yarnspec.executors"] == "5"
    assert (found["spark.authenticate"], found["spark.authenticate.secret"]) == ("true", "s3cret")


def test_each_driver_has_a_tree_of_its_own_for_uncommitted_output() -> None:
    found = complete({"spark.hadoop.mapreduce.job.application.attempt.id": "0"})
    assert found["spark.hadoop.mapreduce.job.application.attempt.id"] == found["spark.yarnspec.epoch"]


def test_the_users_port_for_sparks_page_stays() -> None:
    assert complete({})["spark.ui.port"] == "0"
    assert complete({"spark.ui.port": "4040"})["spark.ui.port"] == "4040"


def test_without_a_secret_there_is_no_authentication() -> None:
    assert not [key for key in complete({}, secret=False) if "authenticate" in key]


def test_a_free_port_can_be_bound() -> None:
    import socket

    port = properties.free_port("127.0.0.1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))


def test_what_keeps_a_driver_from_being_recovered() -> None:
    assert properties.recovery_off({}) == ""
    assert properties.recovery_off({"spark.shuffle.manager": "sort", "spark.io.encryption.enabled": "false"}) == ""
    assert "spark.io.encryption.enabled" in properties.recovery_off({"spark.io.encryption.enabled": "TRUE"})
    assert properties.recovery_off({"spark.shuffle.service.enabled": "true"}) == ""
    cached = "spark.shuffle.service.fetch.rdd.enabled"
    assert cached in properties.recovery_off({cached: "true"})
    plugin = "spark.shuffle.sort.io.plugin.class"
    assert plugin in properties.recovery_off({plugin: "com.example.Remote"})
    assert "com.example.Mine" in properties.recovery_off({"spark.shuffle.manager": "com.example.Mine"})


def test_what_a_driver_is_told_of_earlier_ones(tmp_path: Path) -> None:
    first = properties.recovery_keys(saved=None, window_ms=30_000, verify_checksums=True, keep_bytes=7)
    assert "spark.yarnspec.saved" not in first
    assert first["spark.yarnspec.recovery.window_ms"] == "30000"
    second = properties.recovery_keys(saved=tmp_path / "saved", window_ms=5, verify_checksums=False, keep_bytes=8)
    assert second["spark.yarnspec.saved"] == str(tmp_path / "saved")
    assert second["spark.yarnspec.recovery.verify_checksums"] == "false"
    assert second["spark.yarnspec.recovery.keep_bytes"] == "8"


def test_a_local_jar_may_be_named_by_the_containers_variables() -> None:
    given = "a.jar,local:${PARENT}/{{FILENAME}},local:/opt/$NONE.jar,hdfs://nn/$PARENT.jar"
    assert properties.local_jars(given, {"PARENT": "/lib", "FILENAME": "x.jar"}) == (
        "a.jar,local:/lib/x.jar,local:/opt/.jar,hdfs://nn/$PARENT.jar"
    )


def test_where_the_history_server_shows_it() -> None:
    assert properties.history_page({}, "application_1_0001") is None
    for address in ("history:18080", "http://history:18080/"):
        found = properties.history_page({"spark.yarn.historyServer.address": address}, "application_1_0001")
        assert found == "http://history:18080/history/application_1_0001/"
