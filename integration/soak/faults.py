"""Doing to a running application what its scenario says."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from integration.cluster import Cluster
from integration.faults import daemons, held
from integration.processes import ContainerProcess
from integration.soak.scenario import Fault, Kind
from integration.submitting import ENDED, run_yarnspec

VICTIM_WAIT_S = 20.0
ANSWER_WAIT_S = 20.0
PAUSE_S = 0.2
PAUSE_OF_COMMANDS_S = 1.0
PAUSE_OF_HDFS_S = 10.0
WHAT: dict[Kind, str] = {
    "kill executor": "executor",
    "kill driver": "driver-jvm",
    "kill negotiator": "negotiator",
    "kill AM": "skein-am",
}
ENDS_AN_ATTEMPT = frozenset({"kill driver", "kill program", "kill negotiator", "kill AM"})


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as it really came. `note` says why it did nothing; empty when it did something."""

    kind: Kind
    due_s: float
    at_s: float
    target: str = ""
    note: str = ""
    ends_an_attempt: bool = False


def uncounted_attempts(done: list[Done]) -> int:
    """How many attempts ended that YARN does not count: those whose host was lost."""
    return sum(each.ends_an_attempt and each.kind.endswith("host") for each in done)


class Faults:
    """Does the faults of one run.

    Args:
        cluster: where it runs.
        application: which application.
        program: the name of its program's file.
        begun: when it was submitted, by `time.monotonic`.
    """

    def __init__(self, cluster: Cluster, application: str, program: str, begun: float) -> None:
        self._cluster = cluster
        self._application = application
        self._program = program
        self._begun = begun
        self._gone: list[str] = []
        self._blocked: list[str] = []

    def do(self, fault: Fault) -> Done:
        """Do it; waits a while for a victim when there is none yet."""
        self._moment = 0.0
        target, note, ends = self._act(fault)
        at_s = round((self._moment or time.monotonic()) - self._begun, 1)
        return Done(kind=fault.kind, due_s=fault.at_s, at_s=at_s, target=target, note=note, ends_an_attempt=ends)

    @property
    def ended(self) -> bool:
        """Whether the ResourceManager says that the application has ended."""
        return self._cluster.application(self._application).get("state") in ENDED

    def _act(self, fault: Fault) -> tuple[str, str, bool]:
        """The target, why nothing was done, and whether an attempt must end of it."""
        kind = fault.kind
        if kind in WHAT or kind == "kill program":
            return self._kill(fault)
        if kind in ("stop host", "kill host"):
            return self._lose_host(fault)
        self._moment = time.monotonic()
        if kind == "start host":
            host = self._gone.pop(0)
            self._cluster.mini.host_start(host)
            return host, "", False
        if kind in ("restart RM", "kill RM", "pause HDFS"):
            return self._disturb_daemons(kind), "", False
        if kind == "yarnspec kill":
            done = run_yarnspec(self._cluster, "kill", self._application, timeout_s=90)
            nothing = "" if done.exit_code == 0 and "had ended already" not in done.stderr else _last_line(done.stderr)
            return "", nothing, False
        return self._block_or_unblock(fault)

    def _disturb_daemons(self, kind: Kind) -> str:
        if kind == "pause HDFS":
            with held(daemons(self._cluster, "namenode", "datanode")):
                sleep_until(self._moment + PAUSE_OF_HDFS_S, lambda: False)
            return f"{PAUSE_OF_HDFS_S:.0f} s"
        self._cluster.mini.rm_restart(kill=kind == "kill RM")
        return ""

    def _kill(self, fault: Fault) -> tuple[str, str, bool]:
        deadline = time.monotonic() + VICTIM_WAIT_S
        while True:
            found = sorted(self._victims(fault.kind), key=lambda each: (each.container_id, each.pid))
            if found:
                victim = found[fault.pick % len(found)]
                self._moment = time.monotonic()
                try:
                    victim.kill()
                except ProcessLookupError:
                    continue
                return f"{victim.host} ({_short(victim.container_id)})", "", fault.kind in ENDS_AN_ATTEMPT
            if self.ended:
                return "", "the application had ended", False
            if time.monotonic() > deadline:
                return "", "there was none", False
            time.sleep(PAUSE_S)

    def _victims(self, kind: Kind) -> list[ContainerProcess]:
        processes = self._cluster.processes(self._application)
        if kind == "kill program":
            return [
                each
                for each in processes
                if each.what == "other" and any(word.rsplit("/", 1)[-1] == self._program for word in each.command)
            ]
        return [each for each in processes if each.what == WHAT[kind]]

    def _lose_host(self, fault: Fault) -> tuple[str, str, bool]:
        there = [host for host in self._cluster.hosts if host not in self._gone]
        processes = self._cluster.processes(self._application)
        used = {each.host for each in processes}
        chosen = [host for host in there if host in used] or there
        host = chosen[fault.pick % len(chosen)]
        with_am = any(each.what == "skein-am" and each.host == host for each in processes)
        self._gone.append(host)
        self._moment = time.monotonic()
        self._cluster.mini.host_stop(host, kill=fault.kind == "kill host")
        note = "" if host in used else "nothing of the application ran there"
        return f"{host} (the AM's)" if with_am else host, note, with_am

    def _block_or_unblock(self, fault: Fault) -> tuple[str, str, bool]:
        if fault.kind == "unblock":
            if not self._blocked:
                return "", "nothing was blocked", False
            host = self._blocked.pop()
            said = self._command("hosts", self._application, "unblock", host)
            return host, said, False
        host = self._cluster.hosts[fault.pick % len(self._cluster.hosts)]
        ends = ("--for", "8s") if fault.kind == "block for a while" else ()
        said = self._command("hosts", self._application, "block", host, "--reason", "soak", *ends)
        if not said and not ends:
            self._blocked.append(host)
        return host, said, False

    def _command(self, *arguments: str) -> str:
        """Empty when it was done, else why not; tried again for a while, because an attempt may just be starting."""
        deadline = time.monotonic() + ANSWER_WAIT_S
        while True:
            self._moment = time.monotonic()
            done = run_yarnspec(self._cluster, *arguments, timeout_s=90)
            if done.exit_code == 0:
                return ""
            said = _last_line(done.stderr)
            if "be blocked" in said or "is not blocked" in said:  # a decision, not a failure
                return said
            if self.ended:
                return "the application had ended"
            if time.monotonic() > deadline:
                return said
            time.sleep(PAUSE_OF_COMMANDS_S)


def sleep_until(moment: float, over: Callable[[], bool]) -> None:
    """Wait for a moment of `time.monotonic`, or until it is over."""
    while time.monotonic() < moment and not over():
        time.sleep(min(PAUSE_S, max(0.0, moment - time.monotonic())))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("error: ")[:160] if lines else "no answer"


def _short(container_id: str) -> str:
    """`01_000004`: attempt and number are enough within a run."""
    return "_".join(container_id.split("_")[-2:])
