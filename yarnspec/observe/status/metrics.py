"""An application in Prometheus' text form: the same numbers as in its status document.

Names begin with ``yarnspec_``. The metrics of the speculative execution proposal (FLINK-10644) have their names there
behind ``yarnspec_stage_``, and the labels ``stage`` and ``stage_attempt``. docs/internals/speculation.md lists them,
docs/internals/recovery.md those of recovery.
"""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Iterator

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from yarnspec.core.lifecycle.refusals import KINDS
from yarnspec.observe.forms.document import StageStatus, StatusDocument

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Each stage is a row of its own in every scrape; those that ended long ago only cost memory in Prometheus.
_ENDED_STAGES = 20
_STAGE_LABELS = ("stage", "stage_attempt")
_SPAN = "executionIndex2RunningTimespan"

_STAGE_METRICS = {
    "numSlowTasks": "Running tasks that are slow now (of very many at least so many)",
    "numSlowExecutionVertices": "The same as numSlowTasks, under its first name",
    "numEffectiveCopies": "Tasks whose copy finished before the original",
    "numEffectiveSpeculativeExecutions": "The same as numEffectiveCopies, under its first name",
    "minFinishedForSpeculationThresholdMetrics": "Tasks that must have finished before others are compared with them",
    "finishedExecutionCountMetrics": "Tasks that have finished",
    "speculativeExecutionCountMetrics": "Copies that were started",
    "speculativeThresholdOfTime": (
        "Execution time from which on a task is late, before its host is weighed, in milliseconds"
    ),
    _SPAN: "Running time of the original attempt of a task, in milliseconds; of the longest only",
    "speculativeExecutionFastestFinishedCountMetrics": "Tasks whose copy finished first",
}


