"""The translation of a submit line: nothing is ignored in silence."""

from __future__ import annotations

import importlib.util
import re
import zipfile
from pathlib import Path

import pytest

from tests.gateway.lines import read, translated
from yarnspec.errors import UsageError
from yarnspec.gateway.translation import yarn_keys
from yarnspec.gateway.translation.cluster_paths import SparkJars
from yarnspec.gateway.translation.no_effect import OWNED_KEYS
from yarnspec.gateway.translation.sparkconf import translate
from yarnspec.options import default_options


@pytest.fixture(autouse=True)
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.py").write_text("")
    monkeypatch.chdir(tmp_path)


def conf(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--conf", pair)]


def test_a_plain_line_has_no_warnings_and_sparks_defaults() -> None:
    result = translated("--master", "yarn", "app.py")
    assert result.warnings == ()
    assert result.properties["spark.app.name"] == "app.py"
    assert result.yarn.name == "app.py"
    assert result.yarn.queue == "default"
    assert result.yarn.max_attempts == 2
    assert result.deploy_mode == "client"
    assert result.wait


def test_yarns_settings() -> None:
    result = translated(
        *[
            "--set",
            "recovery.enabled=true",
            "--queue",
            "q",
            "--name",
            "n",
            "--deploy-mode",
            "cluster",
            "--proxy-user",
            "u",
            "--exclude-hosts",
            "a,b",
        ],
        *conf(
            "spark.yarn.queue=other",
            "spark.yarn.includeDriverLogsLink=true",
            "spark.yarn.tags=,x, y of two words , ,x",
            "spark.yarn.priority=3",
            "spark.yarn.maxAppAttempts=4",
            "spark.yarn.am.attemptFailuresValidityInterval=1h",
            "spark.yarn.am.nodeLabelExpression=am",
            "spark.yarn.executor.nodeLabelExpression=ex",
            "spark.yarn.rolledLog.includePattern=.*out",
            "spark.yarn.rolledLog.excludePattern=.*gz",
            "spark.yarn.exclude.nodes=b,c",
            "spark.yarn.report.interval=3s",
            "spark.yarn.am.waitTime=2min",
            "spark.yarn.max.executor.failures=7",
            "spark.yarn.executor.failuresValidityInterval=2m",
        ),
        "app.py",
    )
    assert result.warnings == ()
    assert (result.yarn.queue, result.yarn.name, result.yarn.proxy_user) == ("q", "n", "u")
    assert result.yarn.tags == ("x", "y of two words")
    assert result.yarn.priority == 3
    assert result.yarn.max_attempts == 4
    assert result.yarn.attempt_failures_validity_interval_ms == 3_600_000
    assert (result.yarn.am_node_label, result.yarn.executor_node_label) == ("am", "ex")
    assert (result.yarn.log_include_pattern, result.yarn.log_exclude_pattern) == (".*out", ".*gz")
    assert result.exclude_hosts == ("a", "b", "c")
    assert result.options.submit.poll_interval_ms == 3000
    assert result.max_executor_failures == 7
    assert result.context_wait_ms == 120_000
    assert result.log_links
    assert not translated("app.py").log_links
    assert result.options.executor.failure_window_ms == 120_000
    assert result.deploy_mode == "cluster"


def test_failures_that_spark_never_forgets_are_counted_together_for_years() -> None:
    result = translated(*conf("spark.executor.failuresValidityInterval=-1"), "app.py")
    assert result.options.executor.failure_window_ms > 365 * 86_400_000


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([], True),
        (["--no-wait"], False),
        (conf("spark.yarn.submit.waitAppCompletion=false"), False),
        (["--wait", *conf("spark.yarn.submit.waitAppCompletion=false")], True),
        (["--set", "submit.wait=false"], False),
        (["--set", "submit.wait=false", *conf("spark.yarn.submit.waitAppCompletion=true")], True),
    ],
)
def test_whether_to_wait(line: list[str], expected: bool) -> None:
    assert translated(*line, "app.py").wait is expected


# Values that fit the properties which are more than text.
FITTING = {
    "spark.yarn.includeDriverLogsLink": "true",
    "spark.yarn.submit.waitAppCompletion": "true",
    "spark.yarn.user.classpath.first": "true",
    "spark.yarn.jars": "local:/s/*",
    "spark.yarn.archive": "hdfs:///s.zip",
} | {f"spark.yarn.dist.{name}": "hdfs:///x/y.zip" for name in ("files", "archives", "jars", "pyFiles")}


