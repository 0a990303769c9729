"""What Skein is told keeps the application alive when executors die, and its environment survives YARN's script."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.errors import UsageError
from yarnspec.yarn.skein.credential import new_credential
from yarnspec.yarn.skein.skein_application import (
    LocalizedFile,
    SkeinApplication,
    SkeinContainer,
    as_document,
    check_environment,
    specification,
)


def application(environment: dict[str, str] | None = None) -> SkeinApplication:
    return SkeinApplication(
        name="count",
        queue="default",
        tags=("a",),
        max_attempts=3,
        master=SkeinContainer(
            memory_mb=1024,
            vcores=1,
            script="exec true",
            files={"yarnspec.jar": LocalizedFile("/tmp/y.jar"), "env": LocalizedFile("hdfs://nn/e.tgz", "ARCHIVE")},
            environment=environment or {},
            label="gpu",
        ),
        executor=SkeinContainer(memory_mb=2048, vcores=2, script="exec sleep 1"),
    )


def test_executors_are_started_on_demand_and_may_fail() -> None:
    spec = specification(application(), new_credential())
    service = spec.services["executor"]
    assert (service.instances, service.max_restarts, service.allow_failures) == (0, 0, True)
    assert (service.resources.memory, service.resources.vcores) == (2048, 2)
    assert spec.max_attempts == 3
    assert spec.to_protobuf().max_attempts == 3


@pytest.mark.parametrize(
    ("file", "scheme", "host", "port", "path"),
    [
        # Of Azure's storage what stands before the '@' is the container.
        ("abfss://box@a.core.windows.net:443/x/app.py", "abfss", "box@a.core.windows.net", 443, "/x/app.py"),
        ("hdfs:///x/app.py", "hdfs", "", 0, "/x/app.py"),
        ("/x/app.py", "file", "", 0, "/x/app.py"),
        ("//x/app.py", "file", "", 0, "/x/app.py"),
    ],
)
def test_where_skein_finds_a_file(file: str, scheme: str, host: str, port: int, path: str) -> None:
    master = msgspec.structs.replace(application().master, files={"app.py": LocalizedFile(file)})
    spec = specification(msgspec.structs.replace(application(), master=master))
    source = spec.to_protobuf().master.files["app.py"].source
    assert (source.scheme, source.host, source.port, source.file) == (scheme, host, port, path)


def test_the_dry_run_shows_everything_but_the_credential() -> None:
    document = as_document(application())
    assert document["master"]["files"]["env"]["type"] == "ARCHIVE"
    assert document["master"]["files"]["yarnspec.jar"]["source"] == "file:///tmp/y.jar"
    assert "security" not in document["master"]
    assert document["tags"] == ["a"]


def test_a_credential_belongs_to_one_application() -> None:
    assert new_credential().key_bytes != new_credential().key_bytes
    assert b"PRIVATE" not in repr(new_credential()).encode()


@pytest.mark.parametrize("value", ['say "x"', "$HOME", "`id`", "a\\b", "two\nlines", "x" * 65536])
def test_values_that_yarn_would_change_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="variable X"):
        specification(application({"X": value}))


def test_names_are_names() -> None:
    with pytest.raises(UsageError, match="not a name"):
        check_environment({"A B": "1"})


@given(st.binary(max_size=2000))
def test_base64_passes(data: bytes) -> None:
    import base64

    check_environment({"X": base64.b64encode(data).decode()})
