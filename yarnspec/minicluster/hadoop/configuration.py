"""The Hadoop configuration of a mini cluster: one for its clients, one for each daemon."""

from __future__ import annotations

import os
import platform
import pwd
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import msgspec

from yarnspec.errors import UsageError
from yarnspec.minicluster.hadoop.shuffle_setup import class_path
from yarnspec.minicluster.hadoop.shuffle_setup import properties as shuffle_properties

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from yarnspec.minicluster.hadoop.home import Home

RESOURCE_MANAGER = "resourcemanager"
NAME_NODE = "namenode"
DATA_NODE = "datanode"
SLOW_HOSTS = "slowhosts"
OWNER_WATCH = "ownerwatch"
EXPIRY_MS = 10_000
# An application master registers only when all its files are there: a large archive is unpacked first.
_MASTER_EXPIRY_MS = 60_000
_SLOWEST = 100
_SCHEDULER_PREFIX = "yarn.scheduler.capacity."
_HDFS_PREFIX = "dfs."


def user_name() -> str:
    """Return the user's name as Hadoop sees it: by the user id, whatever the environment says."""
    return pwd.getpwuid(os.getuid()).pw_name


def node_manager(host: str) -> str:
    """Return the name of the daemon that is this host."""
    return f"nodemanager-{host}"


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """The wanted shape of a cluster."""

    nodes: int = 3
    memory_mb: int = 8192
    vcores: int = 8
    am_share: float = 1.0
    """The part of the queue that application masters may take."""
    placement_constraints: bool = True
    """The ResourceManager takes placement constraints, and hosts publish their name as an attribute."""
    pmem_check: bool = False
    """NodeManagers end containers that use more memory than they asked for."""
    shuffle_service: bool = False
    """NodeManagers run Spark's shuffle service, which wants the secret of each application."""
    properties: dict[str, str] = {}
    """Further keys for every daemon's yarn-site.xml (or hdfs-site.xml and capacity-scheduler.xml, by their prefix)."""
    slow: dict[str, float] = {}
    """How many times slower what runs in a host's containers is, for the hosts that are slow."""

    @property
    def hosts(self) -> list[str]:
        """The hosts' names: addresses of this machine that YARN takes for different ones."""
        return [f"127.0.0.{number + 2}" for number in range(self.nodes)]


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """The ports that others must know before the daemons run."""

    rm_client: int
    rm_scheduler: int
    rm_tracker: int
    rm_admin: int
    rm_web: int
    name_node: int
    name_node_web: int
    node_manager: int
    """One port on every host: a NodeManager that comes back is the same node for the ResourceManager."""
    shuffle_service: int = 0
    """One port on every host, as executors are told only one."""


def slow_hosts(before: Mapping[str, float], change: Mapping[str, float]) -> dict[str, float]:
    """Return the hosts that are slow after a change, with their factors; those of factor 1 are not slow.

    Raises:
        UsageError: a factor is below 1 or absurdly high.
    """
    for host, factor in change.items():
        if not 1 <= factor <= _SLOWEST:
            raise UsageError(f"{host} can be between 1 and {_SLOWEST:g} times slower, not {factor:g}")
    return {host: factor for host, factor in {**before, **change}.items() if factor > 1}