@pytest.mark.parametrize("row", yarn_keys.YARN_KEYS, ids=lambda row: row.key)
def test_a_key_is_named_in_a_warning_exactly_when_the_table_says_so(row: yarn_keys.YarnKey) -> None:
    key = row.key + "x" if row.key.endswith(".") else row.key
    pairs = [f"{key}={FITTING.get(key, '5')}"]
    if key in ("spark.yarn.principal", "spark.yarn.keytab"):
        pairs = ["spark.yarn.principal=p", "spark.yarn.keytab=app.py"]
    named = any(warning.startswith(f"{key} ") for warning in translated(*conf(*pairs), "app.py").warnings)
    assert named == (row.treatment == "warned")


def test_a_warning_does_not_show_the_value() -> None:
    for pair in ("spark.yarn.am.extraJavaOptions=-Dpw=hunter2", "spark.driver.host=hunter2", "spark.yarn.x=hunter2"):
        (warning,) = translated(*conf(pair), "app.py").warnings
        assert "hunter2" not in warning


def test_an_unknown_yarn_property_is_named_with_did_you_mean() -> None:
    (warning,) = translated(*conf("spark.yarn.maxAppAttempt=3"), "app.py").warnings
    assert "Did you mean 'spark.yarn.maxAppAttempts'" in warning


