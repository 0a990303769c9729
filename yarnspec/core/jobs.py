"""Which jobs run, and so which map outputs are still read, and which stages must have come to their end."""

from __future__ import annotations

from yarnspec.core.events import JobEnded, JobStarted


class Jobs:
    """The running jobs and their stages."""

    def __init__(self) -> None:
        self._stages: dict[int, frozenset[int]] = {}
        self._known: set[int] = set()
        self.over: set[int] = set()
        """Stages whose jobs have all ended; whoever has seen to it that they have ended too takes them out."""

    @property
    def running(self) -> frozenset[int]:
        """The jobs that run."""
        return frozenset(self._stages)

    def started(self, event: JobStarted) -> None:
        """A job began."""
        self._stages[event.job] = frozenset(event.stages)
        self._known.update(event.stages)
        self.over.difference_update(event.stages)

    def ended(self, event: JobEnded) -> None:
        """A job ended."""
        ended = self._stages.pop(event.job, frozenset())
        self._known -= ended
        self.over |= ended.difference(*self._stages.values())

    def forget(self) -> None:
        """The SparkContext is gone."""
        self._stages.clear()
        self._known.clear()
        self.over.clear()

    def needs(self, stage: int) -> bool:
        """Whether a running job may still read what a stage wrote; a stage of no known job may belong to any."""
        if any(stage in stages for stages in self._stages.values()):
            return True
        return bool(self._stages) and stage not in self._known
