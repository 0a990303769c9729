"""The running jobs: which of their stages read the same outputs, and which stages must have come to their end."""

from __future__ import annotations

from yarnspec.core.messages.events import JobEnded, JobStarted


class Jobs:
    """The running jobs and their stages."""

    def __init__(self) -> None:
        self._stages: dict[int, frozenset[int]] = {}
        self._parents: dict[int, dict[int, tuple[int, ...]]] = {}
        self._ended_ms = 0
        self.over: set[int] = set()
        """Stages whose jobs have all ended; whoever has seen to it that they have ended too takes them out."""

    @property
    def running(self) -> frozenset[int]:
        """The jobs that run."""
        return frozenset(self._stages)

    def none_for_ms(self, now_ms: int) -> int:
        """For how long no job has run; 0 while one does."""
        return 0 if self._stages else now_ms - self._ended_ms

    def ended_since(self, at_ms: int) -> bool:
        """Whether a job has ended since then."""
        return self._ended_ms >= at_ms

    def started(self, event: JobStarted) -> None:
        """A job began."""
        self._stages[event.job] = frozenset(event.stages)
        self._parents[event.job] = dict(event.parents)
        self.over.difference_update(event.stages)

    def ended(self, event: JobEnded, now_ms: int) -> None:
        """A job ended."""
        self._ended_ms = now_ms
        ended = self._stages.pop(event.job, frozenset())
        self._parents.pop(event.job, None)
        self.over |= ended.difference(*self._stages.values())

    def forget(self) -> None:
        """The SparkContext is gone."""
        self._stages.clear()
        self._parents.clear()
        self.over.clear()

    def readers_beside(self, stage: int) -> set[int]:
        """The stages of running jobs that read any of the map outputs that a stage reads, itself among them."""
        parents = {parent for of_job in self._parents.values() for parent in of_job.get(stage, ())}
        beside = {
            other for of_job in self._parents.values() for other, reads in of_job.items() if parents.intersection(reads)
        }
        return beside | {stage}
