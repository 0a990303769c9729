"""How many containers are wanted, and what became of each.

One row an executor. Its states, and who moves it:

    wanted ──allocated──▶ allocated ──registered──▶ running ──▶ (lost: the row goes)
       │                      │                        │
       └── withdrawn          └──────── unwanted ──────┴──▶ releasing ──▶ (lost: the row goes)

A row counts towards the target until it is releasing or lost. Missing containers are asked for again with new executor
ids. Only replacements that wait for a back-off or for the driver are held back.

Beside the target there may be *extra* containers, for copies of slow tasks. They have a number of their own and are
kept off certain hosts. Executors that a smaller target leaves over are extra ones, too. An extra one that has a
container takes the place of an ordinary one that is missing. Only extra ones are given back, and take no new task while
they leave.

While map outputs of an earlier driver are waited for, the hosts that hold them are *required hosts*. Each gets one
container of its own, wherever the others go, because an executor there can take the outputs over. So there are at least
as many containers as required hosts.

Stages may ask for executors of another size by a *resource profile* (``profiles.py``). Spark wants a number of them for
each profile, which the table keeps apart: what follows about the target holds for the usual executors alone.

The table says how many containers are asked for and by which rules (``asks.py``). Which host that means for each of
them ``placing.py`` decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from yarnspec.core.containers.asks import Ask, Asks
from yarnspec.core.containers.executor_rows import Executor, ExecutorRows, State
from yarnspec.core.containers.placement_model import STEPS
from yarnspec.core.containers.profiles import USUAL, Profiles
from yarnspec.core.messages.commands import WantedContainer
from yarnspec.core.messages.events import ContainerAllocated, ContainerLost, ContainerStarted
from yarnspec.core.messages.settings import Settings

IDS_PER_EPOCH = 100_000

_LIVE: tuple[State, ...] = ("wanted", "allocated", "running")


class ExecutorTable:
    """The table of executors of one attempt; it decides nothing about time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.profiles = Profiles(settings)
        self._rows = ExecutorRows()
        self.asks = Asks()
        self._withdrawn: set[str] = set()
        self._first_id = 0
        self._issued = 0
        self.target = settings.initial_executors
        self.held = 0
        self.profiles_held = False
        self._move_to: tuple[str, ...] = ()
        self._extra_target = 0
        self._extra_not_hosts: tuple[str, ...] = ()
        self._required_hosts: tuple[str, ...] = ()
        self.unknown = 0

    def begin_epoch(self, epoch: int) -> None:
        """Number executors from this epoch's range on."""
        self._first_id = (epoch - 1) * IDS_PER_EPOCH
        self._issued = 0

    # what there is

    @property
    def rows(self) -> tuple[Executor, ...]:
        """All executors in the order in which they were asked for."""
        return tuple(self._rows.values())

    @property
    def changes(self) -> int:
        """Grows with every change of a row's state."""
        return self._rows.changes

    def count(self, *states: State) -> int:
        """How many executors of the usual size are in one of these states."""
        return self._rows.count(*states)

    def count_ordinary(self, *states: State) -> int:
        """How many of them count towards the target."""
        return self._rows.count(*states, extra=False)

    def count_of(self, profile: int) -> int:
        """How many executors of this profile are there or to come."""
        return self._rows.count(*_LIVE, extra=False, profile=profile)

    @property
    def live(self) -> int:
        """How many executors count towards the target."""
        return self._rows.count(*_LIVE, extra=False)

    @property
    def extra_executors(self) -> tuple[Executor, ...]:
        """The extra executors that are there or to come."""
        if not self.extra_count:
            return ()
        return tuple(row for row in self._rows.values() if row.extra and row.state != "releasing")

    @property
    def extra_count(self) -> int:
        """How many extra executors are there or to come."""
        return self._rows.count(*_LIVE, extra=True)

    @property
    def ids_left(self) -> int:
        """How many executors this epoch can still ask for."""
        return IDS_PER_EPOCH - 1 - self._issued

    @property
    def missing(self) -> int:
        """How many containers are to be asked for now."""
        return max(0, self.wanted - self.live - self.held)

    @property
    def missing_by_profile(self) -> dict[int, int]:
        """How many containers are to be asked for now for each profile beside the usual one."""
        if self.profiles_held:
            return {}
        missing = {one.id: one.count - self.count_of(one.id) for one in self.profiles.others}
        return {profile: count for profile, count in missing.items() if count > 0}

    @property
    def wanted(self) -> int:
        """How many executors there shall be.

        Spark's target, with those that come before others leave, and at least one for each required host.
        """
        return max(self.target + len(self._move_to), self._needed)

    @property
    def _needed(self) -> int:
        return max(self.target, len(self._required_hosts))

    def row(self, executor_id: str) -> Executor | None:
        """One executor."""
        return self._rows.get(executor_id)

    @property
    def left_over(self) -> tuple[str, ...]:
        """The executors of SparkContexts that are gone whose containers have not ended yet."""
        return tuple(row.executor_id for row in self._rows.values() if row.of_earlier_context)

    @property
    def any_running(self) -> bool:
        """Whether an executor of any size is registered and stays."""
        return self._rows.any_running

    def running(self) -> Mapping[str, str]:
        """The executors that are registered and stay, with their hosts."""
        return self._rows.running()

    def healthy(self, now_ms: int) -> int:
        """How many running executors have outlived the time in which an end counts as a failed start."""
        young_ms = self._settings.executor.young_age_ms
        return sum(row.state == "running" and row.healthy(now_ms, young_ms) for row in self._rows.values())

    def has_container(self, executor_id: str) -> bool:
        """Whether the executor is known, has a container and is not being released."""
        row = self._rows.get(executor_id)
        return row is not None and row.state in ("allocated", "running")

    def summary(self) -> str:
        """The counts, for reasons."""
        return (
            f"target {self.target}: {self.count('running')} running, {self.count('allocated')} starting, "
            f"{self.count('wanted')} asked for"
            + (f", {self.held} held back" if self.held else "")
            + (f", {self.extra_count} of them beside the target" if self.extra_count else "")
            + "".join(
                f"; profile {one.id}: {self.count_of(one.id)} of {one.count}"
                for one in self.profiles.others
                if one.count or self.count_of(one.id)
            )
        )

    # what is wanted

    def aim(self, target: int) -> None:
        """Take a new target; what is held back never exceeds what the target leaves open."""
        self.target = target
        self._limit_held()

    def _limit_held(self) -> None:
        self.held = min(self.held, max(0, self.wanted - self.live))

    def set_required_hosts(self, hosts: tuple[str, ...]) -> None:
        """Require these hosts from now on, the first one the most. Requests for other hosts may go anywhere."""
        if hosts == self._required_hosts:
            return
        self._required_hosts = hosts
        for ask in self.asks.place_again(
            lambda ask: bool(ask.required) and not ask.moves and ask.required not in hosts
        ):
            ask.required = ""

    def want_extra(self, count: int, not_hosts: tuple[str, ...] = ()) -> None:
        """Want so many containers beside the target, on none of ``not_hosts``; those that came already stay."""
        self._extra_target = count
        if count:
            for ask in self.asks.place_again(lambda ask: ask.extra and ask.avoid != not_hosts):
                ask.avoid, ask.step = not_hosts, STEPS[0]
        self._extra_not_hosts = not_hosts

    def move_to(self, hosts: tuple[str, ...]) -> None:
        """Want one more executor for each of these hosts, there and nowhere else."""
        self._move_to = hosts
        left = Counter(hosts) - self.moves_awaited("allocated")
        too_many: set[str] = set()
        for ask in self.asks.all:
            if ask.moves and left[ask.required] > 0:
                left[ask.required] -= 1
            elif ask.moves:
                too_many.add(ask.wanted.id)
        for ask in self.asks.place_again(lambda ask: ask.wanted.id in too_many):
            ask.required, ask.moves = "", False
            if row := self._rows.get(ask.wanted.id):
                row.moves_to = ""

    def moves_awaited(self, *states: State) -> Counter[str]:
        """How many of these are in one of these states, by host; without states: how many have not registered."""
        if not self._move_to:
            return Counter()
        rows = (row for row in self._rows.values() if row.moves_to)
        return Counter(row.moves_to for row in rows if row.state in (states or ("wanted", "allocated")))

    def ask(self, places_left: Callable[[int], int] | None = None) -> tuple[str, ...]:
        """Make rows for what is missing, as far as ids are left, and give their new ids.

        ``places_left`` tells of a profile how many more of its containers find a place; None: all do.
        """
        ids = self._ask_some(self.missing, places_left)
        ids += self._ask_some(self._extra_target - self.extra_count, places_left, extra=True)
        for profile, missing in self.missing_by_profile.items():
            ids += self._ask_some(missing, places_left, profile=profile)
        return tuple(ids)

    def _ask_some(
        self, count: int, places_left: Callable[[int], int] | None, *, extra: bool = False, profile: int = USUAL
    ) -> list[str]:
        if count > 0 and places_left is not None:
            count = min(count, places_left(profile))
        return [self._ask_one(extra=extra, profile=profile) for _ in range(min(count, self.ids_left))]

    def by_profile(self, executor_ids: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
        """These executors by the number of their profile."""
        found: dict[int, list[str]] = {}
        for executor_id in executor_ids:
            found.setdefault(self._rows[executor_id].profile, []).append(executor_id)
        return {profile: tuple(ids) for profile, ids in found.items()}

    def _ask_one(self, *, extra: bool = False, profile: int = USUAL) -> str:
        self._issued += 1
        executor_id = str(self._first_id + self._issued)
        required = "" if extra or profile else next(iter(self._unserved_hosts()), "")
        moves_to = "" if extra or profile or required else next(iter(Counter(self._move_to) - self.moves_awaited()), "")
        row = Executor(executor_id=executor_id, state="wanted", extra=extra, profile=profile, moves_to=moves_to)
        self._rows[executor_id] = row
        size = self.profiles.of(profile)
        wanted = WantedContainer(
            id=executor_id,
            memory_mb=size.memory_mb,
            vcores=size.cores,
            resources=size.resources,
            profile=profile,
            label=self._settings.executor_label,
        )
        avoid = self._extra_not_hosts if extra else ()
        self.asks.add(Ask(wanted=wanted, extra=extra, avoid=avoid, required=required or moves_to, moves=bool(moves_to)))
        return executor_id

    def live_on(self, hosts: Iterable[str]) -> dict[str, list[Executor]]:
        """The executors that run or start on each of these hosts."""
        found: dict[str, list[Executor]] = {host: [] for host in hosts}
        if found:
            for row in self._rows.values():
                if row.host in found and row.state in ("allocated", "running"):
                    found[row.host].append(row)
        return found

    def requires(self, host: str) -> bool:
        """Whether a container is required on this host, and none is there or asked for."""
        return host in self._unserved_hosts()

    def replaces(self, executor_ids: Iterable[str]) -> bool:
        """Whether another container is asked for when these executors are gone, now or after a back-off."""
        rows = [row for one in executor_ids if (row := self._rows.get(one)) is not None]
        live = self.live - sum(row.ordinary and row.state != "releasing" for row in rows)
        # First extra ones take the places: ``absorb_extra``.
        spare = sum(row.state != "wanted" and row not in rows for row in self.extra_executors)
        return live + min(spare, max(0, self._needed - live)) < self.wanted

    def _unserved_hosts(self) -> tuple[str, ...]:
        """The required hosts for which no container runs and none is asked for."""
        if not self._required_hosts:
            return ()
        taken = {row.host for row in self._rows.values() if row.state != "releasing"}
        taken |= self.asks.required
        return tuple(host for host in self._required_hosts if host not in taken)

    def absorb_extra(self) -> None:
        """Let extra executors that have a container take the places of ordinary ones that are missing.

        One that comes before another one leaves is not missing: it is to come on another host.
        """
        missing = self._needed - self.live
        if missing <= 0:
            return
        for row in [one for one in self.extra_executors if one.state != "wanted"][:missing]:
            self._rows.be_extra(row, extra=False)
            self._forget_extra_target()
        self._limit_held()

    def withdraw_surplus(self) -> tuple[str, ...]:
        """Take back requests beyond what is wanted; executors that have a container stay.

        The newest go first, and those for required hosts last.
        """
        surplus = {(False, USUAL): self.live - self.wanted, (True, USUAL): self.extra_count - self._extra_target}
        surplus |= {(False, one.id): self.count_of(one.id) - one.count for one in self.profiles.others}
        withdrawn: list[str] = []
        if max(surplus.values()) <= 0:
            return ()
        served = {ask.wanted.id for ask in self.asks.all if ask.required and not ask.moves}
        newest = [row for row in self.rows[::-1] if row.state == "wanted"]
        for row in sorted(newest, key=lambda row: row.executor_id in served):
            if surplus[row.extra, row.profile] > 0:
                surplus[row.extra, row.profile] -= 1
                withdrawn.append(self._withdraw(row.executor_id))
        return tuple(withdrawn)

    def spare_surplus(self, most: int = 0) -> tuple[str, ...]:
        """Count surplus executors beside the target from now on: first those that start. Returns their ids.

        ``most``: so many are never surplus, even when fewer are wanted.
        """
        surplus = self.count_ordinary("allocated", "running") - max(self.wanted, most)
        newest = [row for state in ("allocated", "running") for row in self.rows[::-1] if row.state == state]
        newest = [row for row in newest if row.ordinary]
        return self.be_surplus(tuple(row.executor_id for row in newest[: max(0, surplus)]))

    def be_surplus(self, executor_ids: tuple[str, ...]) -> tuple[str, ...]:
        """Count these executors beside the target from now on, and return their ids."""
        for executor_id in executor_ids:
            self._rows.be_extra(self._rows[executor_id], extra=True)
        self._extra_target += len(executor_ids)
        return executor_ids

    def leave(self, row: Executor) -> None:
        """An extra executor takes no new task from now on."""
        self._rows.leave(row, leaving=True)

    def stay(self, row: Executor) -> None:
        """It takes tasks again."""
        self._rows.leave(row, leaving=False)

    def leaving(self) -> frozenset[str]:
        """The executors that take no new task, as they are about to be given back; perhaps some that have gone."""
        return self._rows.leaving()

    def release(self, executor_id: str, why: str) -> bool:
        """Give up an executor that Spark does not want any more; False when there is nothing to give up."""
        row = self._rows.get(executor_id)
        if row is None:
            self.unknown += 1
            return False
        if row.state == "releasing":
            return False
        self._forget_extra(row)
        if row.state == "wanted":
            self._withdraw(executor_id)
        else:
            self._rows.become(row, "releasing")
            row.why = why
        return True

    def retire(self, why: str) -> tuple[str, ...]:
        """Give up every executor; gives those whose containers or requests have to be taken back.

        An executor that is registered is not among them: its SparkContext ends it. A second call names those of them
        that are still there.
        """
        given_back = []
        self._extra_target = 0
        self.profiles.forget()
        for row in self.rows:
            if row.state == "running":
                self._rows.become(row, "releasing")
                row.why = why
                row.of_earlier_context = True
            elif row.of_earlier_context or self.release(row.executor_id, why):
                given_back.append(row.executor_id)
        return tuple(given_back)

    # what happened

    def preemption_announced(self, container_ids: tuple[str, ...]) -> None:
        """YARN will take these containers, or would like to."""
        for row in self._rows.values():
            row.preemption_announced |= row.container_id in container_ids

    def request_failed(self, executor_id: str) -> bool:
        """A request did not reach YARN, as far as is known; a container that comes all the same is given back."""
        row = self._rows.get(executor_id)
        if row is None or row.state != "wanted":
            self.unknown += row is None
            return False
        self._forget_extra(row)
        self._withdraw(executor_id)
        return True

    def allocated(self, event: ContainerAllocated) -> Literal["taken", "unwanted", "ignored"]:
        """A container came: for a request that stands, for one that was withdrawn, or for none that is known."""
        row = self._rows.get(event.executor_id)
        if row is None:
            return self._late(event.executor_id, event.container_id, event.host)
        if row.state != "wanted":
            self.unknown += not self._same(row, event.container_id)
            return "ignored"
        # No new version for this alone: the provider knows what it was given, and a version for each allocation would
        # make it look at its bindings again for nothing. The next version leaves the placement out.
        self._rows.become(row, "allocated")
        row.container_id = event.container_id
        row.host = event.host
        self.asks.came(event.wanted_id or event.executor_id, row.profile, event.host)
        return "taken"

    def started(self, event: ContainerStarted, now_ms: int) -> Literal["taken", "unwanted", "ignored"]:
        """An executor registered, perhaps before its allocation was heard of."""
        row = self._rows.get(event.executor_id)
        if row is None:
            return self._late(event.executor_id, event.container_id, event.host)
        if row.state not in ("wanted", "allocated") or not self._same(row, event.container_id):
            self.unknown += not self._same(row, event.container_id)
            return "ignored"
        if row.state == "wanted":
            self.asks.came(event.executor_id, row.profile, event.host)
        row.container_id = event.container_id or row.container_id
        row.host = event.host
        self._rows.become(row, "running")
        row.cores = event.cores
        row.registered_ms = now_ms
        return "taken"

    def lost(self, event: ContainerLost) -> Executor | None:
        """Take an ended executor out of the table; None when it is not known (any more)."""
        row = self._rows.get(event.executor_id)
        if row is None or not self._same(row, event.container_id):
            self.unknown += 1
            return None
        del self._rows[event.executor_id]
        if row.state != "releasing":
            self._forget_extra(row)
        if row.state == "wanted":
            self.asks.drop(event.executor_id, row.profile)
            self.asks.changed = True
        return row

    def _forget_extra(self, row: Executor) -> None:
        # One that goes is not replaced by itself: whoever wanted it looks whether it is still needed.
        if row.extra:
            self._forget_extra_target()

    def _forget_extra_target(self) -> None:
        self._extra_target = max(0, self._extra_target - 1)

    def _late(self, executor_id: str, container_id: str, host: str) -> Literal["unwanted", "ignored"]:
        if executor_id not in self._withdrawn:
            self.unknown += 1
            return "ignored"
        self._withdrawn.discard(executor_id)
        self.asks.overdrawn = True
        self._rows[executor_id] = Executor(
            executor_id=executor_id, state="releasing", container_id=container_id, host=host, why="withdrawn"
        )
        return "unwanted"

    def _withdraw(self, executor_id: str) -> str:
        profile = self._rows[executor_id].profile
        del self._rows[executor_id]
        self._withdrawn.add(executor_id)
        self.asks.drop(executor_id, profile)
        self.asks.changed = True
        return executor_id

    @staticmethod
    def _same(row: Executor, container_id: str) -> bool:
        return not container_id or not row.container_id or row.container_id == container_id
