"""Which jobs run, and so which map outputs are still read."""

from __future__ import annotations

from yarnspec.core.events import JobEnded, JobStarted


class Jobs:
    """The running jobs and their stages."""

    def __init__(self) -> None:
        self._stages: dict[int, frozenset[int]] = {}
        self._known: set[int] = set()

    @property
    def running(self) -> frozenset[int]:
        """The jobs that run."""
        return frozenset(self._stages)

    def started(self, event: JobStarted) -> None:
        """A job began."""
        self._stages[event.job] = frozenset(event.stages)
        self._known.update(event.stages)

    def ended(self, event: JobEnded) -> None:
        """A job ended."""
        self._known -= self._stages.pop(event.job, frozenset())

    def forget(self) -> None:
        """The SparkContext is gone."""
        self._stages.clear()
        self._known.clear()

    def needs(self, stage: int) -> bool:
        """Whether a running job may still read what a stage wrote; a stage of no known job may belong to any."""
        if any(stage in stages for stages in self._stages.values()):
            return True
        return bool(self._stages) and stage not in self._known
