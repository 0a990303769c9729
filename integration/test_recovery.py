"""The driver or the application master dies in the middle: the next driver goes on with what is left.

A driver that dies alone has it in the same application master, in the next epoch; where that dies too it is the next
attempt's first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec, leftovers
from integration.programs.greedy_driver import HEAP_MB
from integration.soak.programs import shuffles
from integration.submitting import asked
from integration.waiting import wait_for
from yarnspec.errors import YarnspecError
from yarnspec.options import default_options

SOAK = Path(__file__).parent / "soak" / "programs"
ON = ["--set", "recovery.enabled=true"]
MANY_FILES = ["--set", "recovery.journal_appends=false"]
TOLD = {
    "JournalReplayed", "ShuffleDeclared", "AnswerShuffle", "ShuffleRestored", "OutputsReported", "RecordingStopped",
    "RecordingEnded", "SavedUnreadable", "AdoptionOff", "ReportRecoveryLimit", "GiveUpHost",
    "OfferSaved",
}  # fmt: skip
STARTED_AGAIN = "it is started again in the same application master"
LIVES = default_options().recovery.driver_restarts + 1
NEXT = {"driver-jvm": (1, 2), "skein-am": (2, LIVES + 1)}
"""Attempt and epoch after its death."""
SEED = 11
SHUFFLE_TASKS = shuffles.TASKS * (shuffles.STEPS + 1)
GREEDY_SUMS = "sums [(0, 180), (1, 190), (2, 200), (3, 210)]"
GREEDY_MAPS, GREEDY_REDUCES = 4, 2
FLUSH_MS = 1_500
"""What ended so long before the kill is durable: the flush interval, and some time to get there."""


@dataclass(frozen=True)
class Run:
    """A killed application after its end; ``said_last``: the last line of the program's output."""

    application: str
    said_last: str
    stderr: str
    status: dict[str, Any]
    records: list[dict[str, Any]]

    def finished(self, epoch: int) -> list[dict[str, Any]]:
        """The task attempts that succeeded in an epoch."""
        return [
            one
            for one in self.records
            if one["type"] == "TaskFinished" and one["epoch"] == epoch and one["state"] == "SUCCESS"
        ]

    @property
    def said(self) -> str:
        """What was told and decided about kept work, for a test that fails."""
        lines = [json.dumps(one) for one in self.records if one["type"] in TOLD]
        return "\n".join(line[:600] for line in lines)

    @property
    def recovery(self) -> dict[str, Any]:
        """What the status says of it."""
        found: dict[str, Any] = self.status["recovery"]
        return found


def tasks_done(cluster: Cluster, application: str) -> int:
    try:
        return asked(cluster, application).tasks.finished
    except YarnspecError:
        return 0


def killed(
    program: Path,
    *arguments: str,
    victim: str,
    after_tasks: int,
    submit: Submit,
    yarnspec: Yarnspec,
    cluster: Cluster,
    meanwhile: Callable[[str], object] = id,
    options: Sequence[str] = ON,
) -> Run:
    """Submit a program, kill a part of the application after so many tasks, and wait for its end.

    ``meanwhile`` is called with the application's id when its tasks have begun to run.
    """
    submission = submit(str(program), *arguments, options=options)
    application = submission.application_id()
    wait_for("a task", lambda: tasks_done(cluster, application), 120)
    meanwhile(application)
    wait_for(f"{after_tasks} tasks", lambda: tasks_done(cluster, application) >= after_tasks, 120)
    next(each for each in cluster.processes(application) if each.what == victim).kill()
    ended = submission.wait(180).expect(0)
    status = yarnspec("status", application, "-o", "json").expect(0).document
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
    return Run(application, ended.stdout.splitlines()[-1], ended.stderr, status, records)


