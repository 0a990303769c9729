"""Decides where a container may go: the hosts as the plan sees them, and the emptiest of those that the rules leave.

The rules of one container, in the words of ``docs/placement.md``:

    hard    avoid, the user's constraint, at most K on one host    never relaxed
    soft    spread                                                 relaxed first, in the order of ``STEPS``
            prefer                                                 relaxed when no other host with data has room
            require                                                relaxed last, by whoever required the host

Spreading is water-filling: the next container goes to the host with the fewest of ours. Among equals a host that is not
slow comes first, then the one with the most room. Where room differs little, each application has an order of its own:
else all that start at the same moment would ask the same host. A host without room by the ResourceManager's last report
does not count.

Hosts with data of waiting tasks are preferred. Each of them should have its share of the executors that these tasks can
use (``shares``). While hosts lack executors of their share, a container goes to the one that lacks the most. Spreading
decides among equals, and for all other containers. Everything here is plain values; ``placing.py`` keeps the books.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Step = Literal["host", "another", "hosts", "anywhere"]
"""How a container is asked for: on the one host that the plan gives it, on one other, on one of several, or on any."""

STEPS: tuple[Step, ...] = ("host", "another", "hosts", "anywhere")
"""Spreading is relaxed in this order, one step at a time; with a limit for each host not as far as the last one."""

MOST_NAMED = 8
"""Without a limit a container is asked for on so many hosts at most: thousands of names would cost the scheduler much.

