"""The sizes of executors: the usual one, and those of the resource profiles that stages ask for.

Spark says how many executors it wants of each profile. Which of them runs which task is Spark's decision alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from yarnspec.core.messages.events import ExecutorProfile, HostReport, LocalTasks
from yarnspec.core.messages.settings import Settings, given_mb, slots_of

USUAL = 0
"""Spark's number of the default profile."""

_NOTHING: Mapping[str, str] = {}
_SHOWN_HOSTS = 3
_SHOWN_REASONS = 4


class Profiles:
    """Every profile that Spark has named in this attempt, with the number of executors that it wants now.

    Each has the memory that YARN gives its container, which is often more than Spark needs.
    The number of usual executors is not here: it is the target of the table (``executor_table.py``).
    """

    def __init__(self, settings: Settings) -> None:
        self._step_mb = settings.memory_step_mb
        self._largest_mb = settings.largest_container[0] if settings.largest_container is not None else None
        cores = settings.executor_vcores
        submitted = ExecutorProfile(
            id=USUAL,
            count=0,
            memory_mb=settings.executor_memory_mb,
            heap_mb=settings.executor_heap_mb,
            cores=cores,
            slots=slots_of(cores, settings.task_cpus, settings.executor_tasks_max),
            resources=settings.executor_resources,
        )
        self._submitted = self.usual = self._given(submitted)
        self._others: dict[int, ExecutorProfile] = {}
        self._local_tasks: dict[int, LocalTasks] = {}
        if settings.executor_told is not None:
            self.take_usual(settings.executor_told)

    @property
    def others(self) -> tuple[ExecutorProfile, ...]:
        """The profiles beside the usual one."""
        return tuple(self._others.values())

    @property
    def wanted(self) -> int:
        """How many executors Spark wants of all profiles beside the usual one."""
        return sum(one.count for one in self._others.values())

    def take_usual(self, told: ExecutorProfile) -> bool:
        """Take the size that the program gives the usual executors; whether they need other containers than before.

        Resource types that the program does not name stay as submitted: some of them are for YARN alone.
        """
        before = self.usual
        resources = self._submitted.resources | told.resources
        self.usual = self._given(msgspec.structs.replace(told, id=USUAL, count=0, resources=resources))
        return _size(before) != _size(self.usual)

    def to_tell(self, number: int) -> ExecutorProfile | None:
        """The profile that a container has to be told of; None: its executor is as large as was submitted."""
        found = self.of(number)
        return None if number == USUAL and _size(found) == _size(self._submitted) else found

    def aim(self, profiles: Iterable[ExecutorProfile], local_tasks: Iterable[LocalTasks] = ()) -> None:
        """Take what Spark wants now. Of a profile that is not named it wants none."""
        self.forget()
        self._others.update((one.id, self._given(one)) for one in profiles)
        self._local_tasks.update((one.profile, one) for one in local_tasks if one.total > 0)

    def _given(self, asked: ExecutorProfile) -> ExecutorProfile:
        memory_mb = given_mb(asked.memory_mb, self._step_mb, self._largest_mb)
        return msgspec.structs.replace(asked, memory_mb=memory_mb)

    def forget(self) -> None:
        """The SparkContext that wanted them is gone. Their sizes stay known until their containers have ended."""
        self._local_tasks.clear()
        for number, one in self._others.items():
            self._others[number] = msgspec.structs.replace(one, count=0)

    def of(self, number: int) -> ExecutorProfile:
        """The profile with this number."""
        return self._others.get(number, self.usual)

    def local_tasks(self, number: int) -> LocalTasks | None:
        """The tasks that would find their data on some hosts, if an executor of this profile came there."""
        return self._local_tasks.get(number)


def _size(profile: ExecutorProfile) -> tuple[int, int, int, dict[str, int]]:
    return profile.memory_mb, profile.heap_mb, profile.cores, profile.resources


def why_other_label(labels: Collection[str], wanted: str) -> str:
    """Why executors that want a node label, or none, may not be on a host with these labels; empty if they may."""
    if wanted and wanted not in labels:
        return f"it does not have the node label {wanted}"
    if not wanted and labels:
        return f"it has the node label {', '.join(labels)}, and executors have none"
    return ""


def why_none_may(host: HostReport, label: str) -> str:
    """Why executors of no size at all may be on a host; empty if some may. ``label``: the node label they want."""
    if host.state != "RUNNING":
        return f"it is {host.state}"
    return why_other_label(host.labels, label) or ("" if host.suits else "your constraint does not hold there")


def why_nowhere(
    hosts: Iterable[HostReport], size: ExecutorProfile, label: str, kept_off: Mapping[str, str] = _NOTHING
) -> str:
    """Why no running host takes executors of this size, whether it has room now or not.

    Empty if one does, or if none runs: then one may still come. ``kept_off``: hosts that are left out, and why. The
    largest hosts are named first, and those of the same reason together.
    """
    running = sorted((one for one in hosts if one.state == "RUNNING"), key=lambda one: (-one.memory_mb, one.host))
    alike: dict[str, list[str]] = {}
    for one in running:
        why = why_none_may(one, label) or lacks(one, size) or kept_off.get(one.host, "")
        if not why:
            return ""
        alike.setdefault(why, []).append(one.host)
    shown = [f"{_shown(names)}: {why}" for why, names in alike.items()]
    return "; ".join([*shown[:_SHOWN_REASONS], *(["…"] if len(shown) > _SHOWN_REASONS else [])])


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_HOSTS
    return ", ".join(names[:_SHOWN_HOSTS]) + (f" and {more} more" if more > 0 else "")


def lacks(host: HostReport, size: ExecutorProfile) -> str:
    """What a host has too little of, even if it ran nothing else; empty if it could hold an executor of this size.

    Cores are left out where the scheduler does not count them.
    """
    if 0 < host.memory_mb < size.memory_mb:
        return f"it has {host.memory_mb} MiB, and an executor needs {size.memory_mb}"
    if host.free_vcores is not None and 0 < host.vcores < size.cores:
        return f"it has {host.vcores} cores, and an executor needs {size.cores}"
    for name, amount in size.resources.items():
        there = host.resources.get(name, 0)
        if there < amount:
            return f"it has {there} of {name}, and an executor needs {amount}" if there else f"it has no {name}"
    return ""


def lacks_now(host: HostReport, size: ExecutorProfile) -> str:
    """What a host has too little of free; empty if an executor of this size has room there by the host's report."""
    if host.free_memory_mb is not None and host.free_memory_mb < size.memory_mb:
        return f"it has {host.free_memory_mb} MiB free, and an executor needs {size.memory_mb}"
    if host.free_vcores is not None and host.free_vcores < size.cores:
        return f"it has {host.free_vcores} cores free, and an executor needs {size.cores}"
    for name, amount in size.resources.items():
        if (free := host.free_resources.get(name, 0)) < amount:
            return f"it has {free} of {name} free, and an executor needs {amount}"
    return ""
