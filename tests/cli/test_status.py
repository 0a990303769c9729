"""status and metrics: what is printed where, and the exit codes."""

from __future__ import annotations

import json

import msgspec
import pytest
import yaml
from rich.console import Console

from tests.cli.conftest import Run
from tests.gateway.cluster import AM, APP, EXECUTOR, HOSTS, HandMadeCluster, HandMadeNegotiator, report
from yarnspec.cli.status import print_status
from yarnspec.core.messages.figures import StageMetrics
from yarnspec.observe.forms.document import (
    AskStatus,
    BlockedHost,
    BlockStatus,
    ContainerStatus,
    CopyTotals,
    Final,
    KeptOnHost,
    Links,
    LiveAdoption,
    RecoveryStatus,
    Relaxation,
    SpeculationStatus,
    StageStatus,
    StatusDocument,
    TaskCounts,
)
from yarnspec.observe.log.history import ApplicationRecord

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


def row(name: str, document: StatusDocument) -> str:
    console = Console(width=500, record=True, color_system=None, highlight=False)
    with console.capture() as capture:
        print_status(document, console, 1_700_000_030_000)
    lines = [line for line in capture.get().splitlines() if line.startswith(name)]
    assert len(lines) <= 1
    return lines[0] if lines else ""


def test_what_an_ask_waits_for_under_a_users_constraint() -> None:
    none = "no host has room for 2 containers now: they may come anywhere"
    document = msgspec.structs.replace(
        DOCUMENT,
        placement_constraint="python=3.11",
        asks=(AskStatus(rule="", containers=2), AskStatus(rule="spread", containers=1, hosts=("h",))),
        relaxations=(
            Relaxation(time_ms=1, rule="spread", containers=2, reason=none, holds=True),
            Relaxation(time_ms=2, rule="spread", containers=1, reason="that is over"),
        ),
    )
    assert row("asked for", document).rstrip().endswith("2 anywhere where python=3.11 holds; 1 to spread them, on h")
    assert row("relaxed", document).rstrip().endswith(none)
    over = msgspec.structs.replace(document, relaxations=document.relaxations[1:])
    assert row("relaxed", over) == ""
    assert row("relaxed", msgspec.structs.replace(document, state="KILLED", phase="ended")) == ""


def test_the_profile_of_executors_is_shown_where_there_are_several() -> None:
    executors = (
        ContainerStatus(id="c1", host="h", role="executor", state="RUNNING", executor_id="1"),
        ContainerStatus(id="c2", host="h", role="executor", state="RUNNING", executor_id="2", profile=3),
    )
    usual = msgspec.structs.replace(DOCUMENT, containers=executors[:1])
    assert row("CONTAINER", usual).split() == ["CONTAINER", "HOST", "ROLE", "STATE"]
    both = msgspec.structs.replace(
        DOCUMENT, containers=executors, asks=(AskStatus(rule="spread", containers=2, hosts=("h",), profile=3),)
    )
    assert row("CONTAINER", both).split() == ["CONTAINER", "HOST", "ROLE", "PROFILE", "STATE"]
    assert row("c1", both).split() == ["c1", "h", "executor", "1", "0", "RUNNING"]
    assert row("c2", both).split() == ["c2", "h", "executor", "2", "3", "RUNNING"]
    assert row("asked for", both).endswith("2 of resource profile 3 to spread them, on h")


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
                    durable_outputs=5,
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
                    "2 shuffles recorded, 5 map outputs on disk",
                    "carried over from epoch 1: 2 blocks",
                    "given up: what is on h1, h2",
                    "4 outputs (5m) of ended executors on 1 hosts",
                    "of 2 executors that died 3 outputs were taken over, 2 lost, 4 are waited for",
                    "7 shuffles not recorded (4: it reads a cached RDD, 1: a, 1: b, 1 for other reasons (-o json))",
                ),
            ),
            (
                RecoveryStatus(recording=True, recorded_shuffles=2, why_not="there is no room"),
                ("2 shuffles recorded, 0 map outputs on disk (there is no room)",),
            ),
            (
                RecoveryStatus(
                    recording=True, done_again=("cached data", "a writes", "b writes", "c writes", "d writes")
                ),
                ("0 map outputs on disk; cached data; a writes; b writes; 2 more that would be done again (-o json)",),
            ),
            (RecoveryStatus(recording=False, why_not="the disk is full"), ("nothing is recorded: the disk is full",)),
        ],
    )
    def test_recovery(self, recovery: RecoveryStatus, words: tuple[str, ...]) -> None:
        line = row("recovery", msgspec.structs.replace(DOCUMENT, recovery=recovery))
        for each in words:
            assert each in line

    def test_what_came_of_the_dead(self) -> None:
        document = msgspec.structs.replace(DOCUMENT, refused={"records": 9, "writes": 1})
        assert "9 records, 1 writes" in row("refused", document)

    @pytest.mark.parametrize("width", [80, 120])
    def test_slow_tasks_copies_and_blocks(self, width: int) -> None:
        metrics = StageMetrics(slow_tasks=1, effective_copies=2, speculative_executions=3)
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
                ledger=CopyTotals(copies_launched=3, copies_won=2, copies_running=1, gained_ms=65_000, wasted_ms=4_000),
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

    def test_why_stages_have_no_copies(self) -> None:
        first = DOCUMENT.stages[0]
        why = "the program wants no copies of its stage's tasks"
        stages = tuple(
            msgspec.structs.replace(first, stage=number, stage_attempt=0, not_copied=said)
            for number, said in enumerate((why, "", "its stage belongs to a stream", why))
        )
        console = Console(width=120, color_system=None, highlight=False)
        with console.capture() as capture:
            print_status(msgspec.structs.replace(DOCUMENT, stages=stages), console, 1_700_000_030_000)
        assert [line for line in capture.get().splitlines() if "is copied" in line] == [
            f"no task of stages 0, 3 is copied: {why}",
            "no task of stage 2 is copied: its stage belongs to a stream",
        ]

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


class TestMetrics:
    def test_text_for_a_scraper(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.document = DOCUMENT
        ran = yarnspec("metrics", APP)
        assert (ran.code, ran.err) == (0, "")
        assert 'yarnspec_executors{state="wanted"} 2.0\n' in ran.out