Under ``placement.max_per_host`` all requests together name each host so many times at most."""

MOST_MOVED = 16
"""So many executors move in one rescale at most."""

_SPEED_CLASSES = 2
"""Factors of slowness are told apart by halves: what differs less is noise."""


@dataclass(slots=True)
class HostLoad:
    """One host: our containers there or asked for there, and how many more of this size fit.

    ``leaving``: containers beside these whose executors are given up and have not ended. The limit counts them, but
    spreading does not, because they are gone soon. ``factor`` says how many times slower than usual tasks run there, as
    far as that is known. ``lacking``: how many more the host should have to be near the data of waiting tasks.
    ``turn``: its place among equals.
    """

    host: str
    containers: int = 0
    room: int = 0
    factor: float = 1.0
    lacking: float = 0
    leaving: int = 0
    turn: int = 0

    def places_left(self, max_per_host: int) -> int:
        """How many more containers the limit allows here."""
        return max(0, max_per_host - self.containers - self.leaving)

    @property
    def rank(self) -> tuple[int, int, int, int, str]:
        """The emptiest first, then the faster, then the one with more room: what differs by less than half is alike."""
        speed = round(max(1.0, self.factor) * _SPEED_CLASSES)
        return (self.containers, speed, -max(0, self.room).bit_length(), self.turn, self.host)


class Loads:
    """The usable hosts of one moment. Taking a place on a host counts at once.

    ``max_per_host`` is the hard limit of our containers on one host.
    """

    def __init__(self, hosts: Iterable[HostLoad], max_per_host: int | None = None) -> None:
        self._by_host = {one.host: one for one in hosts}
        self._most = max_per_host
        self._preferred = [one for one in self._by_host.values() if one.lacking > 0]
        self._heap = [(one.rank, one.host) for one in self._by_host.values() if self._open(one)]
        heapq.heapify(self._heap)

    def below_limit(self, host: str) -> bool:
        """Whether the limit allows one more container on this host; so it does on a host that is not known."""
        return host not in self._by_host or self._below(self._by_host[host])

    def take(self, host: str) -> None:
        """One more container of ours is on this host, or asked for there."""
        load = self._by_host.get(host)
        if load is None:
            return
        load.containers += 1
        load.room -= 1
        load.lacking -= 1
        if self._open(load):
            heapq.heappush(self._heap, (load.rank, host))

    def several(self, avoid: Collection[str] = (), most: int = MOST_NAMED) -> tuple[str, ...]:
        """The emptiest hosts with room, at most so many."""
        found: list[str] = []
        looked_at = []
        while self._heap and len(found) < most:
            rank, host = entry = heapq.heappop(self._heap)
            load = self._by_host[host]
            if rank != load.rank or not self._open(load):
                continue  # outdated: the host has an entry of its newer load, or no room
            looked_at.append(entry)
            if host not in avoid:
                found.append(host)
        for entry in looked_at:
            heapq.heappush(self._heap, entry)
        return tuple(found)

    def preferred(self, avoid: Collection[str] = (), most: int = MOST_NAMED) -> tuple[str, ...]:
        """The hosts with room that lack executors near data, at most so many; first the one that lacks the most."""
        lacking = [one for one in self._preferred if one.lacking > 0 and self._open(one) and one.host not in avoid]
        return tuple(one.host for one in heapq.nsmallest(most, lacking, key=lambda one: (-one.lacking, one.rank)))

    def _below(self, load: HostLoad) -> bool:
        return self._most is None or load.places_left(self._most) > 0

    def _open(self, load: HostLoad) -> bool:
        return load.room > 0 and self._below(load)


def deal(
    asks: Mapping[str, Collection[str]], able: Mapping[str, Collection[str]], places: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """Deal hosts out over asks. No host stands in more of them than it has places, so that none gets too many.

    ``asks``: the hosts that each ask names now. It keeps them as far as there are places. ``able``: on which hosts it
    may come. Each further place goes to an ask that names the fewest hosts. An ask for which none is left takes half of
    those of another one.
    """
    left = dict(places)
    dealt: dict[str, list[str]] = {}
    for ask, named in asks.items():
        dealt[ask] = [host for host in named if host in able[ask] and left.get(host, 0) > 0]
        for host in dealt[ask]:
            left[host] -= 1
    for host, count in left.items():
        if count > 0:
            takers = [ask for ask, hosts in dealt.items() if host in able[ask] and host not in hosts]
            for ask in heapq.nsmallest(count, takers, key=lambda ask: len(dealt[ask])):
                dealt[ask].append(host)
    for ask in [ask for ask, hosts in dealt.items() if not hosts]:
        rich = max(
            (hosts for hosts in dealt.values() if len(hosts) > 1),
            key=lambda hosts: sum(host in able[ask] for host in hosts),
            default=[],
        )
        shared = [host for host in rich if host in able[ask]]
        dealt[ask] = shared[-max(1, len(shared) // 2) :]
        rich[:] = [host for host in rich if host not in dealt[ask]]
    return {ask: tuple(hosts) for ask, hosts in dealt.items()}


def turn_of(application_id: str, host: str) -> int:
    """The place of a host among equals: the same for this application at any time, another for each application."""
    return int.from_bytes(hashlib.blake2b(f"{application_id} {host}".encode(), digest_size=4).digest(), "big")


def shares(tasks: Mapping[str, int], total: int, executors: int) -> dict[str, float]:
    """The share of so many executors that each host should have; ``tasks``: how many have data there, of the total."""
    return {host: count * executors / total for host, count in tasks.items()}


def uneven(
    hosts: Iterable[HostLoad],
    max_per_host: int | None = None,
    most: int = MOST_MOVED,
    movable: Mapping[str, int] | None = None,
) -> tuple[tuple[str, str], ...]:
    """The hosts that have an executor more than spreading would give them, and where it could go: a pair for each.

    The second host has room, and then has no more than the first. At most ``most`` pairs are named, the fullest hosts
    first, and none more often than it has ``movable`` executors. None: all may move.
    """
    loads = list(hosts)
    left = Counter({one.host: one.containers for one in loads} if movable is None else movable)
    pairs: list[tuple[str, str]] = []
    while len(pairs) < most:
        open_ones = [one for one in loads if one.room > 0 and (max_per_host is None or one.places_left(max_per_host))]
        full_ones = [one for one in loads if left[one.host] > 0]
        if not open_ones or not full_ones:
            break
        emptiest = min(open_ones, key=lambda one: one.rank)
        fullest = max(full_ones, key=lambda one: (one.containers, one.rank))
        if fullest.containers - emptiest.containers <= 1:
            break
        fullest.containers -= 1
        emptiest.containers += 1
        emptiest.room -= 1
        left[fullest.host] -= 1
        pairs.append((fullest.host, emptiest.host))
    return tuple(pairs)
