"""The checks before a submit, and what they leave to be submitted."""

from __future__ import annotations

import errno
import os
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.gateway.calm_cluster import Rm, host
from tests.gateway.cluster import HandMadeCluster
from tests.gateway.lines import read
from yarnspec.core.messages.events import ClusterBlock
from yarnspec.errors import ClusterUnreachable, NotFound, UsageError
from yarnspec.gateway.submit import assembly
from yarnspec.gateway.submit.preparation import Prepared, dry_run_document, prepare, read_request
from yarnspec.gateway.translation.files import packing
from yarnspec.plan import HADOOP_CONF_JAR_FILE, SPARK_JARS_LINK, SPARK_PROPERTIES_FILE, SPARK_SECRET_FILE
from yarnspec.yarn.files.cluster_blocks import ListedBlocks
from yarnspec.yarn.hadoop.hadoop_conf import ATTEMPTS_KEY
from yarnspec.yarn.skein.skein_application import as_document


class Desk:
    """Prepares submit lines for a cluster of three hosts."""

    def __init__(self, directory: Path) -> None:
        self.cluster = HandMadeCluster(directory / "hdfs")
        self.rm = Rm("http://rm:8088")
        self.cluster.__dict__["rm"] = self.rm
        self.directory = directory / "staged"
        self.directory.mkdir()
        (directory / "hdfs").mkdir()

    def prepare(self, *line: str) -> Prepared:
        request = read(*line, "app.py")
        return prepare(request, self.cluster, read_request(request), self.directory)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    (tmp_path / "app.py").write_text("")
    (tmp_path / "data.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_CONF_DIR", "/nonexistent")
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(assembly, "jar_path", lambda: tmp_path / "yarnspec.jar")
    return Desk(tmp_path)


def test_the_queues_default_label_goes_along_and_is_no_label_of_the_executors(desk: Desk) -> None:
    desk.rm.made_queue = msgspec.structs.replace(desk.rm.made_queue, default_label="fast")
    plan = desk.prepare().plan
    assert (plan.queue_label, plan.executors.label) == ("fast", "")


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_plain_line(desk: Desk, mode: str) -> None:
    desk.rm.made_queue = msgspec.structs.replace(desk.rm.made_queue, name="night")
    prepared = desk.prepare(
        *["--deploy-mode", mode, "--queue", "night", "--name", "etl", "--files", "data.txt", "--num-executors", "3"],
        *["--executor-memory", "2g", "--executor-cores", "2", "--driver-memory", "3g"],
    )
    plan, application = prepared.plan, prepared.application
    assert (plan.name, plan.user, plan.queue, plan.initial_executors) == ("etl", "me", "night", 3)
    assert application.queue == "night"
    assert plan.queue_label == ""
    assert plan.largest_container == (8192, 8)
    assert plan.program.primary == "app.py"
    assert plan.executors.heap_mb == 2048
    assert plan.executors.container_memory_mb == 2048 + 384
    assert plan.executors.cores == 2
    assert plan.driver_heap_mb == 3072
    assert application.master.memory_mb == prepared.sizes.am_memory_mb
    assert application.master.files["app.py"].source == str(desk.directory.parent / "app.py")
    assert "data.txt" in application.executor.files
    assert "app.py" not in application.executor.files
    assert plan.history_directory.endswith("/hdfs/.yarnspec/history")
    assert prepared.placement.mode == "constraints"
    assert [one.host for one in prepared.hook.all_hosts] == [one.host for one in desk.rm.made_hosts]
    assert prepared.hook.application_type == "yarnspec"
    assert "spark.driver.memory" in plan.sized_properties
    assert "spark.executor.memory" in plan.executor_properties


def test_the_time_that_a_program_has_for_its_spark_context(desk: Desk) -> None:
    assert desk.prepare("--conf", "spark.yarn.am.waitTime=90s").plan.context_wait_ms == 90_000
    assert desk.prepare().plan.context_wait_ms == 0