@pytest.mark.one_a_day("the driver or its master dies")
@pytest.mark.parametrize("victim", ["driver-jvm", "skein-am"])
def test_what_is_left_of_an_rdd_job_is_not_computed_again(
    victim: str, submit: Submit, yarnspec: Yarnspec, cluster: Cluster
) -> None:
    """The result is right, and exactly what was not saved runs again; a blocked host stays so until its time.

    Once with a journal that is one file, once with one that is many.
    """
    program = SOAK / "shuffles.py"
    attempt, epoch = NEXT[victim]
    half = SHUFFLE_TASKS // 2
    blocked: list[dict[str, Any]] = []

    def block_a_host(application: str) -> None:
        # Not one that holds outputs: those would be given up.
        host = next(each for each in cluster.hosts if each not in cluster.containers(application).values())
        yarnspec("hosts", application, "block", host, "--for", "10m", "--reason", "slow disk").expect(0)
        blocked.extend(yarnspec("status", application, "-o", "json").expect(0).document["blocked_hosts"])

    run = killed(
        program, str(SEED), victim=victim, after_tasks=half, submit=submit, yarnspec=yarnspec, cluster=cluster,
        meanwhile=block_a_host, options=ON if victim == "driver-jvm" else [*ON, *MANY_FILES],
    )  # fmt: skip
    assert json.loads(run.said_last)["result"] == shuffles.expected(SEED)
    assert (run.status["attempt"], run.status["epoch"]) == (attempt, epoch)
    assert len(cluster.attempts(run.application)) == attempt
    assert run.stderr.count(STARTED_AGAIN) == (attempt == 1)
    assert run.stderr.count("attempt 1 was lost: its application master ended with exit code 137") == (attempt == 2)
    recovery = run.recovery
    assert recovery["restored_outputs"] == recovery["saved_outputs"] > 0, run.said
    last_ms = max(one["finish_ms"] for one in run.finished(1))
    durable = [one for one in run.finished(1) if one["finish_ms"] <= last_ms - FLUSH_MS]
    assert recovery["saved_outputs"] >= len(durable) > 0, run.said
    assert len(run.finished(epoch)) == SHUFFLE_TASKS - recovery["restored_outputs"], run.said
    (block,) = blocked
    assert [(one["host"], one["until_ms"]) for one in run.status["blocked_hosts"]] == [
        (block["host"], block["until_ms"])
    ]
    # The next attempt's own container is YARN's to place.
    executors_on = {host for one, host in cluster.launched(run.application).items() if not one.endswith("_000001")}
    assert block["host"] not in executors_on
    told = [one["reason"] for one in run.records if one["type"] == "BlockHost" and one["epoch"] == epoch]
    assert any(one.startswith("carried over from epoch 1: slow disk") for one in told) == (attempt == 2), told
    # Each epoch's records are all there, those from around the death too, and no executor has an id of an earlier one.
    for each in {1, epoch}:
        numbers = [one["seq"] for one in run.records if one["epoch"] == each]
        assert numbers == list(range(1, len(numbers) + 1))
    executors = {each: {one["executor_id"] for one in run.finished(each)} for each in (1, epoch)}
    assert not executors[1] & executors[epoch]
    if victim == "skein-am":
        check_what_is_told_after_the_end(run, block["host"], yarnspec)


def check_what_is_told_after_the_end(run: Run, blocked_host: str, yarnspec: Yarnspec) -> None:
    """The history directory has both attempts: the application's id is enough to see what was recorded, and why."""
    application, epoch = run.application, run.status["epoch"]
    verified = yarnspec("journal", "verify", application, "-o", "json").expect(0).document
    first, last = verified["epochs"]
    assert (first["epoch"], last["epoch"], last["state"]) == (1, epoch, "ended")
    assert first["state"] in {f"sealed by {epoch}", "ended"}  # it may hear of Skein's death before its own
    flags = ["--epoch", "1", "--type", "MapFinished"]
    maps = yarnspec("journal", "show", application, *flags, "-o", "json").expect(0).lines
    assert len({(one["shuffle"], one["index"]) for one in maps}) == run.recovery["saved_outputs"]
    # Stages are numbered anew in each driver epoch: this one is of the last.
    task = run.finished(epoch)[-1]
    name = f"{task['stage']}.{task['index']}"
    explained = yarnspec("explain", application, "--task", name, "-o", "json").expect(0).document
    ended = f"on {task['host']} (executor {task['executor_id']}) ended: success"
    assert [one for one in explained["lines"] if ended in one], explained
    explained = yarnspec("explain", application, "--host", blocked_host, "-o", "json").expect(0).document
    assert explained["verdict"].endswith("and was at the end"), explained
    # As it was made in the first attempt, and as the second one went on with it.
    blocks = [one for one in explained["lines"] if "slow disk" in one]
    assert ["carried over from epoch 1" in one for one in (blocks[0], blocks[-1])] == [False, True], explained


@pytest.mark.one_a_day("the driver or its master dies")
def test_a_driver_whose_jvm_ran_out_of_memory_is_started_again_in_the_same_application_master(
    submit: Submit, yarnspec: Yarnspec, tmp_path: Path
) -> None:
    """Its output follows that of its first life, and one line of stderr says what happened."""
    options = [*ON, "--set", "recovery.flush_interval=100ms"]
    submission = submit("greedy_driver.py", str(tmp_path / "marker"), "heap", options=options)
    application = submission.application_id()
    ended = submission.wait(120).expect(0)
    said = [line for line in ended.stdout.splitlines() if line.startswith(("begins", "sums"))]
    assert said == ["begins, first", "begins, again", GREEDY_SUMS]
    (warning,) = [line for line in ended.stderr.splitlines() if STARTED_AGAIN in line]
    assert "its JVM ran out of memory" in warning
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert (status["attempt"], status["epoch"], status["driver_restarts"]["count"]) == (1, 2, 1)
    assert "its JVM ran out of memory" in status["driver_restarts"]["why"]
    assert status["recovery"]["restored_outputs"] == status["recovery"]["saved_outputs"] == GREEDY_MAPS
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    story = [one["type"] for one in records if one["type"] in {"DriverLost", "BeginEpoch", "StartDriver"}]
    assert story == ["StartDriver", "DriverLost", "BeginEpoch", "StartDriver"]
    check_the_size_set_in_the_code(records, ended.stderr, last=2)


