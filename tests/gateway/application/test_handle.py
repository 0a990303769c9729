"""An application as the gateway sees it, in each state that it can be in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.cluster import AM, APP, EXECUTOR, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.core.messages import commands, events
from yarnspec.errors import ClusterUnreachable, NotAllowed, NotFound, UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.application.kill_cleanup import GivenUp
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.http.rest import Answer, BlockBody, ScaleBody, UnblockBody
from yarnspec.observe.http.server import RestServer
from yarnspec.observe.log.history import ApplicationRecord, Result
from yarnspec.yarn.files.local_files import LocalFiles

STARTED = events.AttemptStarted(
    application_id=APP, attempt=1, epoch=1, container_id=AM, host=HOSTS[0], placement_mode="blacklist"
)
EXECUTOR_STARTED = events.ContainerStarted(executor_id="1", container_id=EXECUTOR, host=HOSTS[2])
BLOCKED = commands.BlockHost(reason="slow disk", host=HOSTS[1], until_ms=None, by="me")
FINISHED = commands.FinishApplication(reason="ValueError", status="FAILED", exit_code=1)


@pytest.fixture
def cluster(tmp_path: Path) -> HandMadeCluster:
    cluster = HandMadeCluster(tmp_path)
    cluster.made_rm.reports[APP] = report()
    return cluster


@pytest.fixture
def application(cluster: HandMadeCluster) -> Iterator[Application]:
    application = Application(APP, cluster, pause=lambda _: None)
    yield application
    application.close()


@pytest.fixture
def negotiator(cluster: HandMadeCluster) -> Iterator[HandMadeNegotiator]:
    negotiator = HandMadeNegotiator()
    server = RestServer(negotiator, "the-token", "127.0.0.1")
    server.start()
    cluster.announce(server)
    yield negotiator
    server.stop()


def leave_open(epoch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDFS cannot close the last block of this epoch's events."""

    def recover_log(_files: LocalFiles, path: str, **_: float) -> None:
        if f"epoch-{epoch}" in path:
            raise ClusterUnreachable(f"HDFS did not recover the lease of {path}")

    monkeypatch.setattr(LocalFiles, "recover_log", recover_log)


@pytest.fixture
def unreadable(cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application of three epochs that has ended; the second one's events cannot be read."""
    leave_open(2, monkeypatch)
    cluster.record(STARTED, EXECUTOR_STARTED)
    cluster.record(STARTED, epoch=2)
    cluster.record(STARTED, BLOCKED, epoch=3)
    cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")


class SilentFiles(LocalFiles):
    """An HDFS that does not answer."""

    def read(self, path: str, *, offset: int = 0, size_bytes: int | None = None) -> bytes:  # noqa: ARG002
        raise ClusterUnreachable(f"HDFS does not answer: read {path}")

    def delete(self, path: str) -> bool:
        raise ClusterUnreachable(f"HDFS does not answer: delete {path}")


@pytest.mark.parametrize("text", ["", "app", "application_1_1/..", "application_1700000000000_0001 ", "job_1_0001"])
def test_what_is_no_id_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="not an application id"):
        Application.from_id(text)


def test_one_that_nobody_knows_is_not_found(application: Application, cluster: HandMadeCluster) -> None:
    cluster.made_rm.reports.clear()
    with pytest.raises(NotFound, match="neither YARN nor the history"):
        application.status()
    with pytest.raises(NotFound):
        list(application.events())
    with pytest.raises(NotFound):
        application.kill()


def test_one_of_another_kind_is_not_ours(application: Application, cluster: HandMadeCluster) -> None:
    cluster.made_rm.reports[APP] = report(type="SPARK")
    with pytest.raises(NotFound, match="of type SPARK"):
        application.kill()


