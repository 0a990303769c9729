"""status, events, hosts, kill and logs: what is printed where, and the exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest
import yaml
from rich.console import Console

from tests.cli.conftest import Run
from tests.gateway.cluster import AM, APP, EXECUTOR, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec import options
from yarnspec.cli.status import print_status
from yarnspec.core import commands, events
from yarnspec.core.speculationview import Explanation
from yarnspec.observe.document import (
    BlockedHost,
    BlockStatus,
    ContainerStatus,
    Final,
    KeptOnHost,
    Ledger,
    Links,
    LiveAdoption,
    RecoveryStatus,
    SpeculationStatus,
    StageMetrics,
    StageStatus,
    StatusDocument,
    TaskCounts,
)
from yarnspec.observe.history import ApplicationRecord
from yarnspec.observe.rest import Answer, BlockBody, HostEntry
from yarnspec.yarn.cluster_blocks import ClusterBlocks

STARTED = events.AttemptStarted(
    application_id=APP, attempt=1, epoch=1, container_id=AM, host=HOSTS[0], placement_mode="blacklist"
)
BLOCKED = commands.BlockHost(reason="slow disk", host=HOSTS[1], until_ms=None, by="me")
STAGE_OF_TWO = (
    events.StageStarted(stage=3, stage_attempt=0, name="s", tasks=2),
    *(
        events.TaskFinished(
            stage=3,
            stage_attempt=0,
            index=index,
            attempt=0,
            task_id=index,
            executor_id="1",
            host=HOSTS[index],
            state="SUCCESS",
            launch_ms=1_700_000_000_000,
            finish_ms=1_700_000_002_000,
        )
        for index in range(2)
    ),
    events.StageFinished(stage=3, stage_attempt=0),
)
DOCUMENT = StatusDocument(
    application_id=APP,
    name="etl [bold]nightly\x1b[31m",
    user="me",
    queue="root.default",
    state="RUNNING",
    phase="executing",
    attempt=1,
    epoch=1,
    placement_mode="blacklist",
    started_ms=1_700_000_000_000,
    containers=(
        ContainerStatus(id=AM, host=HOSTS[0], role="am", state="RUNNING"),
        ContainerStatus(id=EXECUTOR, host=HOSTS[2], role="executor", state="COMPLETE", executor_id="1", exit_code=137),
    ),
    blocked_hosts=(BlockedHost(host=HOSTS[1], reason="slow disk", until_ms=1_700_000_090_000, by="me"),),
    wanted_containers=2,
    running_containers=1,
    pending_reason="no room in the queue",
    stages=(StageStatus(stage=3, stage_attempt=1, name="count", tasks=9, finished=4, failed=1, state="RUNNING"),),
    tasks=TaskCounts(running=2, finished=4, total=9, failed=1),
    links=Links(resource_manager="http://rm/app", spark_ui="http://h:4040"),
    warnings=("the program sets spark.master",),
)


class TestStatus:
    def test_json_has_the_documented_fields(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.document = DOCUMENT
        ran = yarnspec("status", APP, "-o", "json")
        document = json.loads(ran.out)
        assert (ran.code, ran.err) == (0, "")
        assert {"application_id", "state", "attempt", "epoch", "placement_mode"} <= document.keys()
        assert {"id", "host", "role", "state"} <= document["containers"][0].keys()
        assert {"host", "reason", "until_ms"} <= document["blocked_hosts"][0].keys()

    def test_yaml_says_the_same(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.document = DOCUMENT
        assert yaml.safe_load(yarnspec("status", APP, "-o", "yaml").out) == json.loads(
            yarnspec("status", APP, "-o", "json").out
        )

    @pytest.mark.parametrize("width", [80, 200])
    def test_the_page(self, width: int) -> None:
        console = Console(width=width, record=True, color_system=None, highlight=False)
        with console.capture() as capture:
            print_status(DOCUMENT, console, 1_700_000_030_000)
        page = capture.get()
        assert max(map(len, page.splitlines())) <= width
        for words in (
            "RUNNING (executing), attempt 1",
            "runs for 30 s",
            "1 of 2 run",
            "no room in the queue",
            "4 of 9 done, 2 running, 1 attempts failed",
            "executor 1",
            "COMPLETE 137",
            "for 1 min 0 s more",
            "3.1",
            "4/9, 1 failed",
            "warning: the program sets spark.master",
            "etl [bold]nightly",
        ):
            assert words in page
        assert "\x1b" not in page

    @pytest.mark.parametrize(
        ("recovery", "words"),
        [
            (
                RecoveryStatus(
                    recording=True,
                    recorded_shuffles=2,
                    saved_outputs=9,
                    restored_outputs=6,
                    not_restored={"truncated": 1, "host lost": 2},
                    lost_hosts={"h2": "blocked", "h1": "LOST"},
                    kept=(KeptOnHost(host="h", outputs=4, bytes=5 * 1024**2),),
                    carried_over="carried over from epoch 1: 2 blocks",
                    not_recorded={"it belongs to a stream": 1, "it reads a cached RDD": 4, "a": 1, "b": 1},
                    live=(
                        LiveAdoption(executor_id="1", host="h", outputs=5, adopted=3, lost=2, why="all were looked at"),
                        LiveAdoption(executor_id="2", host="h", outputs=4),
                    ),
                ),
                (
                    "6 of 9 map outputs of earlier epochs used again (2: host lost, 1: truncated)",
                    "2 shuffles recorded",
                    "carried over from epoch 1: 2 blocks",
                    "given up: what is on h1, h2",
                    "4 outputs (5m) of ended executors on 1 hosts",
                    "of 2 executors that died 3 outputs were taken over, 2 lost, 4 are waited for",
                    "7 shuffles not recorded (4: it reads a cached RDD, 1: a, 1: b, 1 for other reasons (-o json))",
                ),
            ),
            (
                RecoveryStatus(recording=True, recorded_shuffles=2, why_not="there is no room"),
                ("2 shuffles recorded (there is no room)",),
            ),
            (
                RecoveryStatus(
                    recording=True, done_again=("cached data", "a writes", "b writes", "c writes", "d writes")
                ),
                ("0 shuffles recorded; cached data; a writes; b writes; 2 more that would be done again (-o json)",),
            ),
            (RecoveryStatus(recording=False, why_not="the disk is full"), ("nothing is recorded: the disk is full",)),
        ],
    )
    def test_kept_work(self, recovery: RecoveryStatus, words: tuple[str, ...]) -> None:
        console = Console(width=500, record=True, color_system=None, highlight=False)
        with console.capture() as capture:
            print_status(msgspec.structs.replace(DOCUMENT, recovery=recovery), console, 1_700_000_030_000)
        (line,) = [line for line in capture.get().splitlines() if line.startswith("kept work")]
        for each in words:
            assert each in line

    @pytest.mark.parametrize("width", [80, 120])
    def test_slow_tasks_copies_and_blocks(self, width: int) -> None:
        metrics = StageMetrics(num_slow_tasks=1, num_effective_copies=2, speculative_execution_count_metrics=3)
        block = {"reason": "3.0x slower", "by": "yarnspec", "since_ms": 0, "until_ms": 1_700_000_090_000}
        document = msgspec.structs.replace(
            DOCUMENT,
            stages=(msgspec.structs.replace(DOCUMENT.stages[0], metrics=metrics, copies_running=1),),
            blocks=(
                BlockStatus(level="application", cause="slow", host=HOSTS[1], **block),  # type: ignore[arg-type]
                BlockStatus(level="task", cause="slow", host=HOSTS[2], executor_id="4", stage=3, index=7, **block),  # type: ignore[arg-type]
            ),
            speculation=SpeculationStatus(
                enabled=True,
                detector="progress",
                slow_tasks=1,
                extra_containers=1,
                ledger=Ledger(copies_launched=3, copies_won=2, copies_running=1, gained_ms=65_000, wasted_ms=4_000),
            ),
        )
        console = Console(width=width, color_system=None, highlight=False)
        with console.capture() as capture:
            print_status(document, console, 1_700_000_030_000)
        page = capture.get()
        assert max(map(len, page.splitlines())) <= width
        flat = " ".join(page.split())
        for words in (
            "1 now; 3 copies, 2 of them first, 1 running; 1 containers for copies; about 1 min 5 s of tasks gained",
            "1 slow, 2/3 copies first",
            "the application",
        ):
            assert words in flat
        if width > 80:
            assert f"executor 4 on {HOSTS[2]} task 3.7 for 1 min 0 s more 3.0x slower yarnspec" in flat

    def test_without_copies_there_is_no_column_for_them(self) -> None:
        console = Console(width=80, color_system=None, highlight=False)
        with console.capture() as capture:
            print_status(DOCUMENT, console, 1_700_000_030_000)
        assert "COPIES" not in capture.get()

    def test_a_stages_name_is_cut_to_one_line(self) -> None:
        name = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"
        stage = StageStatus(
            stage=104, stage_attempt=0, name=name, tasks=2000, finished=1999, failed=12, state="SUCCEEDED"
        )
        for width, whole in ((80, False), (10_000, True)):
            console = Console(width=width, color_system=None, highlight=False)
            with console.capture() as capture:
                print_status(msgspec.structs.replace(DOCUMENT, stages=(stage,)), console, 1_700_000_030_000)
            (line,) = [line for line in capture.get().splitlines() if line.startswith("104")]
            assert len(line) <= width
            assert "1999/2000, 12 failed  SUCCEEDED" in line
            assert (name in line, "…" in line) == (whole, not whole)

    def test_an_application_that_failed_is_no_failure_of_the_command(
        self, yarnspec: Run, cluster: HandMadeCluster
    ) -> None:
        cluster.made_rm.reports[APP] = report("FINISHED", "FAILED", diagnostics="ValueError: no")
        ran = yarnspec("status", APP)
        assert ran.code == 0
        assert "FAILED, attempt 1, exit code 1" in ran.out
        assert "ValueError: no" in ran.out

    def test_one_that_was_killed_before_its_first_record(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        entry = ApplicationRecord(
            application_id=APP, name="etl", user="me", queue="default", started_ms=5, placement_mode="constraints"
        )
        cluster.history.begin(entry)
        cluster.made_rm.reports[APP] = report("KILLED", "KILLED", diagnostics="killed by ann")
        document = json.loads(yarnspec("status", APP, "-o", "json").out)
        assert (document["state"], document["attempt"], document["placement_mode"]) == ("KILLED", 1, "constraints")
        assert [(one["id"], one["host"], one["state"]) for one in document["containers"]] == [
            (AM, HOSTS[0], "COMPLETE")
        ]
        assert document["final"]["reason"] == "killed by ann"
        ran = yarnspec("events", APP)
        assert (ran.code, ran.out) == (0, "")
        assert "it ended before the first was written (KILLED, killed by ann)" in ran.err

    def test_exit_codes(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        assert yarnspec("status", "nonsense").code == 2
        cluster.made_rm.reports.clear()
        ran = yarnspec("status", APP)
        assert (ran.code, ran.out) == (5, "")
        assert f"there is no application {APP}" in ran.err

    def test_many_ended_containers_are_counted(self) -> None:
        gone = tuple(
            ContainerStatus(id=f"c{number}", host="h", role="executor", state="COMPLETE") for number in range(50)
        )
        document = StatusDocument(application_id=APP, state="SUCCEEDED", containers=gone, final=Final(
            status="SUCCEEDED", exit_code=0, reason=""
        ))  # fmt: skip
        console = Console(width=200, color_system=None)
        with console.capture() as capture:
            print_status(document, console, 0)
        assert "and 30 that ended before" in capture.get()
        assert "c49 " in capture.get()


class TestEvents:
    def test_json_is_one_object_a_line(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        ran = yarnspec("events", APP, "-o", "json")
        lines = [json.loads(line) for line in ran.out.splitlines()]
        assert [(line["seq"], line["kind"], line["type"]) for line in lines] == [
            (1, "event", "AttemptStarted"),
            (2, "command", "BlockHost"),
        ]
        assert lines[1]["reason"] == "slow disk"

    def test_yaml_documents(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        found = list(yaml.safe_load_all(yarnspec("events", APP, "-o", "yaml").out))
        assert [one["type"] for one in found] == ["AttemptStarted", "BlockHost"]

    def test_the_table_shows_reasons(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.happened([STARTED, BLOCKED])
        ran = yarnspec("events", APP, "--type", "BlockHost")
        assert ran.out.count("\n") == 1
        assert f"BlockHost            host={HOSTS[1]} by=me (slow disk)" in ran.out

    def test_an_unknown_type_is_a_usage_error(self, yarnspec: Run) -> None:
        ran = yarnspec("events", APP, "--type", "BlokHost")
        assert ran.code == 2
        assert "'BlockHost'" in ran.err

    def test_a_gap_is_told(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        from yarnspec.observe.eventlog import EventLog

        negotiator.log._logs = (EventLog(1, others_bytes=100),)
        negotiator.happened([STARTED, BLOCKED, BLOCKED])
        ran = yarnspec("events", APP, "-o", "json")
        assert "2 records of epoch 1 are not in the negotiator's memory" in ran.err


class TestHosts:
    def test_list(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        assert negotiator.asked == []
        ran = yarnspec("hosts", APP, "list")
        assert [line.split()[0] for line in ran.out.splitlines()[1:]] == list(HOSTS)
        assert len(json.loads(yarnspec("hosts", APP, "list", "-o", "json").out)["hosts"]) == len(HOSTS)

    def test_a_block_for_all_applications_is_told_from_ones_own(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        entry = HostEntry(host=HOSTS[0], state="RUNNING", blocked=True, reason="disk", level="cluster", by="ann")
        negotiator.hosts = lambda: [entry]  # type: ignore[method-assign]
        assert "until it is unblocked, for all applications  disk" in yarnspec("hosts", APP, "list").out

    def test_block_and_unblock(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "--for", "10m", "--reason", "slow disk", "--force")
        assert (ran.code, ran.out) == (0, f"{HOSTS[1]} is blocked for 10m\n")
        asked = negotiator.asked[0]
        assert isinstance(asked, BlockBody)
        assert (asked.duration_ms, asked.reason, asked.force) == (600_000, "slow disk", True)
        ran = yarnspec("hosts", APP, "unblock", HOSTS[1], "-o", "json")
        assert json.loads(ran.out) == {"schema": 1, "host": HOSTS[1], "blocked": False, "reason": ""}

    def test_an_unblock_of_a_host_that_the_clusters_list_blocks_too(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        words = "unblocked by me, but the cluster's list blocks it for all applications"
        negotiator.answer = Answer(accepted=True, reason=words, still_blocked=True)
        ran = yarnspec("hosts", APP, "unblock", HOSTS[1])
        assert (ran.code, ran.err) == (0, f"{words}\n")
        assert "is not blocked any more\n" not in ran.out
        assert "but still for all applications" in ran.out
        assert json.loads(yarnspec("hosts", APP, "unblock", HOSTS[1], "-o", "json").out)["blocked"] is True

    def test_the_answer_of_a_driver_that_has_not_heard_yet(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        words = "disk (blocked by me for 600 s); the driver has not confirmed it yet"
        negotiator.answer = Answer(accepted=True, reason=words)
        ran = yarnspec("hosts", APP, "block", HOSTS[1])
        assert (ran.code, ran.out, ran.err) == (0, f"{HOSTS[1]} is blocked until it is unblocked\n", f"{words}\n")
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "-o", "json")
        assert (ran.code, json.loads(ran.out)["reason"], ran.err) == (0, words, "")

    def test_a_block_that_is_shorter_than_the_one_in_force(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.answer = Answer(accepted=True, reason="nothing had to change", changed=False)
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "--for", "10m")
        assert ran.code == 0
        assert "10m" not in ran.out
        assert "blocked for as long or longer already" in ran.out

    def test_a_refusal(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.answer = Answer(accepted=False, reason="1 of 3 hosts may be blocked; --force")
        ran = yarnspec("hosts", APP, "block", HOSTS[1])
        assert (ran.code, ran.out) == (4, "")
        assert "1 of 3 hosts may be blocked" in ran.err

    @pytest.mark.usefixtures("negotiator")
    def test_wrong_input(self, yarnspec: Run) -> None:
        assert yarnspec("hosts", APP, "block", "no-such-host").code == 5
        assert yarnspec("hosts", APP, "block", HOSTS[1], "--for", "ten").code == 2
        ran = yarnspec("hosts", APP, "blok", HOSTS[1])
        assert ran.code == 2
        assert "'block'" in ran.err


class TestClusterHosts:
    @pytest.fixture(autouse=True)
    def _on_files(self, cluster: HandMadeCluster, tmp_path: Path) -> None:
        self.user = cluster.files.info(str(tmp_path)).owner
        self.directory = tmp_path / "list"
        shared = ClusterBlocks(cluster.files, str(self.directory), self.user)
        cluster.__dict__["shared_blocks"] = lambda location: shared if location != "none" else None

    def test_block_list_and_unblock(self, yarnspec: Run) -> None:
        before_ms = int(time.time() * 1000)
        ran = yarnspec("hosts", "--cluster", "block", HOSTS[1], "--for", "2h", "--reason", "disk is being replaced")
        assert (ran.code, ran.out) == (0, f"{HOSTS[1]} is blocked for all applications for 2h\n")
        ran = yarnspec("hosts", "--cluster", "list")
        assert ran.out.splitlines()[1].split(maxsplit=1)[0] == HOSTS[1]
        assert "disk is being replaced" in ran.out
        document = json.loads(yarnspec("hosts", "--cluster", "list", "-o", "json").out)
        assert document["schema"] == 1
        (block,) = document["blocks"]
        assert (block["host"], block["by"]) == (HOSTS[1], self.user)
        assert before_ms <= block["until_ms"] - 7_200_000 <= time.time() * 1000
        ran = yarnspec("hosts", "--cluster", "unblock", HOSTS[1], "-o", "json")
        assert json.loads(ran.out) == {"schema": 1, "host": HOSTS[1], "blocked": False, "reason": ""}
        ran = yarnspec("hosts", "--cluster", "list")
        assert (ran.out, ran.err) == ("", "no host is blocked for all applications\n")

    def test_a_shorter_block_leaves_ones_own_as_it_is(self, yarnspec: Run) -> None:
        block = ("hosts", "--cluster", "block", HOSTS[1], "--reason")
        yarnspec(*block, "disk", "--for", "2h")
        ran = yarnspec(*block, "fan", "--for", "1h")
        words = f"{HOSTS[1]} was blocked for as long or longer already: nothing had to change\n"
        assert (ran.code, ran.out) == (0, words)
        assert "your entry stays as it is (disk; for 1 h 59 min more): to shorten it, unblock the host first" in ran.err
        assert json.loads(yarnspec(*block, "fan", "--for", "1h", "-o", "json").out)["reason"].startswith("your entry")
        (listed,) = json.loads(yarnspec("hosts", "--cluster", "list", "-o", "json").out)["blocks"]
        assert listed["reason"] == "disk"
        ran = yarnspec(*block, "fan", "--for", "3h")
        assert (ran.out, ran.err) == (f"{HOSTS[1]} is blocked for all applications for 3h\n", "")

    def test_what_is_not_believed_is_talk(self, yarnspec: Run) -> None:
        self.directory.mkdir()
        (self.directory / f"h@{self.user}.json").write_text("{")
        ran = yarnspec("hosts", "--cluster", "list")
        assert (ran.code, ran.out) == (0, "")
        assert "warning:" in ran.err
        assert "broken" in ran.err

    @pytest.mark.parametrize(
        ("line", "code", "words"),
        [
            ("hosts list", 2, "hosts APP list"),
            (f"hosts {APP} --cluster list", 2, "one or the other"),
            (f"hosts --cluster block {HOSTS[1]}", 2, "--reason"),
            (f"hosts --cluster block {HOSTS[1]} --reason r --force", 2, "APP only"),
            (f"hosts --cluster block {HOSTS[1]} --reason r --for ten", 2, "not a duration"),
            ("hosts --cluster block no-such-host --reason r", 5, "knows no host"),
            (f"hosts --cluster unblock {HOSTS[1]}", 5, "is not on the cluster's list"),
            ("hosts --cluster blok h", 2, "'block'"),
            ("hosts --cluster list --set blocklist.cluster_directory=none", 2, "there is no list"),
        ],
    )
    def test_wrong_input(self, yarnspec: Run, cluster: HandMadeCluster, line: str, code: int, words: str) -> None:
        if "none" in line:
            cluster.options = options.load(None, ["blocklist.cluster_directory=none"], {}).options
        ran = yarnspec(*line.split())
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err

    def test_help(self, yarnspec: Run) -> None:
        for line in (("hosts", "--help"), ("hosts", "--cluster", "--help"), ("hosts", "--cluster", "block", "--help")):
            ran = yarnspec(*line)
            assert ran.code == 0
            assert "--cluster" in ran.out
        ran = yarnspec("hosts")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Usage: yarnspec hosts [OPTIONS] APP|--cluster COMMAND")


EXPLANATION = Explanation(
    subject="task 3.7",
    verdict="it was found slow\x1b[31m",
    numbers={"baseline_ms": 6_000.0, "finished_on": "h1"},
    lines=("it has run for 7.0 s",),
)


class TestExplain:
    def test_the_negotiators_word_while_it_runs(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.explanations = {"3.7": EXPLANATION, HOSTS[1]: EXPLANATION}
        ran = yarnspec("explain", APP, "--task", "3.7")
        assert ran.code == 0
        assert ran.out.splitlines()[0].startswith("task 3.7: it was found slow")
        assert "\x1b" not in ran.out
        assert [line.split() for line in ran.out.splitlines()[-2:]] == [["baseline_ms", "6000"], ["finished_on", "h1"]]
        document = json.loads(yarnspec("explain", APP, "--host", HOSTS[1], "-o", "json").out)
        assert document == {
            "schema": 1,
            "subject": "task 3.7",
            "verdict": "it was found slow\x1b[31m",
            "numbers": {"baseline_ms": 6000.0, "finished_on": "h1"},
            "lines": ["it has run for 7.0 s"],
            "ended": False,
        }

    def test_the_negotiators_word_on_a_task_that_has_no_numbers_yet(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        negotiator.happened([STARTED, *STAGE_OF_TWO])
        said = Explanation(subject="task 3.0", verdict="it has not been launched", numbers={}, lines=("no slot",))
        negotiator.explanations = {"3.0": said}
        assert yarnspec("explain", APP, "--task", "3.0").out.splitlines() == [
            "task 3.0: it has not been launched",
            "  no slot",
        ]

    def test_the_records_word_for_what_the_negotiator_forgot(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        negotiator.happened([STARTED, *STAGE_OF_TWO])
        negotiator.explanations = {
            "3.0": Explanation(subject="task 3.0", verdict="its stage has ended", numbers={}, lines=(), ended=True)
        }
        assert "task 3.0: it was never found slow" in yarnspec("explain", APP, "--task", "3.0").out
        negotiator.explanations = {}
        assert "task 3.0: it was never found slow" in yarnspec("explain", APP, "--task", "3.0").out

    def test_the_records_word_after_the_end(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.record(STARTED, *STAGE_OF_TWO)
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        assert "task 3.1: it was never found slow" in yarnspec("explain", APP, "--task", "3.1").out
        assert f"host {HOSTS[0]}: it was never blocked" in yarnspec("explain", APP, "--host", HOSTS[0]).out

    @pytest.mark.usefixtures("negotiator")
    def test_wrong_input(self, yarnspec: Run) -> None:
        assert yarnspec("explain", APP).code == 2
        assert yarnspec("explain", APP, "--task", "1.2", "--host", "h").code == 2
        assert "STAGE.INDEX" in yarnspec("explain", APP, "--task", "12").err
        assert (yarnspec("explain", APP, "--task", "9.9").code, yarnspec("explain", APP, "--host", "h").code) == (5, 5)


class TestMetrics:
    def test_text_for_a_scraper(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.document = DOCUMENT
        ran = yarnspec("metrics", APP)
        assert (ran.code, ran.err) == (0, "")
        assert 'yarnspec_executors{state="wanted"} 2.0\n' in ran.out


class TestKill:
    def test_one_that_ended(self, yarnspec: Run, cluster: HandMadeCluster) -> None:
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        ran = yarnspec("kill", APP)
        assert (ran.code, ran.out) == (0, f"{APP} SUCCEEDED\n")
        assert "had ended already" in ran.err


class TestLogs:
    @pytest.fixture(autouse=True)
    def _yarn_has_logs(
        self, cluster: HandMadeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        from tests.gateway.test_logtext import wrapped

        directory = tmp_path_factory.mktemp("yarn")
        text = wrapped("driver.stderr", b"a warning", AM) + wrapped("driver.stdout", b"1\n2\n", AM)
        text += wrapped("executor.log", b"from an executor\n", EXECUTOR)
        (directory / "logs").write_bytes(text)
        program = directory / "yarn"
        program.write_text(f'#!/bin/sh\n[ "$1" = logs ] && cat {directory}/logs\n')
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(directory), prepend=":")
        cluster.record(STARTED, events.ContainerStarted(executor_id="1", container_id=EXECUTOR, host=HOSTS[2]))
        cluster.made_rm.reports[APP] = report("FINISHED", "SUCCEEDED")
        # No NodeManager has them any more, and none is listening either.
        cluster.made_rm.addresses.clear()

    def test_the_drivers_with_a_line_above_each(self, yarnspec: Run) -> None:
        ran = yarnspec("logs", APP)
        assert ran.out == (
            f"==> driver on {HOSTS[0]}, {AM}: driver.stderr <==\na warning\n"
            f"\n==> driver on {HOSTS[0]}, {AM}: driver.stdout <==\n1\n2\n"
        )

    def test_one_file_as_it_is(self, yarnspec: Run) -> None:
        assert yarnspec("logs", APP, "--file", "driver.stdout").out == "1\n2\n"
        assert yarnspec("logs", APP, "--file", "driver.stdout", "--tail", "1").out == "2\n"

    def test_an_executors(self, yarnspec: Run) -> None:
        ran = yarnspec("logs", APP, "--executor", "1", "-o", "json")
        (log,) = json.loads(ran.out)["logs"]
        assert (log["executor_id"], log["host"], log["text"]) == ("1", HOSTS[2], "from an executor\n")

    def test_wrong_input(self, yarnspec: Run) -> None:
        assert yarnspec("logs", APP, "--executor", "9").code == 5
        assert yarnspec("logs", APP, "--file", "nothing").code == 5
        assert yarnspec("logs", APP, "--role", "driver", "--executor", "1").code == 2
        assert yarnspec("logs", APP, "--follow", "-o", "json").code == 2
        assert yarnspec("logs", APP, "--role", "cook").code == 2
