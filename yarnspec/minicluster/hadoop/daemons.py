"""The daemons of a mini cluster, nearly all of them JVMs: how each one is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.errors import ClusterUnreachable
from yarnspec.minicluster.hadoop.classarchive import ClassArchives
from yarnspec.minicluster.hadoop.configuration import DATA_NODE, NAME_NODE, OWNER_WATCH, RESOURCE_MANAGER, SLOW_HOSTS
from yarnspec.minicluster.machine.processes import ProcessIdentity, start_detached

if TYPE_CHECKING:
    from yarnspec.minicluster.hadoop.cluster_record import ClusterRecord
    from yarnspec.minicluster.hadoop.home import Home

_YARN_SERVER = "org.apache.hadoop.yarn.server"
_MAIN = {
    RESOURCE_MANAGER: f"{_YARN_SERVER}.resourcemanager.ResourceManager",
    NAME_NODE: "org.apache.hadoop.hdfs.server.namenode.NameNode",
    DATA_NODE: "org.apache.hadoop.hdfs.server.datanode.DataNode",
}
_NODE_MANAGER = f"{_YARN_SERVER}.nodemanager.NodeManager"
_HEAP_MB = {RESOURCE_MANAGER: 384}
_OPENED = ("java.lang", "java.util", "java.net", "java.nio")
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_MARK = "YARNSPEC_MINICLUSTER"
OF_OURS = (SLOW_HOSTS, OWNER_WATCH)
"""The daemons that are modules of this package; Hadoop's are JVMs."""


def kind(name: str) -> str:
    """Return what a daemon is, whichever host it is for."""
    return name if name in _MAIN else "nodemanager"


def mark(home: Home) -> str:
    """Return what the environment of every daemon of this home contains (NUL ends each entry)."""
    return f"{_MARK}={home.root}\0"


def container_mark(home: Home, host: str) -> str:
    """Return what the environment of every container of this host contains: YARN sets it."""
    return f"LOCAL_DIRS={home.local(host)}/"


def mark_of_all_containers(home: Home) -> str:
    """Return what the environment of every container of this home contains, whichever its host is."""
    return f"LOCAL_DIRS={home.root / 'hosts'}/"


def start_daemon(home: Home, record: ClusterRecord, name: str) -> ProcessIdentity:
    """Start one daemon; it writes its log into the home's logs."""
    environment = _environment(home, record)
    if name in OF_OURS:
        command = [sys.executable, "-m", f"yarnspec.minicluster.{name}", str(home.root)]
        if name == SLOW_HOSTS:
            command += [f"{host}={factor}" for host, factor in sorted(record.shape.slow.items())]
        environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    else:
        command = _java(home, record, name)
    return start_detached(command, directory=home.root, log=home.log(name), environment=environment)


def format_name_node(home: Home, record: ClusterRecord) -> None:
    """Make HDFS's empty name directory, unless there is one."""
    if (home.hdfs / "name" / "current" / "VERSION").is_file():
        return
    command = [*_java(home, record, NAME_NODE), "-format", "-force", "-nonInteractive"]
    with home.log(NAME_NODE).open("ab") as log:
        run = subprocess.run(
            command,
            cwd=home.root,
            env=_environment(home, record),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            timeout=60,
            check=False,
        )
    if run.returncode != 0:
        raise ClusterUnreachable(f"HDFS's name directory could not be made:\n{log_tail(home, NAME_NODE)}")


def log_tail(home: Home, name: str, lines: int = 25) -> str:
    """Return the last lines of a daemon's log."""
    try:
        text = home.log(name).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return f"(there is no {home.log(name)})"
    return "\n".join(text.splitlines()[-lines:])


def _java(home: Home, record: ClusterRecord, name: str) -> list[str]:
    heap_mb = _HEAP_MB.get(name, 256)
    archives = ClassArchives(Path(record.jars), Path(record.java_home))
    return [
        f"{record.java_home}/bin/java",
        f"-Xmx{heap_mb}m",
        "-Xshare:auto",
        *archives.options(kind(name)),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djdk.net.hosts.file={home.hosts_file}",
        f"-Dhadoop.log.dir={home.logs}",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "-cp",
        # The jars first: an archive of classes fits only a class path that begins like the one it was made with.
        f"{record.jars}/*:{home.daemon_conf(name)}",
        _MAIN.get(name, _NODE_MANAGER),
    ]


def _environment(home: Home, record: ClusterRecord) -> dict[str, str]:
    """Return a daemon's environment: little of ours, for NodeManagers hand parts of it to containers."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {
        "PATH": os.defpath,
        **kept,
        "JAVA_HOME": record.java_home,
        "HADOOP_CONF_DIR": str(home.conf),
        _MARK: str(home.root),
    }
