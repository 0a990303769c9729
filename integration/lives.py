"""What the lives of an application's driver left to each other: out of its journal, its events and its shuffle files.

An *output* is named by its shuffle's number and its map's number, as its files are; a *map* by its shuffle's number and
its index. The journal can be read when the application has ended, the files while it lives.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

from integration.cluster import Cluster
from integration.submitting import run_yarnspec
from yarnspec import options
from yarnspec.core.journal.journalrecords import MapFinished
from yarnspec.core.journal.journalstate import Recorded
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster as Gateway
from yarnspec.journal.directory import JOURNAL_DIRECTORY
from yarnspec.journal.layout import Layout
from yarnspec.journal.replay import replay
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

Output = tuple[int, int]
TOLD = {
    "JournalReplayed", "ShuffleDeclared", "AnswerShuffle", "ShuffleRestored", "OutputsReported", "RecordingStopped",
    "RecordingEnded", "SavedUnreadable", "AdoptionOff", "ReportRecoveryLimit", "GiveUpHost",
    "OfferSaved", "AbandonAttempt",
}  # fmt: skip
_INDEX_FILE = re.compile(r"shuffle_(\d+)_(\d+)_0\.index")


class Lives:
    """An application that has ended."""

    def __init__(self, cluster: Cluster, application: str) -> None:
        self.records = run_yarnspec(cluster, "events", application, "-o", "json").expect(0).lines
        self._status = run_yarnspec(cluster, "status", application, "-o", "json").expect(0).document
        self._journal = journal_of(cluster, application)

    @cached_property
    def epochs(self) -> list[int]:
        """The lives that began, first to last."""
        return self._journal.epochs()

    @property
    def last(self) -> int:
        """The one in which the program came to its end."""
        return self.epochs[-1]

    def saved(self, before: int) -> Recorded:
        """What was durable when this life began; nothing when that could not be read to its end."""
        return replay(self._journal, [epoch for epoch in self.epochs if epoch < before]).recorded

    def ran(self, epoch: int) -> set[tuple[int, int]]:
        """The maps that ran in a life, as far as it has recorded them: shuffle and index."""
        return {(one.shuffle, one.index) for one in self._finished(epoch)}

    def recorded(self, epoch: int) -> int:
        """How many outputs a life has recorded, those dropped since as well."""
        return len(self._finished(epoch))

    def _finished(self, epoch: int) -> list[MapFinished]:
        records = map(self._journal.record, self._journal.scan(epoch, self._journal.seal_of(epoch)))
        return [one for one in records if isinstance(one, MapFinished) and one.epoch == epoch]

    def of(self, kind: str, epoch: int) -> list[dict[str, Any]]:
        """A life's events or commands of one type."""
        return [one for one in self.records if one["type"] == kind and one["epoch"] == epoch]

    def launched(self, epoch: int) -> int:
        """How many attempts of tasks a life that came to its end has launched: all of them have ended."""
        ended = len(self.of("TaskFinished", epoch))
        assert epoch != self.last or self._status["tasks"]["launched"] == ended, self._status["tasks"]
        return ended

    @property
    def not_recorded(self) -> dict[str, int]:
        """Why shuffles of the last life are not recorded, and how many."""
        reasons: dict[str, int] = self._status["recovery"]["not_recorded"]
        return reasons

    @property
    def said(self) -> str:
        """What was told and decided about kept work, for a test that fails."""
        return "\n".join(json.dumps(one)[:600] for one in self.records if one["type"] in TOLD)

    def check(
        self, tasks: int, gone: Collection[Output] = (), *, repeatable: bool = False, spared: int = 0
    ) -> Recorded:
        """No life has run what was saved, and the last one exactly the rest; returns what was saved for that.

        ``tasks``: of the undisturbed program. ``gone``: recorded outputs whose files are not there, or are damaged.
        ``repeatable``: whether the user has said so. ``spared``: tasks without map outputs that a write needs
        which is there.
        """
        for epoch in self.epochs:
            good = usable(self.saved(epoch), gone, repeatable=repeatable)
            again = {(shuffle, index) for shuffle, indexes in good.items() for index in indexes} & self.ran(epoch)
            assert not again, f"maps ran again in epoch {epoch} that were saved: {sorted(again)}\n{self.said}"
        saved = self.saved(self.last)
        expected = tasks_left(saved, good, tasks) - spared
        assert self.launched(self.last) == expected, f"{expected} tasks of {tasks} were left\n{self.said}"
        return saved