def write_configuration(home: Home, shape: Shape, ports: Ports, jars: Path) -> None:
    """Write the clients' configuration and the configuration of every daemon."""
    core = _core_site(home, ports)
    own = {key: value for key, value in shape.properties.items() if key.startswith(_HDFS_PREFIX)}
    hdfs = {**_hdfs_site(home, ports), **own}
    shuffle = shuffle_properties(ports.shuffle_service, class_path()) if shape.shuffle_service else {}
    yarn = {**_yarn_site(shape, ports, jars), **shuffle, **_without_scheduler(shape.properties)}
    _write(home.conf / "core-site.xml", core)
    _write(home.conf / "hdfs-site.xml", hdfs)
    _write(home.conf / "yarn-site.xml", yarn)
    _write_text(home.hosts_file, _hosts(shape))
    for daemon in (RESOURCE_MANAGER, NAME_NODE, DATA_NODE, *map(node_manager, shape.hosts)):
        conf = home.daemon_conf(daemon)
        _write(conf / "core-site.xml", core)
        _write(conf / "hdfs-site.xml", hdfs)
        _write(conf / "yarn-site.xml", yarn)
        _write_text(conf / "log4j.properties", _LOG4J)
        # The web pages are not in the jars; the daemons want their folders all the same.
        for page in ("hdfs", "datanode"):
            (conf / "webapps" / page / "WEB-INF").mkdir(parents=True, exist_ok=True)
    resource_manager = home.daemon_conf(RESOURCE_MANAGER)
    _write(resource_manager / "yarn-site.xml", {**yarn, **_resource_manager(home, shape)})
    _write(resource_manager / "capacity-scheduler.xml", _capacity_scheduler(shape))
    for host in shape.hosts:
        own = _node_manager(home, shape, ports, host)
        _write(home.daemon_conf(node_manager(host)) / "yarn-site.xml", {**yarn, **own})


def _hosts(shape: Shape) -> str:
    """Name the addresses for the daemons' JVMs: some systems' resolvers call all of them by the machine's name."""
    names = dict.fromkeys(["localhost", platform.node()])
    lines = [f"127.0.0.1 {name}" for name in names if name]
    return "\n".join([*lines, *(f"{host} {host}" for host in shape.hosts), ""])


def _core_site(home: Home, ports: Ports) -> dict[str, str]:
    user = user_name()
    return {
        "fs.defaultFS": f"hdfs://127.0.0.1:{ports.name_node}",
        "hadoop.tmp.dir": str(home.root / "tmp"),
        # The one user of the cluster may act for others (spark-submit's --proxy-user).
        f"hadoop.proxyuser.{user}.hosts": "*",
        f"hadoop.proxyuser.{user}.groups": "*",
        "ipc.client.connect.max.retries": "3",
        "ipc.client.connect.retry.interval": "500",
    }


def _hdfs_site(home: Home, ports: Ports) -> dict[str, str]:
    return {
        "dfs.replication": "1",
        "dfs.namenode.rpc-address": f"127.0.0.1:{ports.name_node}",
        "dfs.namenode.http-address": f"127.0.0.1:{ports.name_node_web}",
        "dfs.namenode.name.dir": f"file://{home.hdfs}/name",
        "dfs.datanode.data.dir": f"file://{home.hdfs}/data",
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.datanode.address": "127.0.0.1:0",
        "dfs.datanode.http.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.safemode.extension": "0",
        # A full disk of the machine below is not this cluster's concern until it is really full.
        "dfs.namenode.resource.du.reserved": "0",
        "dfs.namenode.edits.noeditlogchannelflush": "true",
    }


def _yarn_site(shape: Shape, ports: Ports, jars: Path) -> dict[str, str]:
    """Return what clients and daemons share."""
    return {
        "yarn.resourcemanager.hostname": "127.0.0.1",
        "yarn.resourcemanager.address": f"127.0.0.1:{ports.rm_client}",
        "yarn.resourcemanager.scheduler.address": f"127.0.0.1:{ports.rm_scheduler}",
        "yarn.resourcemanager.resource-tracker.address": f"127.0.0.1:{ports.rm_tracker}",
        "yarn.resourcemanager.admin.address": f"127.0.0.1:{ports.rm_admin}",
        "yarn.resourcemanager.webapp.address": f"127.0.0.1:{ports.rm_web}",
        "yarn.resourcemanager.connect.retry-interval.ms": "500",
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.am.global.max-attempts": "20",
        "yarn.application.classpath": f"$HADOOP_CONF_DIR,{jars}/*",
        "yarn.log-aggregation-enable": "true",
        "yarn.nodemanager.remote-app-log-dir": "/tmp/logs",  # noqa: S108 - in HDFS
        "yarn.nm.liveness-monitor.expiry-interval-ms": str(EXPIRY_MS),
        "yarn.am.liveness-monitor.expiry-interval-ms": str(_MASTER_EXPIRY_MS),
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.scheduler.maximum-allocation-mb": str(shape.memory_mb),
        "yarn.scheduler.maximum-allocation-vcores": str(shape.vcores),
    }