def test_bytes_that_are_not_text_are_for_the_program_alone(desk: Desk) -> None:
    request = read("app.py", "caf\udce9", "größe")
    plan = prepare(request, desk.cluster, read_request(request), desk.directory).plan
    assert plan.program.arguments == (b"caf\xe9", "größe".encode())
    for line in (("--name", "caf\udce9"), ("--conf", "spark.executorEnv.X=\udce9")):
        with pytest.raises(UsageError, match=f"{line[0]}: it has bytes that are not UTF-8"):
            desk.prepare(*line)


class TestListedHosts:
    @pytest.fixture
    def listed(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[ClusterBlock]:
        blocks: list[ClusterBlock] = []

        class Shared:
            def read(self, now_ms: int) -> ListedBlocks:
                assert now_ms > 0
                return ListedBlocks(blocks=tuple(blocks))

        monkeypatch.setattr(desk.cluster, "shared_blocks", lambda _: Shared())
        return blocks

    def block(self, desk: Desk, number: int, *, admin: bool) -> ClusterBlock:
        return ClusterBlock(
            host=desk.rm.made_hosts[number].host, reason="r", by="b", since_ms=number, until_ms=None, admin=admin
        )

    def test_the_am_is_kept_off_them_too(self, desk: Desk, listed: list[ClusterBlock]) -> None:
        listed += [
            self.block(desk, 0, admin=False),
            ClusterBlock(host="gone", reason="r", by="b", since_ms=0, until_ms=None),
        ]
        prepared = desk.prepare()
        assert prepared.hook.am_excluded_hosts == (desk.rm.made_hosts[0].host,)
        assert prepared.plan.excluded_hosts == ()  # the negotiator reads the list itself

    def test_others_than_the_lists_owner_take_a_share_only(self, desk: Desk, listed: list[ClusterBlock]) -> None:
        listed += [self.block(desk, number, admin=False) for number in range(3)]
        assert len(desk.prepare().hook.am_excluded_hosts) == 1
        listed[:] = [self.block(desk, number, admin=True) for number in range(3)]
        assert len(desk.prepare().hook.am_excluded_hosts) == 2

    def test_a_constraint_that_holds_on_one_of_them_alone_is_a_warning(
        self, desk: Desk, listed: list[ClusterBlock]
    ) -> None:
        listed.append(self.block(desk, 0, admin=False))
        warnings = desk.prepare("--placement-constraint", "nm.yarn.io/host=127.0.0.2").warnings
        assert any("127.0.0.2: it is on the cluster's list of blocked hosts" in one for one in warnings)

    def test_a_list_that_cannot_be_read_is_a_warning(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(_: str) -> None:
            message = "HDFS does not answer"
            raise ClusterUnreachable(message)

        monkeypatch.setattr(desk.cluster, "shared_blocks", away)
        assert any("HDFS does not answer" in one for one in desk.prepare().warnings)


def test_a_host_that_is_never_blocked_and_not_known_is_a_warning(desk: Desk) -> None:
    known = desk.rm.made_hosts[0].host
    (warning,) = desk.prepare("--set", f"blocklist.never_hosts={known}, gone").warnings
    assert warning == "blocklist.never_hosts names hosts that the ResourceManager does not know: gone"
    assert desk.prepare("--set", f"blocklist.never_hosts={known}").warnings == ()


def test_a_host_that_only_sparks_property_excludes_and_yarn_has_forgotten_is_a_warning(desk: Desk) -> None:
    prepared = desk.prepare("--conf", "spark.yarn.exclude.nodes=gone,lost")
    assert prepared.warnings == (
        "spark.yarn.exclude.nodes names hosts that the ResourceManager does not know: gone, lost",
    )
    assert prepared.plan.excluded_hosts == ("gone", "lost")
    assert prepared.hook.am_excluded_hosts == ()
    with pytest.raises(NotFound, match="gone"):
        desk.prepare("--exclude-hosts", "gone", "--conf", "spark.yarn.exclude.nodes=gone")


def test_a_queue_that_yarn_may_create_is_a_warning(desk: Desk) -> None:
    desk.rm.made_queue = msgspec.structs.replace(desk.rm.made_queue, note="YARN may create it")
    assert desk.prepare().warnings == ("YARN may create it",)


def test_two_submits_never_share_a_secret(desk: Desk) -> None:
    secrets = set()
    for _ in range(2):
        desk.prepare()
        secrets.add((desk.directory / SPARK_SECRET_FILE).read_text())
    assert len(secrets) == 2
    assert all(len(secret) >= 32 for secret in secrets)


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (["--queue", "nope"], NotFound, "nope"),
        (["--executor-memory", "100g"], UsageError, "--executor-memory"),
        (["--executor-cores", "64"], UsageError, "--executor-cores"),
        (["--driver-memory", "100g"], UsageError, "--driver-memory"),
        (["--executor-memory", "100m"], UsageError, "471"),
        (["--executor-memory", "lots"], UsageError, "not a size"),
        (["--exclude-hosts", "127.0.0.9"], NotFound, "127.0.0.9"),
        (["--exclude-hosts", "127.0.0.2,127.0.0.3,127.0.0.4", "--force"], UsageError, "leave at least one"),
        (["--exclude-hosts", "127.0.0.2,127.0.0.3"], UsageError, "--force"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_submitted(
    desk: Desk, line: list[str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        desk.prepare(*line)
    assert not (desk.directory / SPARK_SECRET_FILE).exists()


def test_excluded_hosts_reach_the_negotiator_and_the_am(desk: Desk) -> None:
    prepared = desk.prepare("--exclude-hosts", "127.0.0.3")
    assert prepared.plan.excluded_hosts == prepared.hook.am_excluded_hosts == ("127.0.0.3",)
    assert not prepared.plan.force_excluded
    forced = desk.prepare("--exclude-hosts", "127.0.0.2,127.0.0.3", "--force")
    assert forced.plan.force_excluded


def test_a_lost_host_may_be_excluded_and_counts_for_nothing(desk: Desk) -> None:
    desk.rm.made_hosts.append(host("node9", state="LOST"))
    prepared = desk.prepare("--exclude-hosts", "node9,127.0.0.2")
    assert prepared.plan.excluded_hosts == ("node9", "127.0.0.2")
    assert "node9" not in [one.host for one in prepared.hook.all_hosts]


def test_constraints_that_do_not_work_are_refused_and_auto_falls_back(desk: Desk) -> None:
    desk.rm.handler = "disabled"
    assert desk.prepare().plan.placement_mode == "blacklist"
    with pytest.raises(UsageError, match="disabled"):
        desk.prepare("--set", "placement.mode=constraints")


@pytest.mark.parametrize(
    ("host_name", "why"),
    [("a", "it is excluded at submit"), ("c", "it has the node label gpu, and executors have none")],
)
def test_a_constraint_needs_a_host_that_takes_executors(desk: Desk, host_name: str, why: str) -> None:
    desk.rm.made_hosts = [host("a"), host("b"), host("c", labels=("gpu",))]
    line = ["--exclude-hosts", "a", "--placement-constraint"]
    with pytest.raises(UsageError, match=f"{host_name}: {why}"):
        desk.prepare(*line, f"nm.yarn.io/host={host_name}")
    desk.prepare(*line, f"or(nm.yarn.io/host={host_name}:nm.yarn.io/host=b)")


def test_hdfs_that_does_not_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_answer(*_: Any) -> None:
        raise ClusterUnreachable("no answer")

    monkeypatch.setattr(type(desk.cluster.files), "exists", no_answer)
    with pytest.raises(ClusterUnreachable):
        desk.prepare()


def test_the_plan_names_the_links_of_files_and_archives(desk: Desk) -> None:
    assert desk.prepare("--files", "app.py#a", "--archives", "hdfs:///b.zip#c").plan.program.files == ("a", "c")


def test_sparks_jars(desk: Desk) -> None:
    prepared = desk.prepare("--spark-jars", "/opt/spark/jars")
    assert prepared.plan.spark_jars == "/opt/spark/jars"
    assert SPARK_JARS_LINK not in prepared.application.executor.files


def test_an_environment_of_the_hosts(desk: Desk) -> None:
    plan = desk.prepare("--environment", "venv:///opt/v").plan
    assert plan.python == plan.driver_python == plan.worker_python == "/opt/v/bin/python"
    chosen = desk.prepare("--environment", "venv:///opt/v", "--conf", "spark.pyspark.python=/other").plan
    assert (chosen.python, chosen.driver_python, chosen.worker_python) == ("/opt/v/bin/python", "/other", "/other")


def test_a_directory_and_a_wheel_become_archives(desk: Desk, tmp_path: Path) -> None:
    package = tmp_path / "lib" / "made"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_text("")
    (package / ".hidden").write_text("")
    (package / "data").mkdir()
    (package / "data" / "words.txt").write_text("words")
    (package / "again").symlink_to(package)
    with zipfile.ZipFile(tmp_path / "w-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("w.py", "")
    files = desk.prepare("--py-files", "lib,w-1-py3-none-any.whl").application.executor.files
    archives = [Path(file.source) for file in files.values() if file.kind == "ARCHIVE"]
    assert [zipfile.ZipFile(path).namelist() for path in archives] == [
        ["made/__init__.py", "made/data/words.txt"],
        ["w.py"],
    ]
    assert all(path.suffix == ".zip" and path.is_relative_to(desk.directory) for path in archives)
    (tmp_path / "none.whl").write_text("no wheel")
    with pytest.raises(UsageError, match="is no wheel"):
        desk.prepare("--py-files", "none.whl")


def test_a_large_directory_is_shipped_with_a_word_about_its_size(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_bytes(b"#" * 3_000_000)
    assert desk.prepare("--py-files", "lib").warnings == ()
    for limit, least in (("LARGE_BYTES", 2_999_999), ("LARGE_FILES", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(packing, limit, least)
            (warning,) = desk.prepare("--py-files", "lib").warnings
        assert f"--py-files {tmp_path / 'lib'}: 3 MB in 1 files are packed" in warning


def test_a_package_is_packed_under_its_name(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine/deep", "not-a-package"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "types.py").write_text("")
    for name in ("mine", "mine/deep", "not-a-package"):
        (tmp_path / name / "__init__.py").write_text("")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "mine" / "deep")
    (tmp_path / "app.py").rename(outside / "app.py")
    monkeypatch.chdir(outside)

    def packed(entry: str) -> list[str]:
        everywhere = desk.prepare("--py-files", entry).application.executor.files
        (archive,) = (file.source for link, file in everywhere.items() if link.startswith("yarnspec-py-"))
        with zipfile.ZipFile(archive) as content:
            return content.namelist()

    package = ["mine/__init__.py", "mine/deep/__init__.py", "mine/deep/types.py"]
    assert packed("../mine/") == packed("../linked/..") == package
    assert packed("../linked") == ["linked/__init__.py", "linked/types.py"]
    assert packed("../not-a-package") == ["__init__.py", "types.py"]


def test_what_cannot_be_read_or_packed_is_named(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lib" / "closed").mkdir(parents=True)

    def scandir(path: Path) -> object:
        if path.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return os.scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(packing, "os", SimpleNamespace(scandir=scandir))
        with pytest.raises(UsageError, match="lib/closed cannot be read: Permission denied; make it readable"):
            desk.prepare("--py-files", "lib")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "lib" / "a.py").write_text("")
    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(UsageError, match="No space left on device; let TMPDIR"):
        desk.prepare("--py-files", "lib")


def test_yarns_settings_reach_the_hook(desk: Desk) -> None:
    hook = desk.prepare("--conf", "spark.yarn.priority=3", "--conf", "spark.yarn.tags=a,b").hook
    assert (hook.priority, hook.tags) == (3, ("a", "b"))


def test_the_history_servers_address_may_refer_to_properties_of_hadoop_and_of_spark(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "spark.yarn.historyServer.address"
    known = {"yarn.resourcemanager.hostname": "rm.example"}
    ask = desk.cluster.conf.get
    monkeypatch.setattr(desk.cluster.conf, "get", lambda name, default=None: known.get(name, ask(name, default)))
    address = "http://${hadoopconf-yarn.resourcemanager.hostname}:${spark.history.ui.port}"
    desk.prepare("--conf", f"{key}={address}/${{spark.none}}")
    shipped = msgspec.json.decode((desk.directory / SPARK_PROPERTIES_FILE).read_bytes())
    assert shipped[key] == "http://rm.example:18080/${spark.none}"
    desk.prepare("--conf", f"{key}={address}", "--conf", "spark.history.ui.port=9")
    shipped = msgspec.json.decode((desk.directory / SPARK_PROPERTIES_FILE).read_bytes())
    assert shipped[key] == "http://rm.example:9"


def test_the_links_to_logs_are_the_clusters(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (desk.prepare().plan.http_scheme, desk.prepare().plan.cluster_id) == ("http", "")
    known = {"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.cluster-id": "blue"}
    ask = desk.cluster.conf.get
    monkeypatch.setattr(desk.cluster.conf, "get", lambda name, default=None: known.get(name, ask(name, default)))
    assert (desk.prepare().plan.http_scheme, desk.prepare().plan.cluster_id) == ("https", "blue")


def test_the_dry_run_hides_secrets(desk: Desk) -> None:
    prepared = desk.prepare("--conf", "spark.hadoop.fs.s3a.secret.key=hush", "--conf", "spark.sql.x=1")
    document = dry_run_document(prepared, as_document(prepared.application))
    text = str(document)
    assert "hush" not in text
    assert (desk.directory / SPARK_SECRET_FILE).read_text() not in text
    spark = document["spark"]
    assert isinstance(spark, dict)
    assert spark["properties"]["spark.hadoop.fs.s3a.secret.key"] != "hush"
    assert spark["properties"]["spark.sql.x"] == "1"
    assert spark["master"] == "yarn"
    assert document["placement"] == {
        "mode": "constraints",
        "reason": prepared.placement.reason,
        "excluded_hosts": [],
    }


def test_no_more_attempts_than_the_resource_manager_grants(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("--conf", "spark.yarn.maxAppAttempts=9")
    told: dict[str, str] = {}
    ask = desk.rm.configuration
    monkeypatch.setattr(desk.rm, "configuration", lambda name: told.get(name, ask(name)))
    assert desk.prepare(*line).plan.max_attempts == 2  # YARN's default
    told["yarn.resourcemanager.am.max-attempts"] = "3"
    assert desk.prepare(*line).plan.max_attempts == 3
    told["yarn.resourcemanager.am.global.max-attempts"] = "5"
    assert desk.prepare(*line).plan.max_attempts == 5
    told["yarn.resourcemanager.am.global.max-attempts"] = "nonsense"
    assert desk.prepare(*line).plan.max_attempts == 2
    told["yarn.resourcemanager.am.global.max-attempts"] = "20"
    assert desk.prepare(*line).plan.max_attempts == 9


def test_only_yarn_decides_which_attempt_is_the_last(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    # Skein's AM counts attempts that YARN does not count: preempted ones, those of lost hosts, old ones.
    monkeypatch.setattr(desk.rm, "configuration", {"yarn.resourcemanager.am.global.max-attempts": "3"}.get)
    prepared = desk.prepare("--conf", "spark.yarn.maxAppAttempts=5")
    assert (prepared.hook.max_attempts, prepared.plan.max_attempts) == (5, 3)
    assert prepared.application.max_attempts > 1000
    assert _attempts_in_conf_jar(desk) == prepared.application.max_attempts


def test_where_old_failures_are_forgotten_no_attempt_is_the_last(desk: Desk) -> None:
    prepared = desk.prepare(
        "--conf", "spark.yarn.maxAppAttempts=2", "--conf", "spark.yarn.am.attemptFailuresValidityInterval=1h"
    )
    assert (prepared.hook.max_attempts, prepared.hook.attempt_failures_validity_interval_ms) == (2, 3_600_000)
    assert prepared.plan.attempts_are_forgotten


def _attempts_in_conf_jar(desk: Desk) -> int:
    with zipfile.ZipFile(desk.directory / HADOOP_CONF_JAR_FILE) as jar:
        site = ET.fromstring(jar.read("yarn-site.xml"))  # noqa: S314 - ours
    values = {item.findtext("name"): item.findtext("value") for item in site}
    return int(values[ATTEMPTS_KEY] or "")
