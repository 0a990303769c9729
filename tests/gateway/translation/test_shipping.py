"""The user's files: what is uploaded, what YARN fetches, what is left to Spark."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.gateway.lines import translated
from yarnspec.errors import UsageError
from yarnspec.gateway.translation.files.shipping import ShippedFile


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("app.py", "a.zip", "b.py", "f.txt", "x.jar", "y.jar", "z.zip", "env.tar.gz"):
        (tmp_path / name).write_text("")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/f.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_program_travels_and_is_called_by_its_name(here: Path) -> None:
    result = translated("app.py", "x")
    assert result.program == "app.py"
    assert result.files == (ShippedFile(link="app.py", source=str(here / "app.py")),)
    for uri in ("hdfs:///x/app.py", "hdfs:/x/app.py", "hdfs:////x/app.py"):
        assert translated(uri).files == (ShippedFile(link="app.py", source="hdfs:///x/app.py"),)
    assert translated("hdfs:/%2Fx/app.py").files[0].source == "hdfs:///x/app.py"
    for uri in ("hdfs:app.py", "hdfs://host:port/app.py", "hdfs://[x/app.py"):
        with pytest.raises(UsageError, match="whole URI"):
            translated(uri)
    assert translated("local:/opt/app.py").program == "local:/opt/app.py"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_jars_are_in_every_container_and_the_driver_serves_them(here: Path, mode: str) -> None:
    """``-javaagent:x.jar`` and ``spark.executor.extraClassPath=x.jar`` look for them beside the JVM before it runs."""
    jars = f"x.jar,hdfs:///j/z.jar,local:/opt/o.jar,https://h/w.jar,file:{here}/y.jar"
    result = translated("--deploy-mode", mode, "--jars", jars, "app.py")
    assert result.properties["spark.jars"] == "x.jar,z.jar,local:/opt/o.jar,https://h/w.jar,y.jar"
    assert {file.link for file in result.files} == {"app.py", "x.jar", "y.jar", "z.jar"}
    assert {file.link for file in result.files if file.executors} == {"x.jar", "y.jar", "z.jar"}


@pytest.mark.usefixtures("here")
def test_the_path_of_a_local_jar_is_the_clusters() -> None:
    moved = ["--conf", "spark.yarn.config.gatewayPath=/gw", "--conf", "spark.yarn.config.replacementPath=/cluster"]
    result = translated("--jars", "local:/gw/a.jar,local:/other/b.jar,x.jar,hdfs:///gw/c.jar", *moved, "app.py")
    assert result.properties["spark.jars"] == "local:/cluster/a.jar,local:/other/b.jar,x.jar,c.jar"
    assert ShippedFile(link="c.jar", source="hdfs:///gw/c.jar", executors=True) in result.files
    # A replacement with variables of the container is replaced there.
    variable = [*moved[:2], "--conf", "spark.yarn.config.replacementPath=${HERE}"]
    result = translated("--jars", "local:/gw/a.jar", *variable, "app.py")
    assert result.properties["spark.jars"] == "local:${HERE}/a.jar"


def test_files_and_archives_are_in_every_container(here: Path) -> None:
    result = translated(
        *["--files", "f.txt#g,hdfs:///d/h.txt,https://h/w.txt", "--archives", "a.zip#data", "--conf"],
        "spark.yarn.dist.archives=hdfs:///d/e.tgz",
        "app.py",
    )
    files = {file.link: file for file in result.files if file.executors}
    assert files == {
        "g": ShippedFile(link="g", source=str(here / "f.txt"), executors=True),
        "h.txt": ShippedFile(link="h.txt", source="hdfs:///d/h.txt", executors=True),
        "data": ShippedFile(link="data", source=str(here / "a.zip"), kind="ARCHIVE", executors=True),
        "e.tgz": ShippedFile(link="e.tgz", source="hdfs:///d/e.tgz", kind="ARCHIVE", executors=True),
    }
    assert result.listed_files == ("g", "h.txt", "e.tgz", "data")
    assert result.properties["spark.files"] == "https://h/w.txt"
    assert "spark.archives" not in result.properties


def test_python_files_stand_on_every_python_path_in_their_order(here: Path) -> None:
    """As in Spark, modules come first: they lie in the working directory."""
    (here / "w.whl").write_bytes(b"")
    (here / "sub/sub").mkdir()
    entries = ["w.whl", f"file://{here}/a.zip", "sub/", "b.py", "local:/opt/o.egg", f"{here}/sub/sub", "w.whl"]
    result = translated("--py-files", ",".join([*entries, "hdfs:///w/v.whl", "https://h/x.zip"]), "app.py")
    files = {file.source: file for file in result.files if file.executors}
    unpacked = {source: file.link for source, file in files.items() if file.kind == "ARCHIVE"}
    assert list(unpacked) == [str(here / name) for name in ("w.whl", "sub", "sub/sub")]
    assert all(link.startswith("yarnspec-py-") for link in unpacked.values())
    wheel, *directories = (f"{{{{PWD}}}}/{link}" for link in unpacked.values())
    path = ["{{PWD}}", wheel, "{{PWD}}/a.zip", directories[0], "/opt/o.egg", directories[1], "{{PWD}}/v.whl"]
    expected = ":".join([*path, "$PYTHONPATH"])
    assert result.driver_environment["PYTHONPATH"] == result.executor_environment["PYTHONPATH"] == expected
    assert [file.link for file in files.values() if file.kind == "FILE"] == ["a.zip", "b.py", "v.whl"]
    assert result.python_files == ("a.zip", "b.py", "/opt/o.egg", "v.whl")
    assert result.properties["spark.submit.pyFiles"] == "https://h/x.zip"
    assert not any("--py-files" in warning for warning in result.warnings)


@pytest.mark.usefixtures("here")
def test_the_users_own_python_path_comes_first_as_in_spark() -> None:
    line = ["--py-files", "a.zip", "--conf", "spark.executorEnv.PYTHONPATH={{PWD}}/lib", "app.py"]
    assert translated(*line).executor_environment["PYTHONPATH"] == "{{PWD}}/lib:{{PWD}}/a.zip"


@pytest.mark.usefixtures("here")
def test_what_python_cannot_import_is_named() -> None:
    (warning,) = translated("--py-files", "f.txt", "app.py").warnings
    assert "--py-files f.txt: Python imports nothing" in warning
    with pytest.raises(UsageError, match="directory of the cluster's file system"):
        translated("--py-files", "hdfs:///libs/package", "app.py")


@pytest.mark.usefixtures("here")
def test_the_clusters_own_configuration_is_not_hidden_from_the_master(here: Path) -> None:
    (here / "yarn-site.xml").write_text("<configuration/>")
    result = translated("--files", "yarn-site.xml,f.txt", "app.py")
    assert [file.link for file in result.files if file.executors] == ["f.txt"]
    assert "yarn-site.xml: left out" in result.warnings[0]


@pytest.fixture
def beside(here: Path) -> Path:
    """A program with modules and a package beside it."""
    (here / "jobs/deep").mkdir(parents=True)
    for name in ("helper.py", "late.py", "queue.py", "deep/__init__.py", "deep/shelf.py"):
        (here / "jobs" / name).write_text("")
    (here / "jobs/job.py").write_text(
        "import helper, deep.shelf as shelf, none, queue, job\nfrom . import b\ndef f():\n  from late import x\n"
    )
    return here / "jobs"


def test_modules_beside_the_program_that_nothing_ships_are_named(beside: Path) -> None:
    """Spark's driver in client mode would find them on this machine."""
    (warning,) = translated("jobs/job.py").warnings
    assert "imports deep, helper.py, late.py, which are beside it" in warning
    assert f"--py-files {beside / 'deep'},{beside / 'helper.py'},{beside / 'late.py'}," in warning
    (warning,) = translated(
        "--deploy-mode", "cluster", "--py-files", "jobs/deep,jobs/helper.py", "jobs/job.py"
    ).warnings
    assert "imports late.py, which is beside it" in warning
    assert translated("--files", "jobs/late.py", "--py-files", "jobs/deep,jobs/helper.py", "jobs/job.py").warnings == ()
    assert translated("--py-files", "jobs", "jobs/job.py").warnings == ()