class TestStatus:
    def test_one_that_waits_says_why(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report("ACCEPTED", am_host=None)
        cluster.made_rm.am_containers = []
        cluster.made_rm.pending = "the queue's AM share is used up"
        document = application.status()
        assert (document.state, document.pending_reason) == ("ACCEPTED", "the queue's AM share is used up")
        assert (document.name, document.user, document.containers) == ("etl", "me", ())
        assert document.links.resource_manager == f"http://rm/cluster/app/{APP}"

    def test_the_pages_of_the_drivers_logs_are_yarns(self, application: Application, cluster: HandMadeCluster) -> None:
        assert application.driver_log_pages() == {}
        cluster.made_rm.reports[APP] = report(am_logs="http://h:1/node/containerlogs/c/me")
        assert application.driver_log_pages() == {
            "stdout": "http://h:1/node/containerlogs/c/me/driver.stdout",
            "stderr": "http://h:1/node/containerlogs/c/me/driver.stderr",
        }

    @pytest.mark.usefixtures("negotiator")
    def test_one_that_runs_tells_itself(self, application: Application) -> None:
        assert application.status().phase == "executing"

    def test_one_whose_negotiator_is_not_there_yet(self, application: Application) -> None:
        document = application.status()
        assert (document.state, document.attempt, document.warnings) == ("RUNNING", 1, ())
        assert [(one.id, one.role, one.host) for one in document.containers] == [(AM, "am", HOSTS[0])]

    def test_while_hdfs_does_not_answer_it_is_what_yarn_knows(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        cluster.__dict__["files"] = SilentFiles(home=cluster.home)
        document = application.status()
        assert (document.state, document.attempt) == ("RUNNING", 1)
        assert "HDFS does not answer" in document.warnings[0]

    def test_one_of_another_user(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report(user="ann")
        assert "only ann" in application.status().warnings[0]

    def test_one_that_ended_with_its_last_status(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED, BLOCKED, FINISHED)
        last = StatusDocument(
            application_id=APP, state="FAILED", phase="finishing", attempt=1, pending_reason="no room"
        )
        cluster.history.finish(APP, Result(status="FAILED", exit_code=1, reason="x", finished_ms=7), last)
        cluster.made_rm.reports[APP] = report("FINISHED", "FAILED", diagnostics="ValueError", finished_ms=9)
        document = application.status()
        assert (document.state, document.phase, document.pending_reason, document.finished_ms) == (
            "FAILED", "ended", "", 9
        )  # fmt: skip
        assert document.final is not None
        assert (document.final.exit_code, document.final.reason) == (1, "ValueError")

    def test_one_that_was_killed_has_no_phase_and_no_rescale_that_goes_on(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        growing = commands.BeginRescale(number=1, cause="new requirements", wanted=4, before=2, reason="asked")
        executing = commands.EnterPhase(phase="executing", reason="a job began")
        cluster.record(STARTED, executing, growing)
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED", finished_ms=1_700_000_009_000)
        resources = application.status().resources
        assert resources is not None
        assert (resources.phase, resources.since_ms) == ("failed", 1_700_000_009_000)
        assert [(one.end_ms, one.why) for one in resources.rescales] == [
            (1_700_000_009_000, "the application ended")
        ]  # fmt: skip

    def test_one_that_was_killed_asks_for_nothing(self, application: Application, cluster: HandMadeCluster) -> None:
        wanted = (commands.WantedContainer(id="1", memory_mb=1, vcores=1),)
        cluster.record(
            STARTED,
            commands.RelaxPlacement(reason="full", rule="spread", wanted=("1",)),
            commands.UpdatePlacement(reason="asked", version=1, blocked_hosts=(), wanted=wanted),
        )
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        document = application.status()
        assert document.asks == ()
        assert [(one.reason, one.holds) for one in document.relaxations] == [("full", False)]

    def test_containers_of_earlier_attempts_are_there(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED)
        cluster.record(STARTED, epoch=2)
        last = StatusDocument(application_id=APP, state="SUCCEEDED", attempt=2, epoch=2)
        cluster.history.finish(APP, Result(status="SUCCEEDED", exit_code=0, reason="", finished_ms=7), last)
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        assert [(one.id, one.state) for one in application.status().containers] == [
            (AM, "COMPLETE"),
            (EXECUTOR, "COMPLETE"),
        ]

    @pytest.mark.usefixtures("unreadable")
    def test_it_has_ended_also_where_the_events_of_an_earlier_attempt_cannot_be_read(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        """Who waits for the end has to hear of it."""
        last = StatusDocument(application_id=APP, state="SUCCEEDED", attempt=3, epoch=3, warnings=("a warning",))
        cluster.history.finish(APP, Result(status="SUCCEEDED", exit_code=0, reason="", finished_ms=7), last)
        document = application.status()
        assert document.state == "SUCCEEDED"
        assert EXECUTOR in [one.id for one in document.containers]
        assert document.warnings[0] == "a warning"
        assert "HDFS did not recover the lease of" in document.warnings[1]

    @pytest.mark.usefixtures("unreadable")
    def test_so_it_has_where_nobody_could_write_its_last_status(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        document = application.status()
        assert (document.state, document.epoch) == ("KILLED", 3)
        assert "HDFS did not recover the lease of" in document.warnings[-1]

    def test_so_it_has_where_nothing_of_it_can_be_read(
        self, application: Application, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        leave_open(1, monkeypatch)
        cluster.record(STARTED)
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        document = application.status()
        assert (document.state, document.name) == ("KILLED", "etl")
        assert "HDFS did not recover the lease of" in document.warnings[-1]

    def test_no_copy_of_one_that_was_killed_runs_on(self, cluster: HandMadeCluster, application: Application) -> None:
        cluster.record(
            STARTED,
            events.StageStarted(stage=3, stage_attempt=0, name="s", tasks=2),
            commands.LaunchCopy(stage=3, stage_attempt=0, index=1, not_hosts=(), reason="slow"),
        )
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        document = application.status()
        assert document.speculation is not None
        assert (document.speculation.ledger.copies_launched, document.speculation.ledger.copies_running) == (1, 0)
        assert (document.stages[0].state, document.stages[0].copies_running) == ("FAILED", 0)

    def test_one_that_was_killed_is_put_together_from_its_events(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED, BLOCKED)
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED", diagnostics="killed by user ann")
        document = application.status()
        assert (document.state, document.attempt) == ("KILLED", 1)
        assert [(one.id, one.state) for one in document.containers] == [(AM, "COMPLETE"), (EXECUTOR, "COMPLETE")]
        assert [one.host for one in document.blocked_hosts] == [HOSTS[1]]
        assert document.final is not None
        assert (document.final.exit_code, document.final.reason) == (7, "killed by user ann")

    def test_one_that_never_started_has_yarns_word_only(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        cluster.made_rm.reports[APP] = report("FAILED", "FAILED", diagnostics="AM container exited with 1")
        document = application.status()
        assert (document.state, document.phase) == ("FAILED", "ended")
        assert document.final is not None
        assert document.final.reason == "AM container exited with 1"

    def test_one_that_yarn_has_forgotten(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED, FINISHED)
        cluster.made_rm.reports.clear()
        document = application.status()
        assert (document.state, document.phase, document.running_containers) == ("FAILED", "ended", 0)
        assert application.has_ended()

    def test_one_that_ends_while_it_is_asked(self, application: Application, cluster: HandMadeCluster) -> None:
        asked: list[int] = []

        def second_time_ended() -> None:
            asked.append(1)
            if len(asked) > 1:
                cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")

        cluster.made_rm.before_answer = second_time_ended
        assert application.status().state == "SUCCEEDED"


def test_wait_returns_the_last_status(application: Application, cluster: HandMadeCluster) -> None:
    asked: list[int] = []

    def third_time_ended() -> None:
        asked.append(1)
        if len(asked) >= 3:
            cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")

    cluster.made_rm.before_answer = third_time_ended
    assert application.wait(timeout_s=60).state == "SUCCEEDED"


def test_wait_has_a_deadline(application: Application) -> None:
    with pytest.raises(TimeoutError, match="has not ended"):
        application.wait(timeout_s=0)


class TestEvents:
    def test_those_of_an_application_that_ended(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED)
        cluster.record(STARTED, FINISHED, epoch=2)
        cluster.made_rm.reports[APP] = report("FINISHED", "FAILED")
        assert [(one.epoch, one.seq) for one in application.events()] == [(1, 1), (1, 2), (2, 1), (2, 2)]

    def test_earlier_epochs_and_the_live_one(
        self, application: Application, cluster: HandMadeCluster, tmp_path: Path
    ) -> None:
        cluster.record(STARTED, epoch=1)
        open_file = tmp_path / "history" / APP / "epoch-2"
        open_file.mkdir()
        (open_file / "events.jsonl").write_text("its writer lives: not to be read\n")
        negotiator = HandMadeNegotiator(2)
        negotiator.happened([STARTED, BLOCKED])
        server = RestServer(negotiator, "the-token", "127.0.0.1")
        server.start()
        cluster.announce(server, attempt=2)
        assert [(one.epoch, one.seq) for one in application.events()] == [(1, 1), (2, 1), (2, 2)]
        server.stop()

    def test_following_goes_on_to_the_end(
        self,
        application: Application,
        cluster: HandMadeCluster,
        negotiator: HandMadeNegotiator,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("yarnspec.gateway.application.eventstream._WAIT_S", 0.2)
        negotiator.happened([STARTED])
        stream = application.events(follow=True)
        assert next(stream).type == "AttemptStarted"
        negotiator.happened([BLOCKED])
        assert next(stream).type == "BlockHost"
        cluster.record(STARTED, BLOCKED, FINISHED)
        cluster.made_rm.reports[APP] = report("FINISHED", "FAILED")
        negotiator.happened([FINISHED])
        assert [(one.seq, one.type) for one in stream] == [(3, "FinishApplication")]

    @pytest.mark.usefixtures("unreadable")
    def test_those_that_cannot_be_read_keep_nobody_from_the_others(self, application: Application) -> None:
        stream = application.events()
        found = [next(stream) for _ in range(4)]
        assert [(one.epoch, one.seq) for one in found] == [(1, 1), (1, 2), (3, 1), (3, 2)]
        with pytest.raises(ClusterUnreachable, match="epoch-2"):
            next(stream)

    @pytest.mark.usefixtures("unreadable")
    def test_nor_from_those_of_the_epoch_that_runs(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report()
        negotiator = HandMadeNegotiator(4)
        negotiator.happened([STARTED])
        server = RestServer(negotiator, "the-token", "127.0.0.1")
        server.start()
        cluster.announce(server, attempt=4)
        stream = application.events()
        assert [next(stream).epoch for _ in range(5)] == [1, 1, 3, 3, 4]
        with pytest.raises(ClusterUnreachable, match="epoch-2"):
            next(stream)
        server.stop()

    @pytest.mark.usefixtures("unreadable")
    def test_what_the_others_explain_says_that_some_are_missing(self, application: Application) -> None:
        assert "HDFS did not recover the lease of" in application.explain(host=HOSTS[1]).lines[-1]
        with pytest.raises(ClusterUnreachable):  # it may be in those
            application.explain(task="3.0")

    def test_none_of_one_that_waits(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report("ACCEPTED")
        assert list(application.events()) == []


class TestHosts:
    def test_a_block_reaches_the_negotiator(self, application: Application, negotiator: HandMadeNegotiator) -> None:
        application.block_host(HOSTS[1], "10m", reason="slow disk")
        application.unblock_host(HOSTS[1])
        assert negotiator.asked == [
            BlockBody(host=HOSTS[1], reason="slow disk", by="me", duration_ms=600_000),
            UnblockBody(host=HOSTS[1], by="me"),
        ]

    def test_other_bounds_reach_the_negotiator(self, application: Application, negotiator: HandMadeNegotiator) -> None:
        application.scale(2, 4)
        assert negotiator.asked == [ScaleBody(min_executors=2, max_executors=4, by="me")]
        for least, most in ((0, 4), (4, 2)):
            with pytest.raises(UsageError, match="the least is 1 or more"):
                application.scale(least, most)
        negotiator.answer = Answer(accepted=False, reason="all hosts together have room for 3")
        with pytest.raises(NotAllowed, match="room for 3"):
            application.scale(9, 9)

    def test_a_refusal_says_why(self, application: Application, negotiator: HandMadeNegotiator) -> None:
        negotiator.answer = Answer(accepted=False, reason="1 of 3 hosts is blocked, which is the most")
        with pytest.raises(NotAllowed, match="which is the most"):
            application.block_host(HOSTS[1], reason="slow")

    def test_an_unknown_host_is_not_found(self, application: Application, negotiator: HandMadeNegotiator) -> None:
        with pytest.raises(NotFound, match=r"127\.0\.0\.22.*Did you mean 127\.0\.0\.2"):
            application.block_host("127.0.0.22", reason="slow")
        assert negotiator.asked == []

    @pytest.mark.parametrize("duration", ["", "10", "0s", "soon", "-1m"])
    @pytest.mark.usefixtures("negotiator")
    def test_a_malformed_duration_is_a_usage_error(self, application: Application, duration: str) -> None:
        with pytest.raises(UsageError):
            application.block_host(HOSTS[1], duration, reason="slow")

    def test_an_ended_application_blocks_nothing(self, application: Application, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        with pytest.raises(UsageError, match="has ended"):
            application.block_host(HOSTS[1], reason="slow")

    def test_the_list_after_the_end_shows_what_was_blocked(
        self, application: Application, cluster: HandMadeCluster
    ) -> None:
        cluster.record(STARTED, BLOCKED)
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED")
        assert [(one.host, one.blocked) for one in application.hosts()] == [
            (HOSTS[0], False),
            (HOSTS[1], True),
            (HOSTS[2], False),
        ]


WITH_PAGE = ApplicationRecord(
    application_id=APP, name="etl", user="me", queue="default", started_ms=5, options={"history": {"report": True}}
)


class OwnersCluster(HandMadeCluster):
    """The cluster as somebody else sees it for whom the user may act."""

    @property
    def user(self) -> str:
        return "ann"


class TestKill:
    @pytest.fixture
    def yarn(self, tmp_path: Path, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A ``yarn`` command that takes the kill, and what it was called with."""
        called = tmp_path / "called"
        program = tmp_path / "bin" / "yarn"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$@" > {called}\n')
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(program.parent), prepend=":")

        def killed_once_asked_for() -> None:
            if called.exists():
                cluster.made_rm.reports[APP] = report(
                    "KILLED", "KILLED", diagnostics="killed by user me", finished_ms=9
                )

        cluster.made_rm.before_answer = killed_once_asked_for
        return called

    def test_it_ends_and_leaves_nothing_but_its_history(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.record(STARTED, EXECUTOR_STARTED)
        cluster.staging.mkdir(parents=True)
        assert application.kill()
        assert yarn.read_text() == f"application -kill {APP}\n"
        assert not cluster.staging.exists()
        result = cluster.history.result(APP)
        assert result is not None
        assert (result.status, result.exit_code, result.reason) == ("KILLED", 7, "killed by me")
        assert application.status().state == "KILLED"
        assert cluster.history.report(APP) is None

    def test_the_page_that_its_options_ask_for_is_written(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.history.begin(WITH_PAGE)
        cluster.record(STARTED, EXECUTOR_STARTED)
        assert application.kill()
        assert yarn.exists()
        file = application.status().links.report
        assert file is not None
        page = Path(file).read_text(encoding="utf-8")
        assert "killed by me" in page
        assert "application attempt 1 begins" in page

    def test_a_page_that_cannot_be_written_is_told(
        self, application: Application, cluster: HandMadeCluster, yarn: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster.history.begin(WITH_PAGE)

        def full(*_: object) -> None:
            raise ClusterUnreachable("the disk is full")

        monkeypatch.setattr(cluster.history, "write_report", full)
        with pytest.raises(
            ClusterUnreachable, match=f"{APP} is killed, but its page is not in its history: the disk is"
        ):
            application.kill()
        assert yarn.exists()
        assert cluster.history.result(APP) is not None

    def test_the_reason_of_who_gave_up_is_told_afterwards(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.made_rm.reports[APP] = report("ACCEPTED", am_host=None)
        cluster.made_rm.am_containers = [""]
        because = GivenUp(exit_code=6, reason="its application master got no container within 5 s: no room")
        assert application.kill(because)
        assert yarn.exists()
        status = application.status()
        assert status.state == "KILLED"
        assert status.final is not None
        assert (status.final.exit_code, status.final.reason) == (6, because.reason)
        # Also when YARN has forgotten it.
        del cluster.made_rm.reports[APP]
        cluster.made_rm.before_answer = lambda: None
        forgotten = application.status()
        assert forgotten.final is not None
        assert (forgotten.state, forgotten.final.exit_code, forgotten.name) == ("KILLED", 6, "etl")

    def test_of_one_without_a_history_a_kill_writes_none(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.made_rm.reports[APP] = report("ACCEPTED", am_host=None)
        assert application.kill()
        assert yarn.exists()
        assert cluster.history.application(APP) is None

    def test_while_hdfs_does_not_answer_it_is_killed_and_told_what_stays(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.__dict__["files"] = SilentFiles(home=cluster.home)
        with pytest.raises(ClusterUnreachable, match=f"{APP} is killed, but its staging directory is left .* delete"):
            application.kill()
        assert yarn.exists()

    def test_one_that_ended_is_left_alone(self, application: Application, cluster: HandMadeCluster, yarn: Path) -> None:
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        assert not application.kill()
        assert not yarn.exists()

    def test_who_may_act_for_the_owner_cleans_up_as_the_owner(
        self, application: Application, cluster: HandMadeCluster, yarn: Path, tmp_path: Path
    ) -> None:
        owners = OwnersCluster(tmp_path / "ann")
        owners.made_rm = cluster.made_rm
        owners.__dict__["rm"] = cluster.made_rm
        owners.record(STARTED)
        owners.staging.mkdir(parents=True)
        cluster.may_act_for["ann"] = owners
        cluster.made_rm.reports[APP] = report(user="ann")

        def killed_once_asked_for() -> None:
            if yarn.exists():
                cluster.made_rm.reports[APP] = report("KILLED", "KILLED", user="ann")

        cluster.made_rm.before_answer = killed_once_asked_for
        assert application.kill()
        assert not owners.staging.exists()
        result = owners.history.result(APP)
        assert result is not None
        assert result.reason == "killed by me"

    def test_files_of_another_user_are_that_users(
        self, application: Application, cluster: HandMadeCluster, yarn: Path
    ) -> None:
        cluster.made_rm.reports[APP] = report(user="ann")
        cluster.staging.mkdir(parents=True)

        def killed_once_asked_for() -> None:
            if yarn.exists():
                cluster.made_rm.reports[APP] = report("KILLED", "KILLED", user="ann")

        cluster.made_rm.before_answer = killed_once_asked_for
        assert application.kill()
        assert cluster.staging.exists()
