"""Which program it is: the same as before, or another one."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from tests.spark.plain_plan import plan
from yarnspec.am.attempt.program_identity import UnknownProgramError, identify
from yarnspec.core.journal.journalrecords import ApplicationRegistered
from yarnspec.plan import Plan, Program


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("app.py", "helper.py", "lib.jar"):
        (tmp_path / name).write_text(name)
    return tmp_path


PROGRAM = Program(primary="app.py", python_files=("helper.py",))


def made(**more: object) -> Plan:
    return plan(**{"driver_python": sys.executable, "program": PROGRAM} | more)


def identified(
    directory: Path, properties: dict[str, str] | None = None, plan_: Plan | None = None
) -> ApplicationRegistered:
    return identify(
        plan_ or made(),
        {"spark.jars": "lib.jar"} if properties is None else properties,
        application_id="application_1_0001",
        directory=directory,
    )


def test_the_same_files_and_arguments_are_the_same_program(directory: Path) -> None:
    first = identified(directory)
    assert first == identified(directory)
    assert first.spark_version.startswith("4.3")
    assert first.python_version.startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")


@pytest.mark.parametrize("name", ["app.py", "helper.py", "lib.jar"])
def test_another_file_is_another_program(directory: Path, name: str) -> None:
    before = identified(directory)
    (directory / name).write_text("changed")
    after = identified(directory)
    assert after.program_digest != before.program_digest
    assert after.arguments_digest == before.arguments_digest


def test_a_jar_that_a_variable_of_the_container_names_is_looked_at(directory: Path) -> None:
    properties = {"spark.jars": "local:${HERE}/lib.jar"}
    with_variable = made(driver_environment={"HERE": str(directory)})
    before = identified(directory, properties, with_variable)
    (directory / "lib.jar").write_text("changed")
    assert identified(directory, properties, with_variable).program_digest != before.program_digest


def test_so_are_another_order_of_files_other_arguments_and_another_environment(directory: Path) -> None:
    before = identified(directory)
    swapped = identified(
        directory, {"spark.jars": "helper.py"}, made(program=Program(primary="app.py", python_files=("lib.jar",)))
    )
    assert swapped.program_digest != before.program_digest
    for other in (
        made(program=msgspec.structs.replace(PROGRAM, arguments=(b"2026-11-21",))),
        made(driver_environment={"DATE": "2026-11-21"}),
    ):
        assert identified(directory, plan_=other).arguments_digest != before.arguments_digest


def test_of_a_directory_of_modules_all_files_count(directory: Path) -> None:
    modules = directory / "modules"
    (modules / "inner").mkdir(parents=True)
    (modules / "inner" / "a.py").write_text("A = 1")
    named = {"spark.submit.pyFiles": f"local:{modules}"}
    before = identified(directory, named)
    assert identified(directory, named) == before
    (modules / "inner" / "a.py").rename(modules / "a.py")
    assert identified(directory, named).program_digest != before.program_digest


def test_a_file_that_cannot_be_looked_at_makes_it_unknown(directory: Path) -> None:
    with pytest.raises(UnknownProgramError, match="https://host/helper"):
        identified(directory, {"spark.submit.pyFiles": "https://host/helper.py"})
    (directory / "app.py").unlink()
    with pytest.raises(UnknownProgramError, match=r"app\.py"):
        identified(directory)


def test_so_does_a_python_that_does_not_answer(directory: Path) -> None:
    with pytest.raises(UnknownProgramError, match="Python"):
        identified(directory, plan_=msgspec.structs.replace(made(), driver_python="/no/such/python"))