def test_a_module_of_a_shipped_package_that_the_program_imports_by_its_bare_name_is_named(beside: Path) -> None:
    (beside / "__init__.py").write_text("")
    (beside.parent / "main.py").write_text("import helper, jobs.late, none\n")
    (warning,) = translated("--py-files", "jobs", "main.py").warnings
    assert "imports helper, which is shipped as jobs.helper: import that, or name the files of" in warning


@pytest.mark.parametrize("archive", ["hdfs:///a.zip", "local:/opt/libs", "https://h/x.whl", "a.zip", "z.zip"])
def test_where_modules_may_have_come_otherwise_nothing_is_named(beside: Path, archive: str) -> None:
    with zipfile.ZipFile(beside.parent / "z.zip", "w") as packed:
        for name in ("helper.py", "late/__init__.py", "deep/__init__.py"):
            packed.writestr(name, "")
    assert not [said for said in translated("--py-files", archive, "jobs/job.py").warnings if "beside" in said]


@pytest.mark.parametrize("text", ["import helper\n(", "\0import helper", "é = 1".encode("latin-1").decode("latin-1")])
def test_a_program_that_python_cannot_read_is_pythons_to_refuse(beside: Path, text: str) -> None:
    (beside / "job.py").write_bytes(text.encode("latin-1"))
    assert translated("jobs/job.py").warnings == ()


