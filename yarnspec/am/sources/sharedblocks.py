"""Looks at the cluster's list of blocked hosts at the start and now and then, and posts it whenever it changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog
import tenacity

from yarnspec.am.sources.repeating_thread import Watcher
from yarnspec.core.messages.events import ClusterBlock, ClusterBlocksRead, Event
from yarnspec.errors import YarnspecError
from yarnspec.options import Options
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks, ListedBlocks
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

_log = structlog.get_logger()

_TRIES = 3
_PAUSE_S = 1.0
_CALL_S = 10.0


class SharedBlocks:
    """The list as this application heeds it. Trouble with it is a warning: what was read last goes on to hold.

    Args:
        open_list: opens the list, which may take as long as a call to HDFS; None when there is none to heed.
        post: takes events.
        refresh_s: time between two looks.
        clock_ms: milliseconds since the Unix epoch.
    """

    def __init__(
        self,
        open_list: Callable[[], ClusterBlocks | None],
        post: Callable[[Event], None],
        refresh_s: float,
        clock_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    ) -> None:
        self._open_list = open_list
        self._post = post
        self._clock_ms = clock_ms
        self._list: ClusterBlocks | None = None
        self._blocks: tuple[ClusterBlock, ...] = ()
        self._told = ClusterBlocksRead(blocks=())
        self._swept = False
        self._looked = threading.Event()
        self.watcher = Watcher("cluster-blocks", self._step, refresh_s)

    @classmethod
    def of(cls, conf: HadoopConf, options: Options, post: Callable[[Event], None]) -> SharedBlocks:
        """Make a reader with the options' directory, patience and pause."""
        timeout_s = min(_CALL_S, options.cluster.connect_timeout_ms / 1000)
        return cls(
            lambda: ClusterBlocks.of(conf, options.blocklist.cluster_directory, timeout_s=timeout_s),
            post,
            options.blocklist.cluster_refresh_ms / 1000,
        )

    def wait_for_first_look(self, deadline_s: float) -> bool:
        """Wait until the list was read, or could not be; False when that takes longer. The watcher must run."""
        return self._looked.wait(deadline_s)

    def _step(self) -> None:
        trouble = ""
        try:
            found = self._read()
        except (YarnspecError, OSError) as error:
            trouble = f"the cluster's list of blocked hosts cannot be read: {error}"
            found = ListedBlocks(blocks=self._blocks)
        self._blocks = found.blocks
        now = ClusterBlocksRead(blocks=found.blocks, problems=(*found.problems, *filter(None, [trouble])))
        if now != self._told:
            self._told = now
            for problem in now.problems:
                _log.warning("the cluster's list of blocked hosts", problem=problem)
            self._post(now)
        self._looked.set()

    def _read(self) -> ListedBlocks:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_fixed(_PAUSE_S),
            retry=tenacity.retry_if_exception_type(YarnspecError),
            sleep=self.watcher.pause,
            reraise=True,
        )
        return retrying(self._read_once)

    def _read_once(self) -> ListedBlocks:
        if self._list is None:
            self._list = self._open_list()
        if self._list is None:
            return ListedBlocks()
        now_ms = self._clock_ms()
        found = self._list.read(now_ms)
        if not self._swept:
            self._swept = True
            self._sweep(self._list, now_ms)
        return found

    def _sweep(self, shared: ClusterBlocks, now_ms: int) -> None:
        try:
            shared.sweep(now_ms)
        except (YarnspecError, OSError) as error:
            _log.info("expired entries of the cluster's list stay", why=str(error))
