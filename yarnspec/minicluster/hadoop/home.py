"""Where a mini cluster keeps its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def default_home() -> Path:
    """Return the home of the user's own mini cluster: one directory below the XDG state directory."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "yarnspec" / "minicluster"


def cache_directory() -> Path:
    """Return the directory for what is downloaded once for every cluster of this user."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "yarnspec"


@dataclass(frozen=True)
class Home:
    """The layout below one cluster's home directory."""

    root: Path

    @property
    def conf(self) -> Path:
        """The clients' configuration, for HADOOP_CONF_DIR."""
        return self.root / "conf"

    @property
    def bin(self) -> Path:
        """The `yarn`, `hdfs` and `hadoop` commands."""
        return self.root / "bin"

    @property
    def logs(self) -> Path:
        """The daemons' logs."""
        return self.root / "logs"

    @property
    def hdfs(self) -> Path:
        """HDFS's data, which stays when the cluster stops."""
        return self.root / "hdfs"

    @property
    def rm_state(self) -> Path:
        """The state that the ResourceManager finds again after a restart."""
        return self.root / "rm-state"

    @property
    def record(self) -> Path:
        """The file that says how the cluster was started and which processes it has."""
        return self.root / "cluster.json"

    @property
    def hosts_file(self) -> Path:
        """The names of the hosts' addresses, for the daemons' JVMs."""
        return self.root / "hosts.txt"

    @property
    def lock(self) -> Path:
        """Held by whoever starts or stops something here."""
        return self.root / "lock"

    def daemon_conf(self, daemon: str) -> Path:
        """Return the configuration directory of one daemon."""
        return self.root / "daemons" / daemon

    def local(self, host: str) -> Path:
        """Return the local directory of a host's NodeManager, where containers run."""
        return self.root / "hosts" / host / "local"

    def container_logs(self, host: str) -> Path:
        """Return where a host's containers write their logs until these are aggregated."""
        return self.root / "hosts" / host / "logs"

    def log(self, daemon: str) -> Path:
        """Return the log of one daemon."""
        return self.logs / f"{daemon}.log"