def journal_of(cluster: Cluster, application: str) -> Layout:
    """The files of an application's journal."""
    files = open_files(HadoopConf.read(cluster.environment))
    return Layout(files, f"{files.home}/.yarnspec/history/{application}/{JOURNAL_DIRECTORY}")


def outputs(saved: Recorded) -> set[Output]:
    """All that is saved."""
    return {(number, one.map_id) for number, shuffle in saved.shuffles.items() for one in shuffle.outputs.values()}


def usable(saved: Recorded, gone: Collection[Output] = (), *, repeatable: bool = False) -> dict[int, set[int]]:
    """By shuffle, the maps whose outputs the next epoch uses (docs/internals/recovery.md, "What is used again")."""
    good: dict[int, set[int]] = {}
    varies: dict[int, bool] = {}
    same = {"determinate", "unordered"} if repeatable else {"determinate"}
    for number in _from_below(saved):
        shuffle = saved.shuffles[number]
        maps, below = shuffle.registered.maps, shuffle.registered.parents
        varies[number] = shuffle.registered.determinism not in same or any(varies.get(one, True) for one in below)
        there = {index for index, one in shuffle.outputs.items() if (number, one.map_id) not in gone}
        oldest = min((one.map_id for one in shuffle.outputs.values()), default=0)
        fits = all(not varies.get(one, True) or _is_what_it_was(saved, good, one, oldest) for one in below)
        whole = shuffle.registered.determinism != "indeterminate" or len(there) == maps
        good[number] = there if fits and whole else set()
    return good


def _from_below(saved: Recorded) -> list[int]:
    """The shuffles, each after those that it is computed from; Spark numbers a chain of RDDs from its end."""
    order: list[int] = []

    def add(number: int) -> None:
        if number in saved.shuffles and number not in order:
            for below in saved.shuffles[number].registered.parents:
                add(below)
            order.append(number)

    for number in sorted(saved.shuffles):
        add(number)
    return order


def _is_what_it_was(saved: Recorded, good: dict[int, set[int]], number: int, oldest: int) -> bool:
    """Whether a shuffle is there as a whole, and none of its maps ran after the oldest of those above it."""
    if number not in good or len(good[number]) < saved.shuffles[number].registered.maps:
        return False
    return max(one.map_id for one in saved.shuffles[number].outputs.values()) < oldest or not oldest


def tasks_left(saved: Recorded, good: dict[int, set[int]], tasks: int) -> int:
    """How many tasks of a program of so many run when these maps' outputs are used again.

    What is below a whole shuffle does not run, be it there or not.
    """
    above: dict[int, list[int]] = {number: [] for number in good}
    for number in good:
        for below in saved.shuffles[number].registered.parents:
            above.setdefault(below, []).append(number)
    left = tasks
    needed: set[int] = set()
    for number in reversed(_from_below(saved)):
        maps = saved.shuffles[number].registered.maps
        if above[number] and not any(one in needed for one in above[number]):
            left -= maps
            continue
        left -= len(good[number])
        if len(good[number]) < maps:
            needed.add(number)
    return left


def opened(cluster: Cluster, application: str) -> Application:
    """An application, to be asked more than once without a process for each answer; to be closed."""
    return Application(application, Gateway(HadoopConf.read(cluster.environment), options.load(None, ()).options))


def durable_outputs(running: Application) -> int:
    """How many map outputs of its newest life are in the journal by now, as its status says."""
    recovery = running.status().recovery
    return recovery.durable_outputs if recovery else 0


def output_files(cluster: Cluster, application: str) -> dict[Output, Path]:
    """The index files of the map outputs that lie on the hosts now."""
    found = {}
    for directory in cluster.home.glob(f"hosts/*/local/usercache/*/appcache/{application}/blockmgr-*"):
        # Who looks for files in them must bear that executors, as they end, take directories away.
        for parent, _, names in os.walk(directory):
            for name in filter(None, map(_INDEX_FILE.fullmatch, names)):
                found[int(name[1]), int(name[2])] = Path(parent, name[0])
    return found