STRANGE = "report (v2) número [a]"


def test_names_with_blanks_brackets_and_letters_are_kept_where_they_matter(here: Path) -> None:
    odd = here / "apps of the day"
    odd.mkdir()
    for ending in ("py", "txt", "zip", "jar"):
        (odd / f"{STRANGE}.{ending}").write_text("")
    program, text, packed, jar = (f"{odd}/{STRANGE}.{ending}" for ending in ("py", "txt", "zip", "jar"))
    result = translated(
        *["--files", f"{text},{Path(text).as_uri()}#á b", "--archives", packed, "--jars", jar, "--py-files", packed],
        program,
    )
    files = {file.link: file.source for file in result.files}
    assert result.program == f"{STRANGE}.py"
    assert files[result.program] == program
    assert files[f"{STRANGE}.txt"] == files["á b"] == text
    assert files[f"{STRANGE}.zip"] == packed
    # Spark reads these as lists of URIs and patterns.
    for name, source in ((result.properties["spark.jars"], jar), (result.python_files[0], packed)):
        assert re.fullmatch(r"[0-9a-f]{8}-report-v2-n-mero-a-?\.(jar|zip)", name)
        assert files[name] == source


@pytest.mark.parametrize("name", ["a#b.py", "a:b.py", "a?b.py", "-a.py"])
def test_a_programs_name_that_spark_would_read_otherwise_is_replaced(here: Path, name: str) -> None:
    (here / name).write_text("")
    result = translated(f"{here}/{name}")
    assert re.fullmatch(r"[0-9a-f]{8}-[ab-]+\.py", result.program)
    assert [file.source for file in result.files] == [str(here / name)]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("path", ["a%20b/n%C3%BAmero.txt", "a b/número.txt"])
def test_urls_of_the_cluster_are_unescaped(path: str) -> None:
    result = translated("--files", f"hdfs://Host:9000/{path}#l%20k", "app.py")
    assert ("l k", "hdfs://Host:9000/a b/número.txt") in {(file.link, file.source) for file in result.files}


def test_a_pattern_means_all_files_that_fit(here: Path) -> None:
    assert translated("--jars", f"{here}/*.jar", "app.py").properties["spark.jars"] == "x.jar,y.jar"
    result = translated("--files", "*.t?t", "--archives", f"{here}/*.zip", "--py-files", "b.*", "app.py")
    assert {file.link for file in result.files if file.executors} == {"f.txt", "a.zip", "z.zip", "b.py"}
    (data,) = (file for file in translated("--archives", "a*.zip#data", "app.py").files if file.executors)
    assert (data.link, data.source) == ("data", str(here / "a.zip"))


def test_a_pattern_means_no_directories_but_pythons_packages(here: Path) -> None:
    (here / "sub/deep").mkdir()
    for name in ("mine", "__pycache__"):
        (here / "sub" / name).mkdir()
    (here / "sub/mine/__init__.py").write_text("")
    (here / "sub/b.py").write_text("")
    result = translated("--files", "sub/*", "app.py")
    assert {file.link for file in result.files if file.executors} == {"f.txt", "b.py"}
    sources = {file.source for file in translated("--py-files", "sub/[!f]*", "app.py").files if file.executors}
    assert sources == {str(here / "sub/b.py"), str(here / "sub/mine")}