def _resource_manager(home: Home, shape: Shape) -> dict[str, str]:
    constraints = "scheduler" if shape.placement_constraints else "disabled"
    return {
        "yarn.resourcemanager.scheduler.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
        ),
        "yarn.resourcemanager.store.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
        ),
        "yarn.resourcemanager.fs.state-store.uri": f"file://{home.rm_state}",
        # After a restart, how long to wait for the hosts to say what they run before new containers are given out.
        "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "3000",
        # A quarter of the default: containers are given out on heartbeats, and a test should not wait for them.
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "250",
        "yarn.resourcemanager.placement-constraints.handler": constraints,
        # Their default is one directory for the whole machine.
        "yarn.node-attribute.fs-store.root-dir": f"file://{home.root}/node-attributes",
        "yarn.node-labels.fs-store.root-dir": f"file://{home.root}/node-labels",
        **_without_scheduler(shape.properties),
    }


def _node_manager(home: Home, shape: Shape, ports: Ports, host: str) -> dict[str, str]:
    own = {
        "yarn.nodemanager.hostname": host,
        "yarn.nodemanager.address": f"{host}:{ports.node_manager}",
        "yarn.nodemanager.localizer.address": f"{host}:0",
        "yarn.nodemanager.webapp.address": f"{host}:0",
        "yarn.nodemanager.collector-service.address": f"{host}:0",
        "yarn.nodemanager.local-dirs": str(home.local(host)),
        "yarn.nodemanager.log-dirs": str(home.container_logs(host)),
        "yarn.nodemanager.resource.memory-mb": str(shape.memory_mb),
        "yarn.nodemanager.resource.cpu-vcores": str(shape.vcores),
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": str(shape.pmem_check).lower(),
        # With this key's default the check does nothing where there are no cgroups.
        "yarn.nodemanager.resource.memory.enforced": str(not shape.pmem_check).lower(),
        "yarn.nodemanager.container-monitor.interval-ms": "1000",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
    }
    if shape.placement_constraints:
        own["yarn.nodemanager.node-attributes.provider"] = "config"
        own["yarn.nodemanager.node-attributes.provider.configured-node-attributes"] = f"host,STRING,{host}"
    return {**own, **_without_scheduler(shape.properties)}


def _capacity_scheduler(shape: Shape) -> dict[str, str]:
    own = {
        "root.queues": "default",
        "root.default.capacity": "100",
        "root.default.maximum-capacity": "100",
        "maximum-am-resource-percent": str(shape.am_share),
        # Cores count as well, as on most clusters that run Spark.
        "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        # With the default of 5 ms looking for work is half of what the ResourceManager does.
        "schedule-asynchronously.scheduling-interval-ms": "25",
    }
    named = {f"{_SCHEDULER_PREFIX}{key}": value for key, value in own.items()}
    return named | {key: value for key, value in shape.properties.items() if key.startswith(_SCHEDULER_PREFIX)}


def _without_scheduler(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in properties.items() if not key.startswith(_SCHEDULER_PREFIX)}


_LOG4J = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""


def _write(path: Path, properties: Mapping[str, str]) -> None:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>"]
    for name, value in properties.items():
        lines.append(f"  <property><name>{escape(name)}</name><value>{escape(value)}</value></property>")
    _write_text(path, "\n".join([*lines, "</configuration>", ""]))


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
