"""The status in Prometheus' text form."""

from __future__ import annotations

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from yarnspec.core.messages.figures import StageMetrics
from yarnspec.observe.forms.document import (
    BlockedHost,
    BlockStatus,
    CopyTotals,
    DriverRestarts,
    KeptOnHost,
    RecoveryStatus,
    SpeculationStatus,
    StageStatus,
    StatusDocument,
    TaskCounts,
)
from yarnspec.observe.status.metrics import exposition

METRICS = StageMetrics(
    slow_tasks=2,
    effective_copies=1,
    min_finished_for_speculation=6,
    finished_executions=6,
    speculative_executions=2,
    speculative_threshold_ms=60_000.0,
    running_ms_by_index={4: 70_000, 5: 71_000},
    fastest_copies=1,
)
STAGE = StageStatus(stage=3, stage_attempt=1, name="c", tasks=8, finished=6, failed=0, state="RUNNING", metrics=METRICS)
DOCUMENT = StatusDocument(
    application_id="application_1_0001",
    name='nightly "etl"\nwith a second line',
    state="RUNNING",
    wanted_containers=3,
    running_containers=2,
    tasks=TaskCounts(running=2, finished=6, total=8),
    blocked_hosts=(BlockedHost(host="h1", reason="slow", until_ms=1, by="yarnspec"),),
    blocks=(
        BlockStatus(level="application", cause="slow", host="h1", reason="r", by="y", since_ms=0, until_ms=1),
        BlockStatus(level="stage", cause="slow", host="h1", reason="r", by="y", since_ms=0, until_ms=1, stage=3),
    ),
    stages=(STAGE,),
    speculation=SpeculationStatus(
        enabled=True,
        slow_tasks=2,
        ledger=CopyTotals(
            copies_launched=2, copies_won=1, copies_running=1, copies_withdrawn=4, gained_ms=12_500, wasted_ms=3_000
        ),
    ),
)

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(document: StatusDocument) -> Samples:
    text = exposition(document).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_a_scraper_reads() -> None:
    found = scraped(DOCUMENT)
    assert found["yarnspec_executors", (("state", "running"),)] == 2
    assert found["yarnspec_tasks", (("state", "finished"),)] == 6
    assert found["yarnspec_blocked_hosts", ()] == 1
    assert found["yarnspec_blocks", (("cause", "slow"), ("level", "stage"), ("target", "host"))] == 1
    assert found["yarnspec_copies_total", (("outcome", "won"),)] == 1
    assert found["yarnspec_copies_total", (("outcome", "withdrawn"),)] == 4
    assert found["yarnspec_copies_running", ()] == 1
    assert found["yarnspec_copy_gained_seconds_total", ()] == 12.5
    assert ("yarnspec_copy_spent_seconds_total", ()) not in found  # not known is not zero
    (info,) = [dict(labels) for name, labels in found if name == "yarnspec_application_info"]
    assert info["name"] == DOCUMENT.name


def test_the_seeds_metrics_have_the_same_values_as_in_the_status() -> None:
    found = scraped(DOCUMENT)
    where = (("stage", "3"), ("stage_attempt", "1"))
    for name, value in msgspec.to_builtins(METRICS).items():
        if isinstance(value, dict):
            for index, span_ms in value.items():
                assert found[f"yarnspec_stage_{name}", (("index", str(index)), *where)] == span_ms
        else:
            assert found[f"yarnspec_stage_{name}", where] == value


def test_stages_that_ended_long_ago_are_left_out() -> None:
    ended = tuple(msgspec.structs.replace(STAGE, stage=number, state="SUCCEEDED") for number in range(500))
    found = scraped(msgspec.structs.replace(DOCUMENT, stages=(*ended, msgspec.structs.replace(STAGE, stage=0))))
    stages = {dict(labels)["stage"] for name, labels in found if name == "yarnspec_stage_numSlowTasks"}
    assert stages == {"0"} | {str(number) for number in range(480, 500)}


def test_what_is_kept() -> None:
    recovery = RecoveryStatus(
        recording=True,
        recorded_shuffles=2,
        durable_outputs=5,
        saved_outputs=9,
        restored_outputs=7,
        not_restored={"truncated": 2},
        kept=(KeptOnHost(host="h1", outputs=3, bytes=500),),
    )
    found = scraped(msgspec.structs.replace(DOCUMENT, recovery=recovery))
    assert found["yarnspec_recording", ()] == 1
    assert found["yarnspec_shuffles_recorded", ()] == 2
    assert found["yarnspec_outputs_durable", ()] == 5
    assert (found["yarnspec_outputs_saved", ()], found["yarnspec_outputs_restored", ()]) == (9, 7)
    assert found["yarnspec_outputs_not_restored", (("why", "truncated"),)] == 2
    assert found["yarnspec_kept_bytes", (("host", "h1"),)] == 500
    assert not [name for name, _ in scraped(DOCUMENT) if "outputs" in name or "kept" in name]


def test_how_often_the_driver_was_started_again() -> None:
    again = DriverRestarts(count=3, why="the driver has died")
    assert scraped(msgspec.structs.replace(DOCUMENT, driver_restarts=again))["yarnspec_driver_restarts", ()] == 3
    assert "yarnspec_driver_restarts" not in {name for name, _ in scraped(DOCUMENT)}


def test_what_was_refused_of_dead_drivers() -> None:
    found = scraped(msgspec.structs.replace(DOCUMENT, refused={"writes": 2}))
    assert found["yarnspec_refused_total", (("kind", "writes"),)] == 2
    assert found["yarnspec_refused_total", (("kind", "records"),)] == 0


def test_an_application_without_speculation() -> None:
    found = scraped(StatusDocument(application_id="application_1_0001", state="RUNNING"))
    assert not [name for name, _ in found if "cop" in name or "stage" in name]
