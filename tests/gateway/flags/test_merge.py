"""Where Spark's properties come from, and which one wins; compared once with spark-submit 4.3.0 by running both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gateway.lines import read
from yarnspec.errors import UsageError
from yarnspec.gateway.flags.merge import is_secret, merge, redact


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/spark-defaults.conf").write_text(
        "spark.a.defaults d\nspark.a.prop d\nspark.a.extra=d\nspark.a.conf d\nspark.executor.memory 3g\nother 1\n"
    )
    (tmp_path / "p.conf").write_text("spark.a.prop p\nspark.a.extra p\nspark.a.conf p\n")
    (tmp_path / "e1.conf").write_text("spark.a.extra e1\nspark.a.conf e1\n")
    (tmp_path / "e2.conf").write_text("spark.a.extra e2\n")
    return tmp_path


def merged(files: Path, *line: str, **environ: str) -> dict[str, str]:
    words = [word.replace("@", f"{files}/") for word in line]
    return merge(read(*words, "app.py"), {"SPARK_CONF_DIR": str(files / "conf")} | environ).properties


def test_everything_at_once(files: Path) -> None:
    line = "--properties-file @p.conf --extra-properties-file @e1.conf --extra-properties-file @e2.conf"
    found = merged(
        files,
        *line.split(),
        *[
            "--load-spark-defaults",
            "--conf",
            "spark.a.conf=c",
            "--conf",
            "spark.executor.memory=4g",
            "--executor-memory",
            "5g",
        ],
    )
    assert found == {
        "spark.a.defaults": "d",
        "spark.a.prop": "p",
        "spark.a.extra": "e2",
        "spark.a.conf": "c",
        "spark.executor.memory": "5g",
    }


def test_of_a_file_line_ends_are_kept_and_of_a_conf_every_character(files: Path) -> None:
    (files / "p.conf").write_text("spark.a.first=\\nblah\nspark.a.last=blah\\r\nspark.a.blank=\\ blah\\f\n")
    found = merged(
        files, "--properties-file", "@p.conf", "--conf", "spark.b=\n", "--conf", "spark.c= \t", "--conf", "spark.d= x\f"
    )
    assert found == {
        "spark.a.first": "\nblah",
        "spark.a.last": "blah\r",
        "spark.a.blank": "blah",
        "spark.b": "\n",
        "spark.c": " \t",
        "spark.d": " x\f",
    }


def test_bytes_that_are_not_utf_8_are_replaced_and_named_where_they_count(files: Path) -> None:
    """Spark does not mind them either, least of all in a comment."""
    defaults = files / "conf/spark-defaults.conf"
    line, environ = read("app.py"), {"SPARK_CONF_DIR": str(files / "conf")}
    defaults.write_bytes(b"# f\xfcr alle\nspark.a.defaults d\n")
    assert merge(line, environ).properties == {"spark.a.defaults": "d"}
    assert merge(line, environ).warnings == ()
    defaults.write_bytes(b"spark.a.defaults f\xfcr\nspark.a.good x\n")
    found = merge(line, environ)
    assert found.properties["spark.a.defaults"] == "f\ufffdr"
    assert [warning.rpartition(", in ")[2] for warning in found.warnings] == ["spark.a.defaults"]


def test_the_defaults_are_not_read_beside_a_properties_file(files: Path) -> None:
    assert "spark.a.defaults" in merged(files)
    assert "spark.a.defaults" not in merged(files, "--properties-file", "@p.conf")
    assert "spark.a.defaults" in merged(files, "--extra-properties-file", "@e1.conf")


def test_variables_count_when_nothing_else_does(files: Path) -> None:
    found = merged(files, SPARK_EXECUTOR_MEMORY="9g", SPARK_DRIVER_MEMORY="8g", SPARK_YARN_APP_NAME="n", MASTER="")
    assert found["spark.executor.memory"] == "3g"
    assert found["spark.driver.memory"] == "8g"
    assert found["spark.app.name"] == "n"
    assert "spark.master" not in found


def test_spark_home_s_conf_is_read_without_spark_conf_dir(files: Path) -> None:
    assert merge(read("app.py"), {"SPARK_HOME": str(files)}).properties["spark.a.defaults"] == "d"


def test_an_old_name_counts_where_the_new_one_is_not_set(files: Path) -> None:
    old = "spark.yarn.executor.memoryOverhead=500"
    assert merged(files, "--conf", old)["spark.executor.memoryOverhead"] == "500"
    both = merged(files, "--conf", old, "--conf", "spark.executor.memoryOverhead=600")
    assert both["spark.executor.memoryOverhead"] == "600"


def test_origins_name_the_flag_the_file_or_the_variable(files: Path) -> None:
    request = read("--executor-memory", "5g", "--conf", "spark.b=1", "app.py")
    result = merge(request, {"SPARK_CONF_DIR": str(files / "conf"), "SPARK_DRIVER_MEMORY": "1g"})
    assert result.origins["spark.executor.memory"] == "--executor-memory"
    assert result.origins["spark.b"] == "--conf"
    assert result.origins["spark.a.conf"] == f"file {files}/conf/spark-defaults.conf"
    assert result.origins["spark.driver.memory"] == "environment SPARK_DRIVER_MEMORY"
    assert result.origins.keys() == result.properties.keys()
    (warning,) = result.warnings
    assert warning.startswith("other (file")


@pytest.mark.parametrize("flag", ["--properties-file", "--extra-properties-file"])
def test_a_file_that_cannot_be_read_is_a_usage_error(files: Path, flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        merged(files, flag, "@none.conf")
    (files / "bad.conf").write_text("spark.a \\u12\n")
    with pytest.raises(UsageError, match="uxxxx"):
        merged(files, flag, "@bad.conf")


def test_secrets_are_not_printed() -> None:
    assert redact({"spark.authenticate.secret": "s", "spark.a": "x"}) == {
        "spark.authenticate.secret": "*********(redacted)",
        "spark.a": "x",
    }
    assert is_secret("spark.hadoop.fs.s3a.access.key")
    assert is_secret("spark.executorEnv.DB", "password=x")


def test_a_password_in_an_address_is_not_shown() -> None:
    shown = redact({"spark.jars": "https://me:word@h/w.jar,hdfs://nn/j.jar", "spark.app.name": "a@b"})
    assert shown == {"spark.jars": "https://*********(redacted)@h/w.jar,hdfs://nn/j.jar", "spark.app.name": "a@b"}


@pytest.mark.parametrize(
    ("defaults", "line", "mode"),
    [
        ("spark.submit.deployMode client", "--master yarn-cluster", "cluster"),
        ("spark.master yarn-client", "--deploy-mode cluster", "cluster"),
        ("spark.master yarn-client", "", "client"),
    ],
)
def test_an_old_master_and_a_file_go_by_the_flag(files: Path, defaults: str, line: str, mode: str) -> None:
    (files / "conf" / "spark-defaults.conf").write_text(f"{defaults}\n")
    found = merged(files, *line.split())
    assert (found["spark.master"], found["spark.submit.deployMode"]) == ("yarn", mode)
