"""The submit line: spark-submit's flags by their names and meaning, and ours."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import click
import pyspark
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.lines import read
from yarnspec.errors import UsageError
from yarnspec.gateway.flags.arguments import SubmitCommand, as_launcher
from yarnspec.gateway.flags.request import FLAGS, SubmitRequest


def test_every_flag_of_spark_submit_is_known() -> None:
    """Every option that the parser of this Spark knows: they are constants of its class."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-launcher_*.jar")
    with zipfile.ZipFile(jar) as archive:
        compiled = archive.read("org/apache/spark/launcher/SparkSubmitOptionParser.class")
    options = set(re.findall(rb"(?<=[^-a-z])--?[a-z][a-z-]*", compiled))
    assert {b"--master", b"--extra-properties-file", b"-c"} <= options
    ours = {name.encode() for flag in FLAGS for name in flag.names}
    assert options - ours == {b"--help", b"-h"}


def test_every_flag_fills_a_field_or_gives_advice() -> None:
    for flag in FLAGS:
        assert (flag.field in SubmitRequest.__struct_fields__) != bool(flag.advice), flag.names


def test_a_whole_line() -> None:
    request = read(
        *[
            "--master",
            "yarn",
            "--deploy-mode",
            "cluster",
            "--name",
            "n",
            "--queue",
            "q",
            "--num-executors",
            "3",
            "--executor-memory",
            "2g",
        ],
        *[
            "--executor-cores=2",
            "--driver-cores",
            "4",
            "--conf",
            "a=b=c",
            "-c",
            "d=e",
            "--properties-file",
            "p",
            "--py-files",
            "a.py,b.zip",
        ],
        *[
            "--files",
            "f#g,",
            "--archives",
            "z",
            "--jars",
            "j",
            "--packages",
            "x:y:1,x:z:2",
            "--repositories",
            "r",
            "--principal",
            "p",
            "--keytab",
            "k",
        ],
        *[
            "--proxy-user",
            "u",
            "-v",
            "--exclude-hosts",
            "h1,h2",
            "--force",
            "--environment",
            "venv:///v",
            "--spark-jars",
            "/s",
            "--no-wait",
        ],
        *[
            "--dry-run",
            "-o",
            "json",
            "--set",
            "a.b=c",
            "--config",
            "o.yaml",
            "app.py",
            "--master",
            "local",
            "1",
            "--",
            "-x",
        ],
    )
    assert request == SubmitRequest(
        program="app.py",
        arguments=("--master", "local", "1", "--", "-x"),
        master="yarn",
        deploy_mode="cluster",
        name="n",
        queue="q",
        num_executors="3",
        executor_memory="2g",
        executor_cores="2",
        driver_cores="4",
        conf={"a": "b=c", "d": "e"},
        properties_file="p",
        py_files=("a.py", "b.zip"),
        files=("f#g",),
        archives=("z",),
        jars=("j",),
        packages=("x:y:1", "x:z:2"),
        repositories=("r",),
        principal="p",
        keytab="k",
        proxy_user="u",
        verbose=True,
        exclude_hosts=("h1", "h2"),
        force=True,
        environment="venv:///v",
        spark_jars="/s",
        wait=False,
        dry_run=True,
        output="json",
        settings=("a.b=c",),
        config_file="o.yaml",
    )


def test_the_last_of_a_repeated_flag_wins() -> None:
    assert read("--name", "a", "--jars", "x", "--name", "b", "--jars", "y", "app.py").jars == ("y",)


def test_a_value_may_look_like_a_flag() -> None:
    assert read("--driver-java-options", "-Dx=y -Xss1m", "app.py").conf == {
        "spark.driver.extraJavaOptions": "-Dx=y -Xss1m"
    }


@pytest.mark.parametrize(
    ("line", "memory"),
    [
        ("--driver-memory 1g --conf spark.driver.memory=2g", "2g"),
        ("--conf spark.driver.memory=2g --driver-memory 1g", "1g"),
        ("--conf spark.driver.memory=2g --driver-memory=1g", "1g"),
    ],
)
def test_for_the_drivers_jvm_the_later_of_flag_and_conf_wins_as_in_sparks_launcher(line: str, memory: str) -> None:
    assert read(*line.split(), "app.py").conf["spark.driver.memory"] == memory


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--class x app.jar", "PySpark programs"),
        ("--kill driver-1", "yarnspec kill"),
        ("--status driver-1", "yarnspec status"),
        ("--kill application_1_1 --master yarn", "yarnspec kill"),
        ("--master yarn --status=application_1_1", "yarnspec status"),
        ("--kill", "yarnspec kill"),
        ("--status --master yarn", "yarnspec status"),
        ("--remote sc://x app.py", "Spark Connect"),
        ("--version", "yarnspec --version"),
        ("--version --master yarn", "yarnspec --version"),
        ("--conf a app.py", "KEY=VALUE"),
        ("--conf =a app.py", "KEY=VALUE"),
        ("-o xml app.py", "table, json or yaml"),
    ],
)
def test_what_cannot_be_done_is_refused_with_advice(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(*line.split())


@pytest.mark.parametrize(
    ("flag", "meant"), [("--num-executor", "--num-executors"), ("--exclude-host", "--exclude-hosts")]
)
def test_an_unknown_flag_is_an_error_with_did_you_mean(flag: str, meant: str) -> None:
    with pytest.raises(click.NoSuchOption) as caught:
        read(flag, "3", "app.py")
    assert re.search(rf"{flag}\b", caught.value.format_message())
    assert meant in caught.value.format_message()


@pytest.mark.parametrize(
    ("word", "named"),
    [("-bleg", "-bleg"), ("-conf", "--conf"), ("-conf=spark.x=1", "--conf"), ("-verbose", "--verbose")],
)
def test_an_unknown_word_with_one_dash_is_named_as_a_whole(word: str, named: str) -> None:
    with pytest.raises(click.NoSuchOption) as caught:
        read(word, "app.py")
    assert f"'{word.partition('=')[0]}'" in caught.value.format_message()
    assert named in caught.value.format_message()


def test_flags_of_one_letter_are_read_as_click_reads_them() -> None:
    assert read("-v", "-ojson", "app.py").output == "json"
    assert read("-vv", "-c", "spark.x=1", "app.py", "-conf").conf == {"spark.x": "1"}


@pytest.mark.parametrize("line", [(), ("--name",), ("--name", "x")])
def test_a_line_without_program_or_value_is_an_error(line: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        read(*line)


def test_help_shows_every_flag_that_does_something() -> None:
    shown = CliRunner().invoke(SubmitCommand("submit", print), ["--help"]).stdout
    for flag in FLAGS:
        for name in flag.names:
            assert (name.split("/")[0] in shown.replace(",", " ").split()) == (flag.treatment != "refused"), name


@given(st.lists(st.text(max_size=6)))
def test_what_follows_the_program_is_left_alone(arguments: list[str]) -> None:
    line = ["--driver-memory", "1g", "--force", "app.py", *arguments]
    assert as_launcher(line) == ["--conf", "spark.driver.memory=1g", "--force", "app.py", *arguments]
    assert read("--name", "n", "app.py", *arguments).arguments == tuple(arguments)
