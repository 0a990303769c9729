"""One ``save`` from the claim to what it came to, whoever runs its tasks."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Collection
from typing import Protocol

from yarnspec.errors import UsageError, YarnspecError
from yarnspec.sink.attempts import AttemptFile, Task, sets_of
from yarnspec.sink.decision import Decision, Mode, PublishedFile, file_name
from yarnspec.sink.publication import Begun, Publication

_LOGGER = logging.getLogger(__name__)


class Job(Protocol):
    """The job that writes the partitions."""

    @property
    def partitions(self) -> int:
        """How many there are."""
        ...

    def identity(self) -> str:
        """Equal in two drivers of an application only when each partition's records are the same; empty in doubt."""
        ...

    def origin(self) -> str:
        """The computation that the files come from, whatever the order of records; empty when that is not known.

        Equal in two drivers only for the same inputs, functions (the writer's too) and operations.
        """
        ...

    def told_apart(self, which: str) -> contextlib.AbstractContextManager[None]:
        """While it lasts, what runs is told from what runs for another ``save`` of the same functions."""
        ...

    def run(self, attempts: str, epoch: int, partitions: list[int]) -> list[AttemptFile]:
        """Write these partitions to the directory ``attempts``; gives the one accepted attempt of each."""
        ...

    def tasks(self, epoch: int) -> list[Task]:
        """The tasks that ran, as far as they are known."""
        ...


def save(
    publication: Publication,
    job: Job,
    counted: Counter[tuple[str, ...]],
    line: str,
    *,
    key: str = "",
    suffix: str = "",
    active: Collection[str] = (),
    take_over: bool = False,
) -> tuple[Decision, int]:
    """Return the decision that is published, and how many partitions ran for it.

    Args:
        publication: not begun yet.
        job: writes.
        counted: this process's saves and calls, by which a later driver knows them again; counted on here.
        line: where in the program the ``save`` stands.
        key: the user's name of the ``save``; it has no number then.
        suffix: the end of the files' names.
        active: the runs of this process that go on.
        take_over: the path's claim is a dead one.

    Raises:
        OutputExists, PathClaimed, Superseded, Unfinished, YarnspecError: see ``PartitionFileSink.save``.
    """
    publication.claim(active, take_over=take_over)
    # Only the holder of the claim may count.
    saves = (publication.owner.application, publication.place.target)
    calls, keys = (*saves, line), (*saves, "", "keys")
    counted[calls] += 1
    ordinal = 0 if key else counted[saves] + 1
    try:
        with publication.ended():
            if counted[saves if key else keys]:
                raise UsageError(
                    f"{publication.place.target}: some of the program's saves to this path have a key, and some have "
                    "none: after a restart nobody could tell their order. Give all of them a key, or none"
                )
            with job.told_apart(f"{publication.place.target} {key or ordinal}"):
                return _publish(publication, job, ordinal, f"{line} (call {counted[calls]})", key=key, suffix=suffix)
    finally:
        if publication.decided:  # after an error as well: the next owner publishes it
            if key:
                counted[keys] += 1
            else:
                counted[saves] = ordinal


def _publish(
    publication: Publication, job: Job, ordinal: int, line: str, *, key: str, suffix: str
) -> tuple[Decision, int]:
    owner = publication.owner
    identity = job.identity()
    begun = Begun(owner.application, owner.epoch, ordinal, identity, job.partitions if identity else 0, key)
    usable = publication.recover(begun)
    origin = job.origin()
    if origin:
        origin = f"{origin} {publication.mode.value} {suffix}"
    done = publication.earlier(ordinal, line, origin, key)
    if done is not None:
        _LOGGER.warning(
            "%s: nothing runs for save %s: epoch %d of this application has published it (%s, %d files)",
            publication.place.target,
            repr(key) if key else f"number {ordinal} in {line}",
            done.epoch,
            done.manifest,
            len(done.files),
        )
        return done, 0
    if owner.epoch and not key and not origin:
        _LOGGER.warning(
            "%s: the data of save number %d in %s are of a kind that is not known again: a restarted driver would end "
            "at it, unless it has a key (docs/sink.md)",
            publication.place.target,
            ordinal,
            line,
        )
    directory = publication.prepare(begun)
    left = sorted(set(range(job.partitions)) - {attempt.partition for attempt in usable})
    accepted = [*usable, *job.run(directory, owner.epoch, left)]
    names = publication.names_of_attempts()
    _check_sizes(publication, accepted, names)
    decision = Decision(
        run=owner.run,
        mode=publication.mode,
        application=owner.application,
        epoch=owner.epoch,
        ordinal=ordinal,
        user=owner.user,
        host=owner.host,
        decided_ms=time.time_ns() // 1_000_000,
        files=tuple(
            PublishedFile(file_name(each.partition, owner.run, suffix), each.name, each.size_bytes)
            for each in sorted(accepted, key=lambda attempt: attempt.partition)
        ),
        attempts=sets_of(accepted, names, job.tasks(owner.epoch)),
        line=line,
        origin=origin,
        key=key,
        unmarked=publication.mode is Mode.APPEND and publication.is_unmarked(),
    )
    publication.publish(decision)
    return decision, len(left)


def _check_sizes(publication: Publication, accepted: list[AttemptFile], names: dict[str, int]) -> None:
    """Check the sizes that tasks said they wrote. A shorter file was lost by a file system that had acknowledged it."""
    for attempt in accepted:
        if names.get(attempt.name) != attempt.size_bytes:
            publication.still_ours()  # else who has taken over has the files, too
            raise YarnspecError(
                f"{attempt.name} was written with {attempt.size_bytes} bytes, and {names.get(attempt.name, 'no file')} "
                "is there: nothing is published. Do all hosts see the same directory?"
            )
