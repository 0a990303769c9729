"""An application in Prometheus' text form: the same numbers as in its status document.

A metric is declared once, with its name, text, labels and value. `make docs` renders the table of them in
docs/internals/speculation.md. The metrics of a stage are those of ``StageMetrics``, and have its names behind
``yarnspec_stage_``.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from yarnspec.core.lifecycle.refusals import KINDS
from yarnspec.core.messages.figures import StageMetrics
from yarnspec.observe.forms.document import RecoveryStatus, SpeculationStatus, StageStatus, StatusDocument

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Each stage is a row of its own in every scrape; those that ended long ago only cost memory in Prometheus.
_ENDED_STAGES = 20
_STAGE = ("stage", "stage_attempt")
_INFO = ("application_id", "name", "user", "queue", "state", "phase")
_OUTCOMES = ("launched", "won", "failed", "cancelled", "refused", "withdrawn")

Values = float | None | Mapping[tuple[str, ...], float]
"""The one value of a metric, or one for each combination of its labels; none where it is not known."""

Part = TypeVar("Part")


class DeclaredMetric(NamedTuple, Generic[Part]):
    """One metric. A name with the ending ``_total`` is that of a counter, every other is that of a gauge."""

    name: str
    about: str
    values: Callable[[Part], Values]
    labels: tuple[str, ...] = ()

    def family(self, part: Part) -> Metric | None:
        """The samples of a part of the document; None if there are none."""
        counts = self.name.endswith("_total")
        kind: type[CounterMetricFamily | GaugeMetricFamily] = CounterMetricFamily if counts else GaugeMetricFamily
        family = kind(self.name, self.about, labels=self.labels)
        values = self.values(part)
        samples: Mapping[tuple[str, ...], float | None] = values if isinstance(values, Mapping) else {(): values}
        for where, value in samples.items():
            if value is not None:
                family.add_metric(where, value)
        return family if family.samples else None


def _seconds(value_ms: int | None) -> float | None:
    return None if value_ms is None else value_ms / 1000


def _blocks(document: StatusDocument) -> dict[tuple[str, ...], float]:
    counts = Counter((one.level, one.cause, "executor" if one.executor_id else "host") for one in document.blocks)
    return dict(sorted(counts.items()))


APPLICATION = (
    DeclaredMetric[StatusDocument](
        "yarnspec_application_info",
        "The application; the value is 1",
        lambda document: {(*(getattr(document, name) for name in _INFO), str(document.attempt)): 1},
        (*_INFO, "attempt"),
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_executors",
        "Executors by state: wanted, running",
        lambda document: {("wanted",): document.wanted_containers, ("running",): document.running_containers},
        ("state",),
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_tasks",
        "Tasks of all stages so far, by state: running, finished, total, failed",
        lambda document: {
            (name,): getattr(document.tasks, name) for name in ("running", "finished", "total", "failed")
        },
        ("state",),
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_dropped_containers_total",
        "Containers that came on a blocked host, and were released before launch",
        lambda document: document.dropped_containers,
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_blocked_hosts", "Hosts that get no containers", lambda document: len(document.blocked_hosts)
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_blocks",
        "Blocks by level, cause and target (host, executor)",
        _blocks,
        ("level", "cause", "target"),
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_driver_restarts",
        "Restarts of the driver in this application attempt",
        lambda document: None if document.driver_restarts is None else document.driver_restarts.count,
    ),
    DeclaredMetric[StatusDocument](
        "yarnspec_refused_total",
        "Refused in the name of drivers and application masters after their end: " + ", ".join(KINDS),
        lambda document: {(kind,): document.refused.get(kind, 0) for kind in KINDS},
        ("kind",),
    ),
)
SPECULATION = (
    DeclaredMetric[SpeculationStatus](
        "yarnspec_speculation_enabled", "1 when slow tasks are copied, else 0", lambda status: int(status.enabled)
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_slow_tasks", "Running tasks that are slow now", lambda status: status.slow_tasks
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copies_running", "Copies that run now", lambda status: status.ledger.copies_running
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copies_waiting", "Copies that wait for a slot", lambda status: status.waiting_copies
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_extra_containers", "Containers that were asked for copies", lambda status: status.extra_containers
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copies_total",
        f"Copies by their outcome: {', '.join(_OUTCOMES)}. Spark refused those that are refused. Those that are "
        "withdrawn never started, as their task or stage had ended",
        lambda status: {(name,): getattr(status.ledger, f"copies_{name}") for name in _OUTCOMES},
        ("outcome",),
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copy_gained_seconds_total",
        "Estimated task time that copies saved",
        lambda status: _seconds(status.ledger.gained_ms),
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copy_spent_seconds_total", "Time that copies ran", lambda status: _seconds(status.ledger.spent_ms)
    ),
    DeclaredMetric[SpeculationStatus](
        "yarnspec_copy_wasted_seconds_total",
        "Time that copies ran that did not win",
        lambda status: _seconds(status.ledger.wasted_ms),
    ),
)
RECOVERY = (
    DeclaredMetric[RecoveryStatus](
        "yarnspec_recording",
        "1 when work that finishes is kept for a next driver, else 0",
        lambda status: int(status.recording),
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_shuffles_recorded",
        "Shuffles whose map outputs are recorded",
        lambda status: status.recorded_shuffles,
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_outputs_durable",
        "Map outputs that this epoch recorded, on disk",
        lambda status: status.durable_outputs,
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_outputs_saved", "Map outputs that earlier epochs recorded", lambda status: status.saved_outputs
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_outputs_restored", "Saved outputs that are used again", lambda status: status.restored_outputs
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_outputs_not_restored",
        "Saved outputs that are not used again, by reason",
        lambda status: {(why,): count for why, count in sorted(status.not_restored.items())},
        ("why",),
    ),
    DeclaredMetric[RecoveryStatus](
        "yarnspec_kept_bytes",
        "Size of the map outputs that ended executors left, by host",
        lambda status: {(one.host,): one.bytes for one in status.kept},
        ("host",),
    ),
)


def _of_stages(name: str, labels: tuple[str, ...]) -> Callable[[tuple[StageStatus, ...]], Values]:
    def values(stages: tuple[StageStatus, ...]) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for stage in stages:
            where, value = (str(stage.stage), str(stage.stage_attempt)), getattr(stage.metrics, name)
            if len(labels) > len(where):
                found |= {(*where, str(index)): of_task for index, of_task in value.items()}
            elif value is not None:
                found[where] = value
        return found

    return values


def _declared(field: msgspec.structs.FieldInfo) -> DeclaredMetric[tuple[StageStatus, ...]]:
    kind, described = typing.get_args(field.type)
    labels = (*_STAGE, "index") if typing.get_origin(kind) is dict else _STAGE
    values = _of_stages(field.name, labels)
    return DeclaredMetric(f"yarnspec_stage_{field.encode_name}", described.description, values, labels)


STAGES = tuple(_declared(field) for field in msgspec.structs.fields(StageMetrics))


def exposition(document: StatusDocument) -> bytes:
    """The status as a scrape's answer, of ``CONTENT_TYPE``."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Status(document))
    return generate_latest(registry)


class _Status(Collector):
    def __init__(self, document: StatusDocument) -> None:
        self._document = document

    def collect(self) -> Iterator[Metric]:
        document = self._document
        yield from _families(APPLICATION, document)
        if document.speculation is not None:
            yield from _families(SPECULATION, document.speculation)
        if document.recovery is not None:
            yield from _families(RECOVERY, document.recovery)
        yield from _families(STAGES, _shown_stages(document))


def _families(declared: tuple[DeclaredMetric[Part], ...], part: Part) -> Iterator[Metric]:
    yield from filter(None, (metric.family(part) for metric in declared))


def _shown_stages(document: StatusDocument) -> tuple[StageStatus, ...]:
    measured = [one for one in document.stages if one.metrics is not None]
    running = [one for one in measured if one.state == "RUNNING"]
    ended = [one for one in measured if one.state != "RUNNING"]
    return (*ended[-_ENDED_STAGES:], *running)