def check_the_size_set_in_the_code(records: list[dict[str, Any]], stderr: str, *, last: int) -> None:
    """No executor of another size registers, and the last epoch asks for none."""
    asked_for = [one for one in records if one["type"] == "RequestContainers"]
    others = {executor for one in asked_for if one["profile"] is None for executor in one["executor_ids"]}
    sizes = [(one["epoch"], one["profile"] and one["profile"]["heap_mb"]) for one in asked_for]
    assert sizes[0] == (1, None)
    assert {size for epoch, size in sizes if epoch == last} == {HEAP_MB}, sizes
    assert not others & {one["executor_id"] for one in records if one["type"] == "ContainerStarted"}
    assert stderr.count(f"the job starts sooner with --executor-memory {HEAP_MB}m at the submit") == 1


@pytest.mark.soak
def test_the_status_says_what_no_next_driver_can_go_on_with(submit: Submit, yarnspec: Yarnspec, tmp_path: Path) -> None:
    go = tmp_path / "go"
    submission = submit("keeps.py", "cached", str(tmp_path), str(go), options=ON)
    application = submission.application_id()

    def told() -> list[str]:
        submission.check_running()
        status = yarnspec("status", application, "-o", "json").expect(0).document
        return status["recovery"]["done_again"] if status.get("recovery") else []

    (said,) = wait_for("a word of the cached table", told, 120)
    assert "keeps.py" in said
    go.touch()
    assert submission.wait(120).expect(0).stdout.splitlines()[-1] == "RESULT 10 10"
    assert yarnspec("status", application, "-o", "json").expect(0).document["recovery"]["done_again"] == [said]


@pytest.mark.one_a_day("the driver or its master dies")
def test_a_driver_that_finishes_nothing_is_not_started_for_ever(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """Two such lives end the attempt, perhaps on a bad host, and one more the application, with the reason."""
    starts = tmp_path / "starts"
    submission = submit("dies.py", str(starts), options=ON)
    application = submission.application_id()
    ended = submission.wait(180).expect(1)
    why = "ended without a map output or a job that was not finished before: another one would end like them"
    assert why in ended.stderr
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert (status["state"], status["attempt"]) == ("FAILED", 2)
    assert why in status["final"]["reason"]
    assert len(starts.read_text().splitlines()) == 3
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)


@pytest.mark.one_a_day("the driver or its master dies")
def test_a_driver_that_outgrows_its_container_goes_on_in_the_next_attempt(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """YARN ends its whole application master for its memory; what is in the journal is not computed again."""
    options = [*ON, "--set", "recovery.flush_interval=100ms"]
    submission = submit("greedy_driver.py", str(tmp_path / "marker"), "container", options=options)
    application = submission.application_id()
    ended = submission.wait(240).expect(0)
    assert ended.stdout.splitlines()[-1] == GREEDY_SUMS
    attempts = cluster.attempts(application)
    master, host = attempts[0]["containerId"], attempts[0]["nodeId"].partition(":")[0]
    log = cluster.mini.home.log(f"nodemanager-{host}").read_text(errors="replace")
    assert [line for line in log.splitlines() if master in line and "beyond the 'PHYSICAL' memory limit" in line]
    status = yarnspec("status", application, "-o", "json").expect(0).document
    attempt, epoch = NEXT["skein-am"]
    assert (len(attempts), status["attempt"], status["epoch"]) == (attempt, attempt, epoch)
    recovery = status["recovery"]
    assert recovery["restored_outputs"] == recovery["saved_outputs"] == GREEDY_MAPS
    records = yarnspec("events", application, "-o", "json").expect(0).lines
    run = Run(application, ended.stdout.splitlines()[-1], ended.stderr, status, records)
    # The two jobs' reduces: their maps are those of the first life.
    assert len(run.finished(epoch)) == 2 * GREEDY_REDUCES, run.said
    check_the_size_set_in_the_code(records, ended.stderr, last=epoch)
    wait_for("nothing left", lambda: not leftovers(cluster, application), 20)
