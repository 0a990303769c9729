"""The hosts that hold map outputs whose executors are gone: for which of them recovery waits, and how long.

The window for outputs of earlier epochs opens when the journal was read. The window closes when every host has
reported, or ``window_ms`` after executors can reach the driver (``previous-worker.recovery.timeout`` in FLIP-383). An
executor that runs by then may take longer: reading many outputs takes time, and the driver waits while more of them
arrive. If live adoption is on, the outputs of an executor that died in this epoch wait ``live_adoption_ms``. Until then
each host that is waited for is a required host: a container is asked for on it (``containers/executor_table.py``). A
host that is blocked, gone or too late is given up for good, and its outputs are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping

from yarnspec.core.blocking.blocklist import Blocklist
from yarnspec.core.blocking.hosts import UNREACHABLE, Hosts
from yarnspec.core.containers.executor_rows import Executor
from yarnspec.core.containers.executor_table import ExecutorTable
from yarnspec.core.messages.commands import CheckHosts, Command
from yarnspec.core.messages.recoverycommands import GiveUpHost
from yarnspec.core.messages.recoveryevents import LiveAdoptionBegan, LiveAdoptionEnded
from yarnspec.core.messages.settings import RecoverySettings
from yarnspec.core.messages.timers import Timers

WINDOW_TIMER = "recovery-window"
LIVE_TIMER_FAMILY = "live-adoption"


class SavedOutputHosts:
    """The hosts that are waited for."""

    def __init__(
        self,
        settings: RecoverySettings,
        *,
        timers: Timers,
        hosts: Hosts,
        blocklist: Blocklist,
        containers: ExecutorTable,
    ) -> None:
        self._window_ms = settings.window_ms
        self._live_ms = settings.live_adoption_ms
        self._timers = timers
        self._hosts = hosts
        self._blocklist = blocklist
        self._containers = containers
        self._waiting: dict[str, int] = {}
        self._live: dict[str, LiveAdoptionBegan] = {}
        self._said: dict[str, str] = {}
        self._clock_runs = False

    @property
    def waiting(self) -> Mapping[str, int]:
        """The hosts that are waited for, with the number of map outputs of earlier epochs on each."""
        return self._waiting

    def wait_for(self, outputs: Mapping[str, int]) -> None:
        """Open the window for these hosts."""
        self._waiting = dict(sorted(outputs.items(), key=lambda one: (-one[1], one[0])))
        self._said = {
            host: f"{count} map outputs of earlier epochs on it are waited for" for host, count in outputs.items()
        }

    def driver_ready(self, now_ms: int) -> list[Command]:
        """Executors can reach the driver: from now on the window's time runs."""
        if not self._waiting or self._clock_runs:
            return []
        self._clock_runs = True
        said = (
            f"{sum(self._waiting.values())} map outputs of earlier epochs are waited for on {len(self._waiting)} hosts "
            f"for {self._window_ms / 1000:g} s"
        )
        timer = self._timers.set(WINDOW_TIMER, now_ms + self._window_ms, said)
        return [timer, CheckHosts(hosts=tuple(self._waiting), reason=said)]

    def reported(self, host: str, executor_id: str) -> None:
        """An executor has taken over what it found there. If it is about to end, another one has to."""
        row = self._containers.row(executor_id)
        if row is not None and row.state == "releasing":
            return
        outputs = self._waiting.pop(host, None)
        if outputs is not None:
            self._said[host] = (
                f"{outputs} map outputs of earlier epochs were on it, and an executor there has looked for them"
            )
        if not self._waiting:
            self._timers.cancel(WINDOW_TIMER)

    def served(self, host: str, outputs: int) -> None:
        """Require the host no more: its shuffle service gives out all outputs, without a container there."""
        self._waiting.pop(host, None)
        self._said[host] = f"{outputs} map outputs of earlier epochs were on it, and its shuffle service gives them out"
        if not self._waiting:
            self._timers.cancel(WINDOW_TIMER)

    def close(self) -> None:
        """Wait for nobody any more, and say nothing about it."""
        self._waiting.clear()
        self._timers.cancel(WINDOW_TIMER)
        for executor_id in list(self._live):
            self._end_live(executor_id)
        self._containers.set_required_hosts(())

    def window_over(self) -> list[Command]:
        """Ask for containers on hosts no more, and give up every one on which no executor runs.

        One that runs and has not reported may be reading what is there: the driver knows as long as more of it comes.
        """
        running = set(self._containers.running().values())
        commands = [
            self._give_up(host, f"no executor ran on it within {self._window_ms / 1000:g} s")
            for host in list(self._waiting)
            if host not in running
        ]
        for host, outputs in self._waiting.items():
            self._said[host] = f"{outputs} map outputs of earlier epochs are on it, and an executor there reads them"
        self._waiting.clear()
        return commands

    def explain(self, host: str) -> str:
        """A sentence about the map outputs of gone executors on a host; empty when there were none."""
        return self._said.get(host, "")

    def look(self) -> list[Command]:
        """Give up hosts that have become useless, and require containers on the others."""
        required = self._required_hosts()
        there = self._containers.live_on(required)
        commands = [self._give_up(host, why) for host in required if (why := self._useless(host, there[host]))]
        self._containers.set_required_hosts(self._required_hosts())
        # Hosts that the next driver waits for have their window, whether containers are asked for by then or not.
        hosts = dict.fromkeys(one.host for one in self._live.values() if one.host not in self._waiting)
        in_vain = [self._give_up(host, why) for host in hosts if (why := self._nobody_comes(host, there[host]))]
        if in_vain:
            self._containers.set_required_hosts(self._required_hosts())
        return commands + in_vain

    def _required_hosts(self) -> tuple[str, ...]:
        """Each host that is waited for, for whichever reason, once."""
        return tuple(dict.fromkeys([*self._waiting, *(one.host for one in self._live.values())]))

    # executors that died while the driver lives

    def live_began(self, event: LiveAdoptionBegan, now_ms: int) -> list[Command]:
        """The driver keeps the outputs of an executor that died, and holds back who would read them."""
        self._live[event.executor_id] = event
        said = (
            f"{event.outputs} map outputs of executor {event.executor_id}, which is gone, are waited for on "
            f"{event.host} for {self._live_ms / 1000:g} s"
        )
        self._said[event.host] = said
        return [self._timers.set(_timer(event.executor_id), now_ms + self._live_ms, said)]

    def live_ended(self, event: LiveAdoptionEnded, _now_ms: int) -> list[Command]:
        """Note that the driver holds no task back any more for the executor that died."""
        self._end_live(event.executor_id)
        self._said[event.host] = (
            f"{event.adopted} of {event.outputs} map outputs of executor {event.executor_id}, which is gone, were "
            f"taken over on it: {event.why}"
        )
        return []

    def live_overdue(self, executor_id: str) -> list[Command]:
        """Give up what an executor had: nobody has taken it over in time."""
        one = self._live.get(executor_id)
        if one is None:
            return []
        return [self._give_up(one.host, f"no executor took them over within {self._live_ms / 1000:g} s")]

    def _end_live(self, executor_id: str) -> int:
        self._timers.cancel(_timer(executor_id))
        ended = self._live.pop(executor_id, None)
        return ended.outputs if ended is not None else 0

    def _useless(self, host: str, there: list[Executor]) -> str:
        # Executors that run there go on, and may be about to report.
        if host in self._blocklist and not there:
            return "the host is blocked"
        state = self._hosts.gone(host)
        if state == UNREACHABLE:
            return "" if there else "its NodeManager does not answer"
        if self._hosts.reported and host not in self._hosts.running:
            return f"the ResourceManager calls it {state}" if state else "the ResourceManager gives no containers on it"
        return ""

    def _nobody_comes(self, host: str, there: list[Executor]) -> str:
        """Why no executor on this host takes over what those had that died; empty if one is there or will come."""
        dying = [row for row in there if row.executor_id in self._live]
        others = any(not row.preemption_announced for row in there if row not in dying)
        if others or host in self._containers.asks.required:
            return ""
        if any(row.preemption_announced for row in dying):
            return "YARN preempted it, so another application has its place"
        return "" if self._containers.replaces(self._live) else "no other executor takes its place there"

    def _give_up(self, host: str, why: str) -> Command:
        # The driver waits for a host, whatever it is that lies there.
        outputs = self._waiting.pop(host, 0)
        outputs += sum(self._end_live(one.executor_id) for one in list(self._live.values()) if one.host == host)
        self._said[host] = said = f"{outputs} saved map outputs on {host} count as lost: {why}"
        return GiveUpHost(host=host, reason=said)


def _timer(executor_id: str) -> str:
    return f"{LIVE_TIMER_FAMILY}:{executor_id}"
