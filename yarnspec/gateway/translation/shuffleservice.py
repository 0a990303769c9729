"""The cluster's shuffle service, for an application that asks for it (``spark.shuffle.service.enabled=true``).

Spark's own YARN client tells the hosts of it, and takes its port from the cluster's configuration; so does this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yarnspec.gateway.translation.sizes import truth
from yarnspec.plan import SPARK_SECRET_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

ENABLED = "spark.shuffle.service.enabled"
AUTHENTICATE = "spark.authenticate"
DECOMMISSIONS = "spark.decommission.enabled"
_PORT = "spark.shuffle.service.port"
_NAME = "spark.shuffle.service.name"
_SPARKS_NAME = "spark_shuffle"
_SERVICES = "yarn.nodemanager.aux-services"
_RPC = "org.yarnspec.rm.ServiceDataRpc"


def wanted(given: Mapping[str, str]) -> bool:
    """Tell whether the cluster's service is to give out the application's map outputs."""
    return truth(given.get(ENABLED, "false"), ENABLED)


def decommissions(given: Mapping[str, str]) -> bool:
    """Tell whether Spark decommissions executors on hosts that YARN decommissions; as in Spark, not with a service."""
    return truth(given.get(DECOMMISSIONS, "false"), DECOMMISSIONS) and not wanted(given)


def authenticates(given: Mapping[str, str], conf: HadoopConf) -> bool:
    """Tell whether executors and the driver know each other by a secret.

    They always do, but with a service that wants none, as Spark has one switch for both. The user's word counts, then
    the cluster's; where nobody says anything it is on.
    """
    if not wanted(given):
        return True
    return truth(given.get(AUTHENTICATE) or conf.get(AUTHENTICATE) or "true", AUTHENTICATE)


def properties(given: Mapping[str, str], conf: HadoopConf) -> dict[str, str]:
    """The properties for driver and executors: where the service is, and whether it wants a secret."""
    if not wanted(given):
        return {}
    port = given.get(_PORT) or conf.get(_PORT)
    told = {} if port is None else {_PORT: port}
    return told if authenticates(given, conf) else told | {AUTHENTICATE: "false"}


def warnings(given: Mapping[str, str], conf: HadoopConf, resource_managers: Callable[[str], str | None]) -> list[str]:
    """The warnings before the submit. ``resource_managers`` gives the value of a key in its configuration."""
    if not wanted(given):
        return []
    told = []
    if truth(given.get(DECOMMISSIONS, "false"), DECOMMISSIONS):
        told.append(
            f"{DECOMMISSIONS}: with {ENABLED}, Spark is not told of hosts that YARN decommissions: outputs of shuffles "
            "stay with the service"
        )
    if not authenticates(given, conf):
        told.append(f"{AUTHENTICATE}=false: whoever reaches their ports can talk to the driver and to executors")
    name = given.get(_NAME, _SPARKS_NAME)
    services = conf.get(_SERVICES) or resource_managers(_SERVICES) or ""
    if name not in [each.strip() for each in services.split(",")]:
        # Hosts may still have it: what they run is told by nobody but themselves.
        told.append(f"{_SERVICES} of this cluster does not name {name}: no executor starts on a host without it")
    return told


def master_overrides(given: Mapping[str, str]) -> dict[str, str]:
    """The settings by which Skein's AM tells each container's host of the service."""
    if not wanted(given):
        return {}
    return {
        "yarn.ipc.rpc.class": _RPC,
        "yarnspec.shuffle-service.name": given.get(_NAME, _SPARKS_NAME),
        "yarnspec.shuffle-service.secret-file": SPARK_SECRET_FILE,
    }