def test_every_yarn_property_that_spark_ships_has_a_row() -> None:
    package = importlib.util.find_spec("pyspark")
    assert package is not None
    assert package.submodule_search_locations
    jars = Path(package.submodule_search_locations[0]) / "jars"
    wanted = re.compile(r"org/apache/spark/(deploy/yarn/|deploy/SparkSubmit|SparkConf|internal/config/package)")
    names: set[str] = set()
    for jar in (*jars.glob("spark-yarn_*.jar"), *jars.glob("spark-core_*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in filter(wanted.match, archive.namelist()):
                content = archive.read(name).decode("latin-1")
                names |= set(re.findall(r"spark\.yarn\.[A-Za-z][A-Za-z.-]*", content))
    assert len(names) > 60
    # Named in another property's description only, and misspelt there.
    names.discard("spark.yarn.client.statCache.preloaded.enabled")
    assert {name for name in names if yarn_keys.find(name) is None and name not in yarn_keys.known()} == set()


def test_owned_properties_are_left_out_with_a_warning_that_says_why() -> None:
    for key in OWNED_KEYS.keys() - {"spark.master", "spark.submit.deployMode"} | {"spark.yarnspec.epoch"}:
        result = translated(*conf(f"{key}=1"), "app.py")
        assert key not in result.properties
        assert any(warning.startswith(f"{key} (--conf) is ignored") for warning in result.warnings)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["--master", "local[2]"], "--master local[2]"),
        (conf("spark.master=spark://h:7077"), "--master spark://h:7077"),
        (
            ["--master", "yarn-cluster", "--deploy-mode", "client"],
            "Client deploy mode (--deploy-mode) is not compatible",
        ),
        (["--master", "yarn-client", *conf("spark.submit.deployMode=cluster")], "Cluster deploy mode (--conf) is not"),
        (["--deploy-mode", "clustre"], "Did you mean 'cluster'"),
        (["--proxy-user", "u", "--principal", "p", "--keytab", "app.py"], "only one of them"),
        (["--principal", "p"], "belong together"),
        (conf("spark.yarn.priority=high"), "spark.yarn.priority"),
        (conf("spark.yarn.maxAppAttempts=0"), "spark.yarn.maxAppAttempts"),
        (conf("spark.yarn.maxAppAttempts=1_0"), "spark.yarn.maxAppAttempts"),
        (conf("spark.yarn.report.interval=0"), "spark.yarn.report.interval"),
        (conf("spark.yarn.submit.waitAppCompletion=maybe"), "neither true nor false"),
        (conf("spark.remote=sc://h"), "Spark Connect"),
        (conf("spark.api.mode=connect"), "Spark Connect"),
        (conf("spark.executor.extraJavaOptions=-Xmx2g"), "--executor-memory"),
        (["--driver-java-options", "-Xmx2g"], "--driver-memory"),
        (conf("spark.executor.extraJavaOptions=-Dspark.x=y"), "--conf spark.x=y"),
        (["--driver-java-options", "'x"], "cannot be split"),
        (conf("spark.executorEnv.YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS=$HOME:/h"), "before the container begins"),
        (conf("spark.yarn.appMasterEnv.YARN_CONTAINER_RUNTIME_X={{PWD}}/x"), "spark.yarn.appMasterEnv.YARN_CONTAINER"),
        (conf("spark.executor.maxNumFailures=-1"), "spark.executor.maxNumFailures"),
        (["--spark-jars", "relative/dir"], "--spark-jars"),
        (conf("spark.yarn.archive=/opt/spark.zip"), "spark.yarn.archive /opt/spark.zip"),
        (conf("spark.yarn.archive=local:/opt/spark.zip"), "spark.yarn.archive local:/opt/spark.zip"),
        (conf("spark.yarn.archive=local:///opt/spark.zip"), "spark.yarn.archive local:///opt/spark.zip"),
    ],
)
def test_what_contradicts_itself_is_a_usage_error(line: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        translated(*line, "app.py")
    assert words in caught.value.message


@pytest.mark.parametrize("mode", ["client", "cluster"])
@pytest.mark.parametrize("as_flag", [True, False])
def test_the_masters_of_spark_2_mean_yarn_and_their_deploy_mode(mode: str, as_flag: bool) -> None:
    line = ["--master", f"yarn-{mode}"] if as_flag else conf(f"spark.master=yarn-{mode}")
    result = translated(*line, "--deploy-mode", mode, "app.py")
    assert result.deploy_mode == translated(*line, "app.py").deploy_mode == mode
    (warning,) = result.warnings
    assert f"yarn-{mode}" in warning
    assert f"--master yarn --deploy-mode {mode}" in warning


def test_a_master_in_a_file_or_variable_is_only_warned_about() -> None:
    (warning,) = translated("app.py", environ={"MASTER": "local[4]"}).warnings
    assert "environment MASTER" in warning


def test_flags_without_effect_on_yarn_are_named() -> None:
    warnings = translated("--supervise", "--total-executor-cores", "4", "app.py").warnings
    assert [warning.split()[0] for warning in warnings] == ["--supervise", "--total-executor-cores"]


def test_another_resource_manager_by_a_property_is_named() -> None:
    key = "spark.hadoop.yarn.resourcemanager.hostname"
    result = translated(*conf(f"{key}=elsewhere", "spark.hadoop.yarn.timeline-service.enabled=false"), "app.py")
    (warning,) = result.warnings
    assert warning.startswith(f"{key} (--conf) is for the driver's Hadoop configuration only")
    assert result.properties[key] == "elsewhere"


def test_settings_of_the_file_system_that_shipped_files_are_on_are_named() -> None:
    keys = conf("spark.hadoop.fs.s3a.access.key=k", "spark.hadoop.fs.s3a.secret.key=S3cr", "spark.hadoop.fs.gs.x=y")
    (warning,) = translated(*keys, "s3a://box/app.py").warnings
    assert warning.startswith("spark.hadoop.fs.s3a.access.key, spark.hadoop.fs.s3a.secret.key (--conf) hold for driver")
    assert "S3cr" not in warning
    assert translated(*keys, "app.py").warnings == ()
    azure = conf("spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net=S3cr")
    assert "abfss://" in translated(*azure, "abfss://box@a.dfs.core.windows.net/app.py").warnings[0]
    assert "s3a://" in translated(*keys, "--spark-jars", "S3A://box/jars.zip", "app.py").warnings[0]


def test_options_of_spark_submits_own_jvm_and_properties_for_delegation_tokens_are_named() -> None:
    key = "spark.kerberos.access.hadoopFileSystems"
    result = translated(*conf(f"{key}=hdfs://other"), "app.py", environ={"SPARK_SUBMIT_OPTS": "-Da=b"})
    tokens, options = result.warnings
    assert tokens.startswith(f"{key} (--conf) has no effect")
    assert "SPARK_SUBMIT_OPTS has no effect" in options
    assert translated("app.py", environ={"SPARK_SUBMIT_OPTS": ""}).warnings == ()


def test_environments_and_library_paths() -> None:
    result = translated(
        *conf(
            "spark.yarn.appMasterEnv.A=1",
            "spark.executorEnv.B=2",
            "spark.executorEnv.LD_LIBRARY_PATH=/own",
            "spark.executor.extraLibraryPath=/gw/lib",
            "spark.yarn.config.gatewayPath=/gw",
            "spark.yarn.config.replacementPath=/cluster",
        ),
        *("--driver-library-path", "/gw/native", "--driver-class-path", "/gw/a.jar:/b.jar"),
        "app.py",
    )
    assert result.driver_environment == {"A": "1", "LD_LIBRARY_PATH": "/cluster/native:$LD_LIBRARY_PATH"}
    assert result.executor_environment == {"B": "2", "LD_LIBRARY_PATH": "/cluster/lib:/own"}
    assert result.driver_class_path == ("/cluster/a.jar", "/b.jar")


def test_the_queue_of_a_property_is_yarns_and_shown() -> None:
    result = translated("-v", *conf("spark.yarn.queue=narrow"), "app.py")
    assert result.yarn.queue == "narrow"
    assert "spark.yarn.queue=narrow (--conf)" in result.report


def test_what_only_a_shell_would_do_is_named() -> None:
    line = conf(
        *("spark.executorEnv.A=$(date)", "spark.yarn.appMasterEnv.B={{C}}", "spark.driver.extraClassPath=${D:-e}"),
        *(
            "spark.executorEnv.PASSWORD=S3cr$et",
            r"spark.executorEnv.PIN=1\$2a",
            "spark.executorEnv.OF_ITS_OWN=$PIN:$HOME",
        ),
    )
    warnings = translated(*line, "app.py").warnings
    assert [warning.partition(":")[0] for warning in warnings] == [
        *["spark.executorEnv.PASSWORD", "spark.executorEnv.A", "spark.driver.extraClassPath"]
    ]
    assert "S3cr" not in "".join(warnings)


def test_java_options_are_split_with_the_default_ones_first() -> None:
    result = translated(
        *conf(
            "spark.executor.extraJavaOptions=-Da='x y' -Db",
            "spark.executor.defaultJavaOptions=-Dc",
            "spark.executor.limitActiveProcessorCount.enabled=true",
        ),
        *("--executor-cores", "3", "--driver-java-options", "-Dspark.d=e"),
        "app.py",
    )
    assert result.executor_java_options == ("-Dc", "-Da=x y", "-Db", "-XX:ActiveProcessorCount=3")
    assert result.driver_java_options == ("-Dspark.d=e",)


def test_only_of_a_driver_in_client_mode_options_are_split_as_a_shell_does() -> None:
    text = r"""-Dre=\d+ "-Da=\"x\" \y" -Db='\d' -Dname=it's"""
    options = conf(f"spark.executor.extraJavaOptions={text}", f"spark.driver.extraJavaOptions={text} me'")
    result = translated(*options, "app.py")
    assert result.executor_java_options == (r"-Dre=\d+", '-Da="x" y', r"-Db=\d", "-Dname=its")
    assert result.driver_java_options == ("-Dre=d+", '-Da="x" y', r"-Db=\d", "-Dname=its me")
    cluster = translated("--deploy-mode", "cluster", *options, "app.py")
    assert cluster.driver_java_options == (r"-Dre=\d+", '-Da="x" y', r"-Db=\d", "-Dname=its me")


@pytest.mark.parametrize(("line", "count"), [([], 1), (["--executor-cores", "4", "--driver-cores", "7"], 4)])
def test_a_jvm_sees_as_many_processors_as_its_container_has_cores(line: list[str], count: int) -> None:
    limits = conf(*(f"spark.{role}.limitActiveProcessorCount.enabled=true" for role in ("driver", "executor")))
    result = translated(*line, *limits, "app.py")
    assert result.executor_java_options == (f"-XX:ActiveProcessorCount={count}",)
    assert result.driver_java_options == (f"-XX:ActiveProcessorCount={7 if line else 1}",)
    assert translated(*line, "app.py").executor_java_options == ()


VARIABLES = {"PYSPARK_PYTHON": "/shell", "PYSPARK_DRIVER_PYTHON": "/shell-driver"}


@pytest.mark.parametrize(
    ("line", "driver", "workers"),
    [
        ([], "/shell-driver", "/shell"),
        (["--environment", "venv:///v/"], "/v/bin/python", "/v/bin/python"),
        (["--environment", "python:///usr/bin/python3"], "/usr/bin/python3", "/usr/bin/python3"),
        (["--environment", "conda:///c/envs/e"], "/c/envs/e/bin/python", "/c/envs/e/bin/python"),
        (["--environment", "conda://e"], "python", "python"),
        (["--environment", "venv:///v", *conf("spark.pyspark.python=p")], "p", "p"),
        (conf("spark.pyspark.python=/p", "spark.pyspark.driver.python=/d"), "/d", "/p"),
        (conf("spark.yarn.appMasterEnv.PYSPARK_PYTHON=a"), "a", "a"),
        (conf("spark.yarn.appMasterEnv.PYSPARK_DRIVER_PYTHON=a"), "a", "/shell"),
        (conf("spark.yarn.appMasterEnv.PYSPARK_PYTHON={{PWD}}/e/bin/python"), "./e/bin/python", "./e/bin/python"),
        (
            conf("spark.yarn.appMasterEnv.PYSPARK_PYTHON=$X/bin/python", "spark.yarn.appMasterEnv.X=/x"),
            *["/x/bin/python"] * 2,
        ),
    ],
)
def test_which_python(line: list[str], driver: str, workers: str) -> None:
    result = translated(*line, "app.py", environ=VARIABLES)
    assert (result.python.driver, result.python.workers) == (driver, workers)
    assert result.properties["spark.pyspark.driver.python"] == driver
    assert result.properties["spark.pyspark.python"] == workers
    assert result.warnings == ()


def test_a_variable_that_nobody_set_is_no_part_of_a_pythons_path() -> None:
    with pytest.raises(UsageError, match=r"PYSPARK_PYTHON=\$X/bin/python.*not X"):
        translated(*conf("spark.yarn.appMasterEnv.PYSPARK_PYTHON=$X/bin/python"), "app.py")


SHIPPED = "./environment/bin/python"


@pytest.mark.parametrize(
    ("driver_python", "python", "client", "cluster"),
    [
        # The recipes of PySpark's page "Python Package Management": conda-pack and venv-pack, PEX, without an archive.
        ("python", SHIPPED, SHIPPED, "python"),
        ("/home/me/venv/bin/python", SHIPPED, SHIPPED, "/home/me/venv/bin/python"),
        ("", SHIPPED, SHIPPED, SHIPPED),
        ("python", "./pyspark_pex_env.pex", "./pyspark_pex_env.pex", "python"),
        ("jupyter", "python3", "python3", "jupyter"),
        # Meant for the container, or for every host.
        ("./other/bin/python", SHIPPED, "./other/bin/python", "./other/bin/python"),
        ("/opt/driver/python", "/opt/workers/python", "/opt/driver/python", "/opt/driver/python"),
        ("/opt/driver/python", "python3", "/opt/driver/python", "/opt/driver/python"),
        ("/opt/driver/python", "", "/opt/driver/python", "/opt/driver/python"),
        ("python3", "", None, "python3"),
    ],
)
@pytest.mark.parametrize("by_property", [False, True])
def test_a_drivers_python_of_this_machine_is_told_apart_in_client_mode(
    driver_python: str, python: str, client: str | None, cluster: str, by_property: bool
) -> None:
    environ = {"PYSPARK_DRIVER_PYTHON": driver_python, "PYSPARK_PYTHON": python}
    line = []
    if by_property:
        line = conf(f"spark.pyspark.driver.python={driver_python}", f"spark.pyspark.python={python}")
        environ = {}
    here = translated(*line, "app.py", environ=environ)
    there = translated(*line, "--deploy-mode", "cluster", "app.py", environ=environ)
    assert (here.python.driver, there.python.driver) == (client, cluster)
    assert here.python.workers == there.python.workers == (python or None)
    assert there.warnings == ()
    assert [f"PYTHON={driver_python} is" in text or f"python={driver_python} is" in text for text in here.warnings] == (
        [True] if client != cluster else []
    )


def test_a_named_conda_environment_is_activated() -> None:
    environment = translated("--environment", "conda://e", "app.py").python.environment
    assert environment is not None
    assert environment.activate is not None
    assert environment.activate.endswith("conda activate 'e'")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([], None),
        (["--spark-jars", "/opt/spark/jars"], SparkJars("directory", "/opt/spark/jars")),
        (["--spark-jars", "local:/opt/spark/jars/*"], SparkJars("directory", "/opt/spark/jars")),
        (["--spark-jars", "hdfs:///s.zip"], SparkJars("archive", "hdfs:///s.zip")),
        (conf("spark.yarn.archive=hdfs:///s.zip"), SparkJars("archive", "hdfs:///s.zip")),
        (conf("spark.yarn.archive=hdfs:/s.zip"), SparkJars("archive", "hdfs:///s.zip")),
        (conf("spark.yarn.jars=local:///opt/spark/jars/*"), SparkJars("directory", "/opt/spark/jars")),
        (conf("spark.yarn.jars=local:/s/*", "spark.yarn.archive=hdfs:///s.zip"), SparkJars("archive", "hdfs:///s.zip")),
    ],
)
def test_where_sparks_jars_are(line: list[str], expected: SparkJars | None) -> None:
    result = translated(*line, "app.py")
    assert result.spark_jars == expected
    assert result.warnings == ()


