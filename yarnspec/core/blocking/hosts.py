"""The cluster's hosts as the ResourceManager last reported them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from yarnspec.core.messages.events import HostReport

UNREACHABLE = "UNREACHABLE"
"""Our own state: YARN calls the host RUNNING, and its NodeManager does not answer us."""
GONE_STATES = frozenset({"LOST", "SHUTDOWN", "DECOMMISSIONED", "REBOOTED", UNREACHABLE})


class Hosts:
    """The known hosts; empty until the first report."""

    def __init__(self) -> None:
        self._reports: dict[str, HostReport] = {}
        self.reports_taken = 0
        self.running: frozenset[str] = frozenset()
        """The hosts that take containers."""
        self.leaving: frozenset[str] = frozenset()
        """The hosts that YARN decommissions: containers there may end their work, and no new ones come."""

    def replace(self, reports: tuple[HostReport, ...]) -> None:
        """Take a new report, which holds all hosts."""
        self._reports = {report.host: report for report in reports}
        self.running = frozenset(host for host, report in self._reports.items() if report.state == "RUNNING")
        self.leaving = frozenset(host for host, report in self._reports.items() if report.state == "DECOMMISSIONING")
        self.reports_taken += 1

    @property
    def reported(self) -> bool:
        """Whether a report has come."""
        return self.reports_taken > 0

    @property
    def reports(self) -> Mapping[str, HostReport]:
        """The last report, by host."""
        return self._reports

    @property
    def known(self) -> frozenset[str]:
        """Every host in the last report, whatever its state."""
        return frozenset(self._reports)

    def gone(self, host: str) -> str:
        """The state of a host that went away, or an empty string when it is there (or nothing is known of it)."""
        report = self._reports.get(host)
        return report.state if report is not None and report.state in GONE_STATES else ""

    def near(self, name: str) -> list[str]:
        """Known hosts that a user who wrote ``name`` may have meant, the likeliest first."""
        known = sorted(self._reports)
        longer = [host for host in known if host.startswith(f"{name}.") or name.startswith((f"{host}.", f"{host}:"))]
        alike = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
        return list(dict.fromkeys(longer + alike))[:3]
