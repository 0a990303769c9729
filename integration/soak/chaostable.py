"""The jobs of the chaos as they ended: what counts as a failure of yarnspec, and how they are shown. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from integration.soak.faults import Done, uncounted_attempts
from integration.soak.scenario import Kind

KINDS: tuple[Kind, ...] = ("kill executor", "kill driver", "kill AM", "kill host", "kill RM", "pause HDFS")
EXECUTORS_AND_HOSTS = frozenset({"kill executor", "kill host", "start host"})
BEGINS_AGAIN = frozenset({"kill driver"})
"""With recovery the driver alone begins again, in the same attempt."""
MAX_ATTEMPTS = 4
DID_NOT_END = "DID NOT END"
AIM = 1.2
"""A job that loses executors and hosts only takes at most so many times the undisturbed time, on average."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job of the chaos, and how it ended.

    `program` is the name of what it ran. `outcome` is YARN's final status, or `DID_NOT_END`. `diagnostics` says why the
    job failed, or why the chaos no longer waited for its end.
    """

    program: str
    application: str
    outcome: str
    right: bool
    attempts: int
    seconds: float
    faults: list[Done]
    diagnostics: str

    @property
    def done(self) -> list[Done]:
        """The faults that did something."""
        return [each for each in self.faults if not each.note]

    @property
    def succeeded(self) -> bool:
        """Whether it is said to have succeeded, with whatever result."""
        return self.outcome == "SUCCEEDED"

    @property
    def wrong(self) -> bool:
        """Whether it succeeded with a wrong result."""
        return self.succeeded and not self.right

    @property
    def endless(self) -> bool:
        """Whether it did not end."""
        return self.outcome == DID_NOT_END

    @property
    def failed(self) -> bool:
        """Whether it ended without success."""
        return not self.succeeded and not self.endless

    @property
    def given_up(self) -> bool:
        """Whether it failed while it had attempts left, or in an attempt that no fault ended."""
        had_attempts_left = self.attempts - uncounted_attempts(self.faults) < MAX_ATTEMPTS
        ended_by_faults = sum(each.ends_an_attempt and each.kind not in BEGINS_AGAIN for each in self.faults)
        return self.failed and (had_attempts_left or ended_by_faults < self.attempts)

    @property
    def unexplained(self) -> bool:
        """Whether it failed and nobody said why."""
        return self.failed and not self.diagnostics

    @property
    def holds(self) -> bool:
        """Whether it ended as a job may end."""
        return not (self.wrong or self.endless or self.given_up or self.unexplained)

    @property
    def under_aim(self) -> bool:
        """Whether the aim is meant for it: it lost executors or hosts, and nothing else happened."""
        return bool(self.done) and all(each.kind in EXECUTORS_AND_HOSTS for each in self.done)


def row(job: Job, undisturbed: Mapping[str, float] | None = None) -> str:
    """One job in a line; `undisturbed` says in seconds how long each program takes without faults."""
    said = ""
    if job.wrong:
        said = "WRONG RESULT"
    elif not job.succeeded:
        what = job.outcome if job.endless else "GIVEN UP" if job.given_up else "ALL ATTEMPTS USED"
        said = f"{what}: {job.diagnostics or 'NO REASON'}"
    faults = ", ".join(f"{each.at_s:.0f} {each.kind}" for each in job.done)
    ratio = "" if undisturbed is None else f" ({_ratio(job, undisturbed):.2f} times the undisturbed time)"
    return (
        f"{job.application or 'no application'} ({job.program}): "
        f"{job.outcome}, {job.attempts} attempts, {job.seconds:.0f} s{ratio}; "
        f"{faults or 'no fault'} {said}".rstrip()
    )


def table(jobs: list[Job], undisturbed: Mapping[str, float]) -> str:
    """What was done, and what came of it; `undisturbed` as for `row`."""
    kinds = Counter(each.kind for job in jobs for each in job.done)
    rows = [*((kind, str(kinds[kind])) for kind in KINDS), ("faults", str(sum(kinds[kind] for kind in KINDS)))]
    rows += [
        ("jobs", str(len(jobs))),
        ("wrong results", str(sum(job.wrong for job in jobs))),
        ("did not end", str(sum(job.endless for job in jobs))),
        ("given up while attempts last", str(sum(job.given_up for job in jobs))),
        ("failed with all attempts used", str(sum(job.failed and not job.given_up for job in jobs))),
        ("failed without a reason", str(sum(job.unexplained for job in jobs))),
    ]
    ended = [job for job in jobs if job.succeeded]
    for program, seconds in undisturbed.items():
        times = [_ratio(job, undisturbed) for job in ended if job.program == program]
        rows.append((f"{program} ÷ undisturbed {seconds:.0f} s", _times(times)))
    rows.append(("time ÷ undisturbed", _times([_ratio(job, undisturbed) for job in ended])))
    aimed = [_ratio(job, undisturbed) for job in ended if job.under_aim]
    if aimed:
        verdict = "held" if sum(aimed) / len(aimed) <= AIM else "missed"
        rows.append(("… executors and hosts only", f"{_times(aimed)}; the aim of {AIM} is {verdict}"))
    return "\n".join(f"| {name:<30} | {value} |" for name, value in [("chaos", "count"), ("---", "---"), *rows])


def _ratio(job: Job, undisturbed: Mapping[str, float]) -> float:
    return job.seconds / undisturbed[job.program]


def _times(times: list[float]) -> str:
    if not times:
        return "none"
    return f"{min(times):.2f} to {max(times):.2f}, {sum(times) / len(times):.2f} on average ({len(times)} jobs)"