def test_the_path_of_sparks_jars_is_the_clusters() -> None:
    line = conf("spark.yarn.jars=local:/gw/jars/*", "spark.yarn.config.gatewayPath=/gw")
    result = translated(*line, *conf("spark.yarn.config.replacementPath=/cluster"), "app.py")
    assert result.spark_jars == SparkJars("directory", "/cluster/jars")


def test_the_users_classes_come_first_where_that_is_asked_for() -> None:
    keys = {"spark.driver.userClassPathFirst", "spark.executor.userClassPathFirst"}
    line = [*conf(*(f"{key}=true" for key in keys), "spark.driver.extraClassPath=/opt/o.jar"), "--jars", "local:/u.jar"]
    for given in (line, [*conf("spark.yarn.user.classpath.first=true"), *line[4:]]):
        for mode in ("client", "cluster"):
            result = translated("--deploy-mode", mode, *given, "app.py")
            assert {key: result.properties.get(key) for key in keys} == dict.fromkeys(keys, "true")
            # Spark's class loaders look into these before what is on the JVM's own class path.
            assert result.properties["spark.jars"] == "local:/u.jar"
            assert result.driver_class_path == ("/opt/o.jar",)


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ([], "client"),
        (conf("spark.submit.deployMode=cluster"), "cluster"),
        (["--deploy-mode", "cluster", *conf("spark.submit.deployMode=client")], "cluster"),
    ],
)
def test_where_the_deploy_mode_comes_from(line: list[str], mode: str) -> None:
    assert translated("--master", "yarn", *line, "app.py").deploy_mode == mode


