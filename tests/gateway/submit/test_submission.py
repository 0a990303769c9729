"""``yarnspec.submit``: nothing leaves this machine before everything was checked."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

import yarnspec
from tests.gateway.calm_cluster import Rm
from tests.gateway.cluster import APP, HandMadeCluster, report
from yarnspec.errors import ClusterUnreachable, NotAllowed, UsageError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit import assembly, preparation, submission
from yarnspec.gateway.submit.interrupted import SubmissionInterrupted
from yarnspec.gateway.submit.preparation import Prepared
from yarnspec.gateway.submit.submission import dry_run, submit_request, sweep
from yarnspec.observe.log.history import ApplicationRecord
from yarnspec.options import default_options
from yarnspec.plan import Plan
from yarnspec.yarn.skein.skein_application import SkeinApplication
from yarnspec.yarn.skein.skein_submission import Submitted


class Yarn:
    """Takes submissions and remembers them."""

    def __init__(self) -> None:
        self.taken: list[SkeinApplication] = []
        self.how: dict[str, Any] = {}
        self.directories: list[Path] = []
        self.refuses = False
        self.breaks: BaseException | None = None
        self.plans: list[Plan] = []

    def submit(self, application: SkeinApplication, conf: object, **how: Any) -> Submitted:  # noqa: ARG002
        if self.refuses:
            raise ClusterUnreachable("no answer")
        if self.breaks is not None:
            how["on_broken"](APP)
            raise self.breaks
        for file in application.master.files.values():
            if file.source.startswith("/"):
                assert Path(file.source).exists(), file.source
        plan = Path(application.master.files["yarnspec-plan.json"].source)
        self.directories.append(plan.parent)
        self.plans.append(msgspec.json.decode(plan.read_bytes(), type=Plan))
        self.taken.append(application)
        self.how = how
        return Submitted(application_id=APP, staging_directory="/x")


class AlicesCluster(HandMadeCluster):
    """The cluster as alice sees it."""

    @property
    def user(self) -> str:
        return "alice"


class OwnersCluster(HandMadeCluster):
    """The cluster as whoever runs the tests sees it."""

    @property
    def user(self) -> str:
        return self.files.info(str(self.home)).owner


@pytest.fixture
def cluster(tmp_path: Path) -> HandMadeCluster:
    cluster = HandMadeCluster(tmp_path)
    cluster.__dict__["rm"] = Rm("http://rm:8088")
    return cluster


@pytest.fixture
def yarn(cluster: HandMadeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Yarn:
    yarn = Yarn()
    (tmp_path / "app.py").write_text("")
    jar = tmp_path / "yarnspec.jar"
    jar.write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_CONF_DIR", "/nonexistent")
    monkeypatch.setattr(Cluster, "from_environment", lambda settings=None: cluster)  # noqa: ARG005
    monkeypatch.setattr(submission, "submit_to_yarn", yarn.submit)
    for module in (assembly, submission):
        monkeypatch.setattr(module, "jar_path", lambda: jar)
    return yarn


def test_flags_by_name(yarn: Yarn) -> None:
    app = yarnspec.submit("app.py", "2026-11-20", num_executors=4, exclude_hosts=("127.0.0.3",), name="etl")
    assert app.id == APP
    (taken,) = yarn.taken
    assert taken.name == "etl"
    assert yarn.how["hook"].am_excluded_hosts == ("127.0.0.3",)
    assert yarn.how["timeout_s"] == default_options().cluster.connect_timeout_ms / 1000


def test_what_was_staged_is_gone_afterwards(yarn: Yarn) -> None:
    submit_request(SubmitRequest(program="app.py"))
    assert [directory for directory in yarn.directories if directory.exists()] == []
    yarn.refuses = True
    with pytest.raises(ClusterUnreachable):
        submit_request(SubmitRequest(program="app.py"))


def test_wrong_calls_are_usage_errors(yarn: Yarn) -> None:
    with pytest.raises(UsageError, match="num_executor"):
        yarnspec.submit("app.py", num_executor=4)
    with pytest.raises(UsageError, match="not both"):
        yarnspec.submit(SubmitRequest(program="app.py"), "argument")
    with pytest.raises(UsageError, match=r"none\.py"):
        yarnspec.submit("none.py")
    with pytest.raises(UsageError, match="--dry-run"):
        yarnspec.submit("app.py", dry_run=True)
    assert yarn.taken == []


def test_what_has_no_effect_is_logged(yarn: Yarn, caplog: pytest.LogCaptureFixture) -> None:
    yarnspec.submit("app.py", conf={"spark.yarn.nonsense": "1"})
    assert len(yarn.taken) == 1
    (said,) = (each for each in caplog.records if "spark.yarn.nonsense" in each.getMessage())
    assert (said.levelname, said.name.partition(".")[0]) == ("WARNING", "yarnspec")


def test_the_user_is_told_what_was_found_out_before_the_submission(yarn: Yarn) -> None:
    def look(prepared: Prepared) -> None:
        assert prepared.placement.mode == "constraints"
        assert yarn.taken == []
        raise UsageError("stop here")

    with pytest.raises(UsageError, match="stop here"):
        submit_request(SubmitRequest(program="app.py"), look)
    assert yarn.taken == []


def test_for_another_user_it_is_that_users_application(yarn: Yarn, cluster: HandMadeCluster) -> None:
    with pytest.raises(NotAllowed, match="act for alice"):
        yarnspec.submit("app.py", proxy_user="alice")
    assert yarn.taken == []
    alices = AlicesCluster(cluster.home)
    alices.__dict__["rm"] = cluster.rm
    cluster.may_act_for["alice"] = alices
    app = yarnspec.submit("app.py", proxy_user="alice")
    assert app.cluster is alices
    (taken,) = yarn.taken
    assert (taken.proxy_user, yarn.plans[0].user) == ("alice", "alice")
    yarnspec.submit("app.py", proxy_user="me")
    assert yarn.taken[-1].proxy_user == ""


@pytest.mark.parametrize("taken", [False, True], ids=["unknown to YARN", "taken by YARN"])
@pytest.mark.parametrize("breaks", [KeyboardInterrupt(), ClusterUnreachable("It did not end.")], ids=["^C", "deadline"])
def test_what_a_broken_submission_uploaded_is_deleted(
    breaks: BaseException, taken: bool, yarn: Yarn, cluster: HandMadeCluster
) -> None:
    cluster.staging.mkdir(parents=True)
    if taken:
        cluster.rm.reports[APP] = report("ACCEPTED")  # type: ignore[attr-defined] # the hand-made one
    yarn.breaks = breaks
    with pytest.raises((SubmissionInterrupted, ClusterUnreachable)) as raised:
        yarnspec.submit("app.py")
    assert type(raised.value) is (
        ClusterUnreachable if isinstance(breaks, ClusterUnreachable) else SubmissionInterrupted
    )
    assert cluster.staging.exists() == taken
    assert ("YARN has taken" if taken else "what was uploaded is deleted") in str(raised.value)


def test_leftovers_are_swept_by_both_ways_to_submit(yarn: Yarn, monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[int] = []

    def note(*_: object) -> None:
        swept.append(len(yarn.taken))

    monkeypatch.setattr("yarnspec.yarn.skein.staging_directory.sweep", note)
    yarnspec.submit("app.py")
    assert swept == [1]  # after the submission, and before the script goes on
    assert submit_request(SubmitRequest(program="app.py")).sweep.problems() == []
    assert swept == [1, 2]


def test_what_could_not_be_swept_is_a_warning(
    yarn: Yarn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ClusterUnreachable("no answer")

    monkeypatch.setattr("yarnspec.yarn.skein.staging_directory.sweep", fail)
    yarnspec.submit("app.py")
    assert len(yarn.taken) == 1
    assert "not swept: no answer" in caplog.text


def test_only_a_submit_that_follows_in_client_mode_announces_a_reader(
    yarn: Yarn, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[bool] = []
    real = preparation.prepare

    def prepare(*given: Any, **more: Any) -> Prepared:
        prepared = real(*given, **more)
        plans.append(prepared.plan.streams)
        return prepared

    monkeypatch.setattr(submission, "prepare", prepare)
    yarnspec.submit("app.py")
    submit_request(SubmitRequest(program="app.py"), follows=True)
    submit_request(SubmitRequest(program="app.py", deploy_mode="cluster"), follows=True)
    assert plans == [False, True, False]
    assert len(yarn.taken) == 3


def test_a_dry_run_submits_nothing(yarn: Yarn) -> None:
    document = dry_run(SubmitRequest(program="app.py", dry_run=True))
    assert yarn.taken == []
    assert document["name"] == "app.py"
    skein = document["skein"]
    assert isinstance(skein, dict)
    assert skein["services"]["executor"]["instances"] == 0


def test_a_sweep_that_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = HandMadeCluster(tmp_path)
    cluster.made_rm.reports[APP] = report()
    for error in (ClusterUnreachable("no answer"), FileNotFoundError("somebody else swept it")):

        def fail(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("yarnspec.yarn.skein.staging_directory.sweep", fail)
        (problem,) = sweep(cluster)
        assert str(error) in problem


def test_history_of_applications_that_yarn_has_forgotten_goes_too(tmp_path: Path) -> None:
    cluster = OwnersCluster(tmp_path)
    old_s = time.time() - 30 * 24 * 3600
    for number in (1, 2, 3):
        application_id = f"application_1700000000000_000{number}"
        cluster.history.begin(
            ApplicationRecord(application_id=application_id, name="n", user="me", queue="q", started_ms=1)
        )
        directory = cluster.history.path(application_id)
        os.utime(directory, (old_s, old_s))
    assert sweep(cluster) == []
    assert cluster.files.list(str(Path(directory).parent)) == []
