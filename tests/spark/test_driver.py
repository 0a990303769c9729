"""The driver's process: its command line, its environment, and how it ended."""

from __future__ import annotations

import json
import os
import select
import threading
from pathlib import Path

import pytest

from tests.spark.plain_plan import plan
from yarnspec.plan import JAR_FILE, SPARK_JARS_LINK, Program
from yarnspec.spark import driver as driver_module
from yarnspec.spark.driver import (
    OWNED_KEYS_FILE,
    PROGRAM_END_FILE,
    DriverExit,
    DriverProcess,
)


class Container:
    """An AM container with a ``java`` that does what a test says."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self.program: dict[str, Program] = {}
        self.java = directory / "jdk" / "bin" / "java"
        self.java.parent.mkdir(parents=True)
        jars = directory / "spark" / "jars"
        jars.mkdir(parents=True)
        for name in ("spark-core_2.13-4.3.0.jar", "spark-yarn_2.13-4.3.0.jar"):
            (jars / name).write_text("")
        monkeypatch.setattr(driver_module, "spark_home", lambda: directory / "spark")
        monkeypatch.setenv("JAVA_HOME", str(directory / "jdk"))
        monkeypatch.setenv("NM_HOST", "127.0.0.3")
        monkeypatch.setenv("SKEIN_APPMASTER_ADDRESS", "127.0.0.3:1")
        monkeypatch.setenv("JDK_JAVA_OPTIONS", "--add-opens=x")

    def driver(self, **more: object) -> DriverProcess:
        return DriverProcess(
            plan(**more),
            application_id="application_1_0001",
            directory=self.directory,
            log_directory=self.directory,
            properties=self.directory / "spark.properties",
        )

    def run(self, script: str) -> DriverExit:
        self.java.write_text(f"#!/bin/bash\n{script}\n")
        self.java.chmod(0o755)
        ended = threading.Event()
        exits: list[DriverExit] = []

        def on_exit(how: DriverExit) -> None:
            exits.append(how)
            ended.set()

        self.driver(**self.program).start(on_exit)
        assert ended.wait(20)
        return exits[0]


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Container:
    return Container(tmp_path, monkeypatch)


def test_the_command_is_spark_submits(container: Container) -> None:
    driver = container.driver(driver_java_options=("-Dmine=1",), driver_class_path=("/opt/extra",))
    command = driver.command(driver.environment())
    assert command[0] == str(container.java)
    assert "-Xmx1024m" in command
    assert "-Dmine=1" in command
    class_path = command[command.index("-cp") + 1].split(":")
    assert class_path[:3] == ["/opt/extra", str(container.directory), str(container.directory / JAR_FILE)]
    assert any("spark-core" in entry for entry in class_path)
    assert not any("spark-yarn" in entry for entry in class_path)
    assert command[command.index("org.yarnspec.driver.ProgramSubmit") + 1 :] == [
        *["--master", "local-yarnspec", "--deploy-mode", "client"],
        *["--properties-file", str(container.directory / "spark.properties")],
        *["app.py", "2026-11-20"],
    ]


def test_no_secret_stands_in_the_command_line_or_the_environment(container: Container) -> None:
    (container.directory / "spark.properties").write_text("spark.authenticate.secret=s3cret")
    driver = container.driver()
    assert "s3cret" not in " ".join([*driver.command(driver.environment()), *driver.environment().values()])
    assert not [name for name in driver.environment() if name.startswith("SKEIN_")]


def test_sparks_jars_from_an_archive_or_a_directory_of_the_hosts(container: Container) -> None:
    for location, directory in ((SPARK_JARS_LINK, container.directory / SPARK_JARS_LINK), ("/opt/jars", None)):
        if directory is not None:
            directory.mkdir()
            (directory / "spark-core_2.13-4.3.0.jar").write_text("")
        driver = container.driver(spark_jars=location)
        command = driver.command(driver.environment())
        class_path = command[command.index("-cp") + 1]
        assert str(container.directory / "spark" / "jars") not in class_path
        assert directory is None or f"{directory}/spark-core" in class_path


def test_the_environment_of_the_program(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/ours")
    found = container.driver(
        driver_environment={"STAGE": "test", "SPARK_USER": "other"}, driver_python="/d", worker_python="/w"
    ).environment()
    assert found["SPARK_USER"] == "other"
    assert (found["STAGE"], found["PYSPARK_DRIVER_PYTHON"], found["PYSPARK_PYTHON"]) == ("test", "/d", "/w")
    assert (Path(found["YARNSPEC_PROGRAM_HOOK"]) / "sitecustomize.py").is_file()
    assert found["PYTHONPATH"] == "/mine"  # The JVM puts the hook before it (ProgramSubmit.java).
    assert found["SPARK_LOCAL_IP"] == "127.0.0.1"  # Spark's pages are behind YARN's proxy.
    assert found["PYTHONHASHSEED"] == "0"
    assert "/me/driver.stderr" in found["SPARK_DRIVER_LOG_URL_STDERR"]
    assert "JDK_JAVA_OPTIONS" not in found
    assert found["HADOOP_CONF_DIR"] == f"{container.directory}/yarnspec-hadoop-conf/users"
    other = container.driver(driver_environment={"PYTHONHASHSEED": "7", "HADOOP_CONF_DIR": "/theirs"}).environment()
    assert (other["PYTHONHASHSEED"], other["HADOOP_CONF_DIR"]) == ("7", "/theirs")


def test_references_to_the_containers_variables_are_replaced(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PWD", "/container")
    monkeypatch.setenv("MINE", "outer")
    mine = {
        "PYTHONPATH": "{{PWD}}/a.zip<CPS>${PWD}/b.zip:$NOT_SET",
        "FIRST": "$SECOND",
        "SECOND": "{{MINE}}",
        "MINE": "$MINE+{{ other }}}}",
        "LITERAL": r"pa\$word \"q\" $1 $(date) `date` ${A:-b} $",
        "JAVA_HOME": "{{PWD}}/jdk",
    }
    monkeypatch.setenv("LOG_DIRS", "/logs/1,/logs/2")
    options = ("-Xlog:gc*:file=<LOG_DIR>/gc-{{APP_ID}}.log", "-Da={{PWD}}$PWD")
    driver = container.driver(
        driver_environment=mine, driver_class_path=("$PWD/x<CPS>/$(y)",), driver_java_options=options
    )
    found = driver.environment()
    assert found["PYTHONPATH"] == "/container/a.zip:/container/b.zip:"
    assert found["FIRST"] == found["SECOND"] == found["MINE"] == "outer+{{ other }}}}"
    assert found["LITERAL"] == 'pa$word "q" $1 $(date) `date` ${A:-b} $'
    command = driver.command(found)
    assert command[0] == "/container/jdk/bin/java"
    assert command[command.index("-cp") + 1].startswith("/container/x:/$(y):")
    assert "-Xlog:gc*:file=/logs/1/gc-application_1_0001.log" in command
    assert "-Da=/container$PWD" in command
    assert "-Dspark.yarn.app.container.log.dir=/logs/1" in command


@pytest.mark.parametrize("given", [{"LC_ALL": "C"}, {"LANG": "POSIX"}, {"LANG": "C.UTF-8"}])
def test_arguments_that_are_utf_8_pass_as_they_are(
    container: Container, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for_no_shell = r"""${arg.2} "arg3" 'arg4' $arg5 \arg6"""
    arguments = (*("größe=3".encode(), b"caf\xe9", b"yarnspec-bytes:00"), for_no_shell.encode(), b"")
    container.program = {"program": Program(primary="número.py", arguments=arguments)}
    container.run('locale charmap; printf "%s\\n" "${@: -6}"')
    assert (container.directory / "driver.stdout").read_text().splitlines() == [
        *[
            "UTF-8",
            "número.py",
            "größe=3",
            "yarnspec-bytes:636166e9",
            f"yarnspec-bytes:{b'yarnspec-bytes:00'.hex()}",
            for_no_shell,
            "",
        ]
    ]


def test_a_program_that_ends_well(container: Container) -> None:
    assert container.run("echo result") == DriverExit(exit_code=0, crashed=False)
    assert (container.directory / "driver.stdout").read_text() == "result\n"
    told = json.loads((container.directory / OWNED_KEYS_FILE).read_text())
    assert (told["owned"], told["planned"]) == ({}, {})


@pytest.mark.parametrize("code", [1, 2, 42])
def test_a_program_that_fails_is_final(container: Container, code: int) -> None:
    how = container.run(f"echo working; echo 'Traceback (most recent call last):'; echo 'ValueError: no'; exit {code}")
    assert how == DriverExit(
        exit_code=code,
        crashed=False,
        traceback="Traceback (most recent call last):\nValueError: no",
        reason="ValueError: no",
    )


@pytest.mark.parametrize(("script", "code"), [("exit 137", 137), ("exit 143", 143), ("exit 52", 52)])
def test_a_signal_or_no_memory_is_a_crash(container: Container, script: str, code: int) -> None:
    how = container.run(script)
    assert (how.exit_code, how.crashed) == (code, True)


@pytest.mark.parametrize("note", ['{"exit_code": 137}', '{"exit_code": null}'])
def test_a_code_that_the_program_chose_is_no_crash(container: Container, note: str) -> None:
    how = container.run(f"echo '{note}' > $YARNSPEC_PROGRAM_END; exit 137")
    assert (how.exit_code, how.crashed) == (137, False)


def test_the_error_that_the_hook_noted_is_told_whatever_the_logs_hold(container: Container) -> None:
    note = '{"failure": {"frames": ["  File a.py, line 3\\n"], "text": "ValueError: no\\n"}}'
    how = container.run(f"echo '{note}' > $YARNSPEC_PROGRAM_END; echo 'Traceback (most recent call last):'; exit 1")
    assert how == DriverExit(
        exit_code=1,
        crashed=False,
        traceback="Traceback (most recent call last):\n  File a.py, line 3\nValueError: no",
        reason="ValueError: no",
    )
    assert container.run(f"echo '{note}' > $YARNSPEC_PROGRAM_END; exit 137").crashed


def test_a_jvm_that_crashes_after_the_program_is_a_crash(container: Container) -> None:
    note = "echo '{\"exit_code\": 0}' > $YARNSPEC_PROGRAM_END"
    assert container.run(f"{note}; exit 52").crashed
    assert container.run(f"{note}; ulimit -c 0; kill -9 $$").crashed


def test_the_note_of_an_earlier_life_does_not_count(container: Container) -> None:
    (container.directory / PROGRAM_END_FILE).write_text('{"exit_code": 137}')
    assert container.run("exit 137").crashed


@pytest.mark.parametrize("number", [9, 15, 11])
def test_a_jvm_killed_by_a_signal_is_a_crash(container: Container, number: int) -> None:
    how = container.run(f"ulimit -c 0; kill -{number} $$")
    assert how.crashed
    assert abs(how.exit_code) in {number, 128 + number}
    assert how.killed is (number != 11)


def test_what_the_kernel_ends_for_want_of_memory_nobody_outside_ended(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([4, 5])
    monkeypatch.setattr("yarnspec.spark.driver._kernel_ended_for_memory", lambda: next(counts))
    how = container.run("kill -9 $$")
    assert (how.crashed, how.killed) == (True, False)


def test_without_a_traceback_the_end_of_the_output_is_told(container: Container) -> None:
    assert container.run("echo some words; exit 3").traceback == "some words"
    assert container.run("echo on stderr >&2; exit 3").traceback == "on stderr"


HANDLED = "echo 'Traceback (most recent call last):'; echo '  File \"a.py\", line 3'; echo 'ValueError: handled'"


@pytest.mark.parametrize(
    ("note", "then", "reason"),
    [
        ({"exit_code": 1, "said": "no input\nfor today"}, "exit 1", "no input for today"),
        # With a text the code is 1: the program has caught that exit.
        ({"exit_code": 1, "said": "caught"}, "echo later; exit 3", "later"),
        ({"exit_code": 3}, "echo later; exit 3", "later"),
        ({"exit_code": None}, "echo later; exit 3", "later"),
        ({"exit_code": 3}, "exit 3", "ValueError: handled"),
        ({"exit_code": 1}, r"printf '\n== SQL (line 1) ==\nselect 1/0\n       ^^^\n\n'; exit 1", "ValueError: handled"),
        ({"exit_code": 3}, r"printf ': of Spark\n\tat a.B\nCaused by: c\n\n'; exit 3", "ValueError: handled"),
    ],
)
def test_an_error_that_the_program_handled_is_not_the_reason(
    container: Container, note: dict[str, object], then: str, reason: str
) -> None:
    how = container.run(f"echo '{json.dumps(note)}' > $YARNSPEC_PROGRAM_END; {HANDLED}; {then}")
    assert how.reason == reason


def test_a_python_that_the_host_does_not_have_is_named(container: Container) -> None:
    said = 'java.io.IOException: Cannot run program "/venv/bin/python" (in directory "."): error=2, No such file'
    words = container.run(f"echo '{said}' >&2; exit 1").traceback
    assert words.startswith("The driver's Python, /venv/bin/python, cannot be run on ")
    assert "PYSPARK_DRIVER_PYTHON" in words


def test_an_executors_host_without_python_is_not_the_drivers(container: Container) -> None:
    """The program itself ran, and logged what a task had said."""
    said = 'java.io.IOException: Cannot run program "/venv/bin/python" (in directory "."): error=2, No such file'
    note = container.directory / PROGRAM_END_FILE
    words = container.run(f"echo '{{\"exit_code\": 1}}' > {note}; echo '{said}' >&2; exit 1").traceback
    assert "cannot be run on" not in words
    assert "Cannot run program" in words


def test_stop_ends_the_whole_family(container: Container) -> None:
    ready = container.directory / "ready"
    os.mkfifo(ready)
    container.java.write_text(f"#!/bin/bash\ntrap '' TERM\n(trap '' TERM; echo $BASHPID > {ready}; read < {ready}) \n")
    container.java.chmod(0o755)
    ended = threading.Event()
    driver = container.driver()
    driver.start(lambda _: ended.set())
    child = os.pidfd_open(int(ready.read_text()))
    driver.stop(grace_s=0.2)
    assert ended.wait(10)
    gone, _, _ = select.select([child], [], [], 10)
    os.close(child)
    assert gone, "the JVM's child lives on"


def test_the_next_life_s_output_follows_and_its_last_words_are_its_own(container: Container) -> None:
    container.run("echo one; echo 'Traceback (most recent call last):'; echo 'ValueError: old'; kill -9 $$")
    how = container.run("echo two; exit 3")
    assert (container.directory / "driver.stdout").read_text().splitlines() == [
        "one",
        "Traceback (most recent call last):",
        "ValueError: old",
        "two",
    ]
    assert how == DriverExit(exit_code=3, crashed=False, traceback="two", reason="two")


def test_lack_of_memory_is_told_from_other_ends_by_force(container: Container) -> None:
    said = "# java.lang.OutOfMemoryError: Java heap space"
    assert container.run(f"echo '{said}'; kill -9 $$").out_of_memory
    assert not container.run("kill -9 $$").out_of_memory  # an earlier driver's words are not this one's
    assert not container.run(f"echo '{said}'; exit 3").out_of_memory


def test_what_a_killed_driver_had_started_is_gone_before_its_end_is_told(container: Container) -> None:
    """Even what has left its process group and its session, as a daemon does."""
    ready = container.directory / "ready"
    os.mkfifo(ready)
    how = container.run(f"setsid bash -c 'echo $$ > {container.directory}/child; echo > {ready}; read < {ready}' & "
                        f"read < {ready}; kill -9 $$")  # fmt: skip
    assert how.crashed
    child = int((container.directory / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_stop_before_the_start_does_nothing(container: Container) -> None:
    container.driver().stop()