def test_spark_jars_that_are_a_list_are_named_in_a_warning() -> None:
    result = translated(*conf("spark.yarn.jars=hdfs:///s/*.jar"), "app.py")
    assert result.spark_jars is None
    assert any(warning.startswith("spark.yarn.jars has no effect") for warning in result.warnings)


@pytest.mark.parametrize(
    ("key", "value"), [("spark.submit.callSystemExitOnMainExit", "true"), ("spark.app.submitTime", "123")]
)
def test_what_spark_submit_itself_reads_reaches_it_as_it_was_given(key: str, value: str) -> None:
    result = translated(*conf(f"{key}={value}"), "app.py")
    assert result.properties[key] == value
    assert result.warnings == ()


def test_secrets_are_in_the_properties_only() -> None:
    line = conf("spark.authenticate.secret=hunter2", "spark.hadoop.fs.s3a.secret.key=hunter2")
    result = translated(*line, "app.py")
    assert result.properties["spark.hadoop.fs.s3a.secret.key"] == "hunter2"
    assert "spark.authenticate.secret" not in result.properties
    assert any("spark.authenticate.secret" in warning for warning in result.warnings)
    rest = {name: getattr(result, name) for name in result.__struct_fields__ if name != "properties"}
    assert "hunter2" not in repr(rest)