def exposition(document: StatusDocument) -> bytes:
    """The status as a scrape's answer, of ``CONTENT_TYPE``."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Status(document))
    return generate_latest(registry)


class _Status(Collector):
    def __init__(self, document: StatusDocument) -> None:
        self._document = document

    def collect(self) -> Iterator[Metric]:
        yield from self._application()
        yield from self._blocks()
        yield from self._copies()
        yield from self._kept()
        yield from self._stages()

    def _application(self) -> Iterator[Metric]:
        document = self._document
        info = InfoMetricFamily("yarnspec_application", "The application")
        told = {name: getattr(document, name) for name in ("application_id", "name", "user", "queue", "state", "phase")}
        info.add_metric((), {**told, "attempt": str(document.attempt)})
        yield info
        executors = GaugeMetricFamily("yarnspec_executors", "Executors by state", labels=("state",))
        executors.add_metric(("wanted",), document.wanted_containers)
        executors.add_metric(("running",), document.running_containers)
        yield executors
        tasks = GaugeMetricFamily("yarnspec_tasks", "Tasks of all stages so far, by state", labels=("state",))
        for name in ("running", "finished", "total", "failed"):
            tasks.add_metric((name,), getattr(document.tasks, name))
        yield tasks
        yield CounterMetricFamily(
            "yarnspec_dropped_containers", "Containers released before launch", value=document.dropped_containers
        )

    def _blocks(self) -> Iterator[Metric]:
        document = self._document
        yield GaugeMetricFamily("yarnspec_blocked_hosts", "Hosts that get no containers", len(document.blocked_hosts))
        labels = ("level", "cause", "target")
        counts = Count((one.level, one.cause, "executor" if one.executor_id else "host") for one in document.blocks)
        blocks = GaugeMetricFamily("yarnspec_blocks", "Blocks by level, cause and target", labels=labels)
        for key, count in sorted(counts.items()):
            blocks.add_metric(key, count)
        yield blocks

    def _copies(self) -> Iterator[Metric]:
        speculation = self._document.speculation
        if speculation is None:
            return
        ledger = speculation.ledger
        yield GaugeMetricFamily(
            "yarnspec_speculation_enabled", "1 when slow tasks are copied", int(speculation.enabled)
        )
        yield GaugeMetricFamily("yarnspec_slow_tasks", "Running tasks that are slow now", speculation.slow_tasks)
        yield GaugeMetricFamily("yarnspec_copies_running", "Copies that run now", ledger.copies_running)
        yield GaugeMetricFamily("yarnspec_copies_waiting", "Copies that wait for a slot", speculation.waiting_copies)
        yield GaugeMetricFamily(
            "yarnspec_extra_containers", "Containers that were asked for copies", speculation.extra_containers
        )
        copies = CounterMetricFamily("yarnspec_copies", "Copies by what became of them", labels=("outcome",))
        for outcome in ("launched", "won", "failed", "cancelled", "refused", "withdrawn"):
            copies.add_metric((outcome,), getattr(ledger, f"copies_{outcome}"))
        yield copies
        for what, text in (
            ("gained", "Estimated task time that copies saved"),
            ("spent", "Time that copies ran"),
            ("wasted", "Time that copies ran that did not win"),
        ):
            value_ms = getattr(ledger, f"{what}_ms")
            if value_ms is not None:
                yield CounterMetricFamily(f"yarnspec_copy_{what}_seconds", text, value=value_ms / 1000)

    def _kept(self) -> Iterator[Metric]:
        again = self._document.driver_restarts
        if again is not None:
            yield GaugeMetricFamily("yarnspec_driver_restarts", "Restarts of the driver in this attempt", again.count)
        refused = CounterMetricFamily(
            "yarnspec_refused", "What was refused in the name of drivers and masters after their end", labels=("kind",)
        )
        for kind in KINDS:
            refused.add_metric((kind,), self._document.refused.get(kind, 0))
        yield refused
        recovery = self._document.recovery
        if recovery is None:
            return
        yield GaugeMetricFamily(
            "yarnspec_recording", "1 when what finishes is kept for a next driver", int(recovery.recording)
        )
        yield GaugeMetricFamily(
            "yarnspec_shuffles_recorded", "Shuffles whose map outputs are recorded", recovery.recorded_shuffles
        )
        yield GaugeMetricFamily(
            "yarnspec_outputs_durable", "Map outputs that this epoch recorded, on disk", recovery.durable_outputs
        )
        yield GaugeMetricFamily(
            "yarnspec_outputs_saved", "Map outputs that earlier epochs recorded", recovery.saved_outputs
        )
        yield GaugeMetricFamily("yarnspec_outputs_restored", "Those that are used again", recovery.restored_outputs)
        lost = GaugeMetricFamily("yarnspec_outputs_not_restored", "Those that are not, by reason", labels=("why",))
        for why, count in sorted(recovery.not_restored.items()):
            lost.add_metric((why,), count)
        if lost.samples:
            yield lost
        kept = GaugeMetricFamily("yarnspec_kept_bytes", "What ended executors left, by host", labels=("host",))
        for one in recovery.kept:
            kept.add_metric((one.host,), one.bytes)
        if kept.samples:
            yield kept

    def _stages(self) -> Iterator[Metric]:
        measured = [one for one in self._document.stages if one.metrics is not None]
        running = [one for one in measured if one.state == "RUNNING"]
        ended = [one for one in measured if one.state != "RUNNING"]
        shown = [(_labels(one), msgspec.to_builtins(one.metrics)) for one in (*ended[-_ENDED_STAGES:], *running)]
        for name, text in _STAGE_METRICS.items():
            labels = (*_STAGE_LABELS, "index") if name == _SPAN else _STAGE_LABELS
            family = GaugeMetricFamily(f"yarnspec_stage_{name}", text, labels=labels)
            for where, metrics in shown:
                if name == _SPAN:
                    for index, span_ms in metrics[name].items():
                        family.add_metric((*where, str(index)), span_ms)
                elif metrics[name] is not None:
                    family.add_metric(where, metrics[name])
            if family.samples:
                yield family


def _labels(stage: StageStatus) -> tuple[str, str]:
    return (str(stage.stage), str(stage.stage_attempt))