def test_lists_of_spark_yarn_dist_are_added_to_those_of_the_flags(here: Path) -> None:
    for name in ("g.txt", "c.py", "d.zip"):
        (here / name).write_text("")
    flags = ["--jars", "x.jar", "--files", "f.txt", "--py-files", "b.py", "--archives", "a.zip"]
    given = {"jars": f"file:{here}/y.jar", "files": "g.txt", "pyFiles": "c.py", "archives": "d.zip"}
    result = translated(*flags, *(f"--conf=spark.yarn.dist.{key}={value}" for key, value in given.items()), "app.py")
    assert set(result.properties["spark.jars"].split(",")) == {"x.jar", "y.jar"}
    found = {(file.link, file.kind) for file in result.files if file.executors}
    assert found == {
        *(("f.txt", "FILE"), ("g.txt", "FILE"), ("b.py", "FILE"), ("c.py", "FILE")),
        *(("a.zip", "ARCHIVE"), ("d.zip", "ARCHIVE"), ("x.jar", "FILE"), ("y.jar", "FILE")),
    }
    assert set(result.python_files) == {"b.py", "c.py"}


def test_the_same_lists_from_a_file_of_properties(here: Path) -> None:
    (here / "p.conf").write_text(
        "spark.jars /opt/none.jar\nspark.files f.txt,local:/x\nspark.submit.pyFiles b.py\nspark.archives a.zip\n"
    )
    result = translated("--properties-file", "p.conf", "--jars", "x.jar", "app.py")
    # A flag's list replaces that of its property.
    assert result.properties["spark.jars"] == "x.jar"
    assert {file.link for file in result.files} == {"app.py", "x.jar", "f.txt", "b.py", "a.zip"}

    (here / "p.conf").write_text(
        "spark.jars x.jar\nspark.submit.pyFiles hdfs:///p.py\n"
        "spark.yarn.dist.files f.txt\nspark.yarn.dist.archives hdfs:///a.zip\n"
    )
    result = translated("--properties-file", "p.conf", "app.py")
    assert result.properties["spark.jars"] == "x.jar"
    assert {file.link: file.source for file in result.files if file.executors} == {
        "x.jar": str(here / "x.jar"), "p.py": "hdfs:///p.py", "f.txt": str(here / "f.txt"), "a.zip": "hdfs:///a.zip",
    }  # fmt: skip
    assert result.python_files == ("p.py",)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--files none.txt app.py", "--files none.txt: there is no such file"),
        ("--jars *.none app.py", "no such file"),
        ("none.py", "none.py: there is no such file"),
        ("--files sub app.py", "is a directory"),
        ("--jars su* app.py", "no file fits, only directories"),
        ("--jars hdfs:///x/*.jar app.py", "name each file"),
        ("--archives f.txt app.py", "YARN unpacks only"),
        ("x.jar", "end in .py"),
        ("--files f.txt#.. app.py", "cannot be the name"),
        ("--files f.txt#a/b app.py", "cannot be the name"),
        ("--files f.txt#a:b app.py", "add '#' and another name"),
        ("--files f.txt#$(x) app.py", "cannot be the name"),
        ("--files f.txt#yarnspec-plan.json app.py", "keeps a file named 'yarnspec-plan.json'"),
        ("--files f.txt#.skein.pem app.py", "keeps a file named"),
        ("--archives *.zip#data --files f.txt app.py", "2 files fit, and only one can be called 'data'"),
        ("--conf spark.jars.ivySettings=hdfs:///s.xml app.py", "must be a file of this machine"),
        ("--conf spark.jars.ivySettings=local:/s.xml app.py", "must be a file of this machine"),
        ("--environment none.tar.gz app.py", "no such file"),
        ("--environment f.txt app.py", "--environment f.txt: it is python://"),
        ("--environment venv://x app.py", "absolute path"),
        ("--environment conda:// app.py", "every host has"),
        ("--environment python:///x`id` app.py", "every host has"),
        ("--keytab none --principal p app.py", "--keytab none: there is no such file"),
    ],
)
def test_a_bad_file_is_a_usage_error_that_names_flag_and_file(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        translated(*line.split())
    assert words in caught.value.message


def test_of_two_files_with_one_name_the_first_is_taken_with_a_warning(here: Path) -> None:
    result = translated("--files", "f.txt,sub/f.txt", "app.py")
    assert [file.source for file in result.files if file.link == "f.txt"] == [str(here / "f.txt")]
    assert any("sub/f.txt: ignored" in warning for warning in result.warnings)


def test_of_two_jars_with_one_name_the_first_is_taken(here: Path) -> None:
    (here / "sub/x.jar").write_text("")
    result = translated("--jars", "x.jar,sub/x.jar", "app.py")
    assert result.properties["spark.jars"] == "x.jar"
    assert [file.source for file in result.files if file.link == "x.jar"] == [str(here / "x.jar")]
    assert any("sub/x.jar: ignored" in warning for warning in result.warnings)


@pytest.mark.usefixtures("here")
def test_what_is_a_file_and_an_archive_is_taken_once_with_a_warning() -> None:
    result = translated("--files", "a.zip,a.zip", "--archives", "a.zip", "app.py")
    assert [file.kind for file in result.files if file.link == "a.zip"] == ["FILE"]
    assert len([warning for warning in result.warnings if "ignored, since 'a.zip' is" in warning]) == 1


@pytest.mark.usefixtures("here")
def test_one_file_twice_is_no_clash() -> None:
    result = translated("--files", "f.txt,b.py", "--py-files", "b.py", "app.py")
    assert [file.executors for file in result.files if file.link == "b.py"] == [True]
    assert result.warnings == ()


@pytest.mark.usefixtures("here")
def test_a_local_uri_in_files_is_named_in_a_warning() -> None:
    assert any("local:/x.txt" in warning for warning in translated("--files", "local:/x.txt", "app.py").warnings)


def test_a_packed_environment_is_shipped_under_its_own_link(here: Path) -> None:
    result = translated("--environment", "env.tar.gz", "app.py")
    (file,) = (file for file in result.files if file.kind == "ARCHIVE")
    assert file == ShippedFile(
        link="yarnspec-environment", source=str(here / "env.tar.gz"), kind="ARCHIVE", executors=True
    )
    assert result.python.driver == result.python.workers == "yarnspec-environment/bin/python"


def test_sparks_own_configuration_files_travel(here: Path) -> None:
    conf = here / "conf"
    conf.mkdir()
    for name in ("log4j2.properties", "log4j2.yaml", "hive-site.xml"):
        (conf / name).write_text("")
    (conf / "spark-env.sh").write_text("export X=y\n")
    result = translated("app.py", environ={"SPARK_CONF_DIR": str(conf)})
    shipped = {file.link for file in result.files if file.executors}
    assert shipped == {"log4j2.properties", "log4j2.yaml", "hive-site.xml"}
    assert any("spark-env.sh is not read" in warning for warning in result.warnings)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "line",
    [
        "--packages a:b:1,c:d:2 --exclude-packages e:f --repositories r",
        "--conf spark.jars.packages=a:b:1,c:d:2 --conf spark.jars.excludes=e:f --conf spark.jars.repositories=r",
    ],
)
def test_packages_are_left_to_spark_submit_and_their_settings_file_travels(line: str) -> None:
    result = translated(*line.split(), "--conf", "spark.jars.ivySettings=f.txt", "app.py")
    assert result.properties["spark.jars.packages"] == "a:b:1,c:d:2"
    assert result.properties["spark.jars.excludes"] == "e:f"
    assert result.properties["spark.jars.repositories"] == "r"
    assert result.properties["spark.jars.ivySettings"] == "f.txt"
    assert "f.txt" in {file.link for file in result.files}


def test_the_settings_file_of_packages_may_be_a_uri(here: Path) -> None:
    """It travels without packages, too: a program may add one by its address, ``ivy://…``."""
    result = translated("--conf", f"spark.jars.ivySettings=file://{here}/f.txt", "app.py")
    assert result.properties["spark.jars.ivySettings"] == "f.txt"
    assert ShippedFile(link="f.txt", source=str(here / "f.txt")) in result.files