def test_verbose_shows_each_property_with_its_origin_but_no_secret() -> None:
    result = translated("-v", *conf("spark.authenticate.secret=hunter2", "spark.a=b"), "app.py")
    assert "spark.a=b (--conf)" in result.report
    assert "hunter2" not in repr(result.report)
    assert translated("app.py").report == ()


def test_python_callers_may_write_numbers() -> None:
    request = read("app.py")
    numbers = type(request)(program="app.py", num_executors=3, executor_memory=2048)
    properties = translate(numbers, default_options(), {"SPARK_CONF_DIR": "/nonexistent"}).properties
    assert properties["spark.executor.instances"] == "3"
    assert properties["spark.executor.memory"] == "2048"


@pytest.mark.parametrize("prefix", ["spark.executorEnv.", "spark.yarn.appMasterEnv."])
def test_a_variable_that_no_shell_can_export_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match=r"'my\.var' cannot be the name of an environment variable"):
        translated("--conf", f"{prefix}my.var=1", "app.py")


def test_addresses_that_may_hold_a_password_are_no_arguments() -> None:
    line = "--packages a:b:1 --repositories https://me:word@h/r --jars https://me:word@h/w.jar app.py"
    properties = translated(*line.split()).properties
    assert properties["spark.jars.packages"] == "a:b:1"
    assert properties["spark.jars.repositories"] == "https://me:word@h/r"
    assert properties["spark.jars"] == "https://me:word@h/w.jar"
