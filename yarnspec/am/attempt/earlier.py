"""The news of earlier attempts for this one, from their events: blocked hosts, sizes, and late messages."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from yarnspec.core.blocking.blocklist import SPARK, SUBMIT
from yarnspec.core.messages.commands import BeginRescale, BlockHost, ChangeBounds, UnblockHost
from yarnspec.core.messages.events import BlockRequested, DriverReady, ExecutorProfile, ScaleRequested
from yarnspec.core.messages.recoveryevents import EpochRefused
from yarnspec.errors import ClusterUnreachable
from yarnspec.observe.forms.records import Record, UnreadableRecordError

_USED = frozenset(
    (
        "BlockRequested",
        "BlockHost",
        "UnblockHost",
        "ChangeBounds",
        "BeginRescale",
        "DriverReady",
        "EpochRefused",
    )
)


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """Blocks by users that still hold, as wishes for the next attempt, and the hosts whose blocks are over.

    Hosts excluded at submit are no wishes: every attempt knows them, and needs to know which of them were lifted.
    ``scale``: the bounds for the number of executors that were asked for last. ``rescales``: how many rescales there
    were. ``executor``: the size of executors by the program's configuration. ``refused``: the newest count of each kind
    of message in the name of epochs that were over. ``problem``: why not everything is known; empty: everything is.
    """

    wishes: tuple[BlockRequested, ...] = ()
    scale: tuple[ScaleRequested, ...] = ()
    rescales: int = 0
    executor: ExecutorProfile | None = None
    lifted: frozenset[str] = frozenset()
    refused: tuple[EpochRefused, ...] = ()
    problem: str = ""


def earlier_of(records: Iterable[Record | ClusterUnreachable], now_ms: int) -> Earlier:
    """Fold the records of all earlier attempts, first to last; an error stands where some cannot be read.

    A block from before unreadable records is no wish: they may hold its end, and the journal may know the block. If a
    host is still slow, the tasks of this attempt show it again. Stages and tasks are other ones now. The cluster's list
    is read anew, and the next SparkContext excludes hosts itself.
    """
    asked: dict[str, BlockRequested] = {}
    blocks: dict[str, BlockHost] = {}
    lifted: set[str] = set()
    refused: dict[int, dict[str, int]] = {}
    scale: ScaleRequested | None = None
    rescales = 0
    executor: ExecutorProfile | None = None
    problem = ""
    for record in records:
        if isinstance(record, ClusterUnreachable):
            problem = record.message
            blocks.clear()
            asked.clear()
            continue
        if record.type not in _USED:
            continue
        try:
            message = record.message()
        except UnreadableRecordError:
            continue
        match message:
            case BlockRequested(level="application", executor_id="") as wish:
                asked[wish.host] = wish
            case BlockHost(level="application") as block:
                blocks[block.host] = block
                lifted.discard(block.host)
            case UnblockHost(level="application", host=host):
                blocks.pop(host, None)
                lifted.add(host)
            case ChangeBounds(least=least, most=most, by=by, ran_with=ran_with):
                scale = ScaleRequested(least=least, most=most, by=by, earlier=True, ran_with=ran_with)
            case BeginRescale(number=number):
                rescales = number
            case DriverReady(executor=told):
                executor = told
            case EpochRefused(epoch=epoch, refused=counts):
                refused.setdefault(epoch, {}).update(counts)
    over = {host for host, block in blocks.items() if block.until_ms is not None and block.until_ms <= now_ms}
    wishes = tuple(
        _again(block, asked.get(host), now_ms)
        for host, block in sorted(blocks.items())
        if host not in over and block.by not in (SUBMIT, SPARK) and block.cause != "slow"
    )
    late = tuple(EpochRefused(epoch=epoch, refused=counts) for epoch, counts in refused.items())
    return Earlier(
        wishes=wishes,
        scale=() if scale is None else (scale,),
        rescales=rescales,
        executor=executor,
        lifted=frozenset(lifted | over),
        refused=late,
        problem=problem,
    )


def _again(block: BlockHost, wish: BlockRequested | None, now_ms: int) -> BlockRequested:
    return BlockRequested(
        host=block.host,
        reason=wish.reason if wish is not None else block.reason,
        by=block.by,
        duration_ms=None if block.until_ms is None else block.until_ms - now_ms,
        # The block was granted before, by force or not.
        force=True,
        automatic=block.cause != "asked",
        cause=block.cause,
        earlier=True,
    )
