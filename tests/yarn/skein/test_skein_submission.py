"""What Hadoop says when a submission fails becomes an error of the right kind."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import yarnspec.jvm
from tests.yarn.skein.test_skein_application import application
from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError, YarnspecError
from yarnspec.yarn.skein.client_driver import java_command
from yarnspec.yarn.skein.skein_application import LocalizedFile, specification
from yarnspec.yarn.skein.skein_submission import (
    AmHost,
    RolledLogs,
    SubmissionHook,
    check_local_files,
    explained,
    patience,
    told_by_hadoop,
    with_plain_sources,
)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            "Failed to submit application, exception:\nFailed to submit application_1_0001 to YARN : "
            "Application application_1_0001 submitted by user ada to unknown queue: nowhere",
            NotFound,
        ),
        (
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=ada",
            NotAllowed,
        ),
        ("User ada does not have permission to submit application_1_0001 to queue x", NotAllowed),
        ("User: ada is not allowed to impersonate bob", NotAllowed),
        (
            "Call From here/127.0.0.1 to localhost:8032 failed on connection exception: java.net.ConnectException",
            ClusterUnreachable,
        ),
        ("Invalid resource request! Cannot allocate containers as requested resource is greater", UsageError),
        ("java.io.FileNotFoundException: File file:/x does not exist", UsageError),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "abc"', UsageError),
        ("java.lang.IllegalArgumentException: Wrong FS: file://a/b, expected: file:///", UsageError),
        ("something new", ClusterUnreachable),
    ],
)
def test_failures_are_told_apart(said: str, error: type[YarnspecError]) -> None:
    assert type(explained(said, "the log")) is error


def test_an_unknown_failure_shows_the_drivers_log() -> None:
    assert "the log" in explained("something new", "the log").message


def test_stacks_and_class_names_are_not_told() -> None:
    said = (
        "Failed to submit application, exception:\norg.apache.hadoop.yarn.exceptions.YarnException: "
        "no room\n\tat org.apache.X.y(X.java:1)\n"
    )
    assert told_by_hadoop(said) == "no room."


def test_the_hook_reads_every_field_that_is_written_for_it() -> None:
    source = next(Path(yarnspec.jvm.__file__).parent.glob("src/main/java/**/SubmissionRewriter.java")).read_text()
    read = set(re.findall(r'"([a-z_]+)"', source))
    hook = SubmissionHook(
        all_hosts=(AmHost("h", "/r"),), am_excluded_hosts=("h",), log_aggregation=RolledLogs(".*out", ".*gz")
    )
    document = msgspec.json.decode(msgspec.json.encode(hook))
    assert document["application_type"] == "yarnspec"
    assert document["all_hosts"] == [{"host": "h", "rack": "/r"}]
    assert document["log_aggregation"] == {"rolled_include": ".*out", "rolled_exclude": ".*gz"}
    assert set(document) | set(document["log_aggregation"]) <= read


def test_missing_local_files_are_found_before_anything_starts(tmp_path: Path) -> None:
    app = application()
    jar = tmp_path / "y.jar"
    files = {"yarnspec.jar": msgspec.structs.replace(app.master.files["yarnspec.jar"], source=str(jar))}
    app = msgspec.structs.replace(app, master=msgspec.structs.replace(app.master, files=files))
    with pytest.raises(UsageError, match="There is no file"):
        check_local_files(app)
    jar.write_bytes(b"")
    check_local_files(app)


def test_files_with_other_letters_get_plain_links(tmp_path: Path) -> None:
    app = application()
    odd = tmp_path / "día de: hoy" / "número (v2).tar.gz"
    odd.parent.mkdir()
    odd.write_text("content")
    files = {"kept": LocalizedFile(str(odd), "ARCHIVE"), "far": LocalizedFile("hdfs://NN/á b?c#d")}
    container = msgspec.structs.replace(app.master, files=files)
    plain = with_plain_sources(msgspec.structs.replace(app, master=container, executor=container), tmp_path / "links")
    link = plain.master.files["kept"]
    assert Path(link.source).read_text() == "content"
    assert re.fullmatch(r"[\w/.+-]+/n_mero__v2_\.tar\.gz", link.source)
    assert link.kind == "ARCHIVE"
    assert plain.executor.files == plain.master.files
    # A URL reaches Skein's JVM whole.
    url = specification(plain).master.files["far"].to_protobuf().source
    assert (url.scheme, url.host, url.file) == ("hdfs", "NN", "/á b?c#d")


def test_hadoops_client_gives_up_within_the_deadline() -> None:
    settings = patience(30)
    assert int(settings["yarn.resourcemanager.connect.max-wait.ms"]) < 30_000
    assert settings["ipc.client.connect.max.retries"] == "0"


def test_java_is_java_homes_or_the_one_on_path(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="JAVA_HOME is"):
        java_command({"JAVA_HOME": str(tmp_path)})
    with pytest.raises(UsageError, match="install a JDK 17"):
        java_command({"PATH": str(tmp_path)})
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    assert java_command({"PATH": str(tmp_path)}) == str(program)
