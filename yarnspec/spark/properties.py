"""Spark's properties as the AM completes them: what only it knows is added, secrets stay in a 0600 file."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from yarnspec.spark.driver import bridge_file
from yarnspec.spark.runtime import DEPLOY_MODE_KEY, MASTER
from yarnspec.spark.variables import expand

SHUFFLE_MANAGER = "org.yarnspec.recovery.ResumingShuffleManager"
"""The driver's only: it sets the key back before an executor asks for the configuration."""

MASTER_GUARD = "org.yarnspec.driver.MasterGuard"
"""The driver's only: it refuses a SparkContext with another master, also where the hook in Python was lost."""

_DEFAULT_PLUGINS = "spark.plugins.defaultList"

PROGRAM_LISTS = ("spark.submit.pyFiles", "spark.jars")
"""Lists of files that are part of the program; of Python files those that Spark fetches from the web."""

LOCAL_SCHEMES = ("", "local", "file")
"""Of files that are in the driver's container or on its host."""

_LIVE_SWEEP_MS = 3_000
_SORT_MANAGERS = frozenset({"sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager"})


def read_shipped(path: Path) -> dict[str, str]:
    """The properties that the gateway shipped, as JSON."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, str])


def free_port(host: str) -> int:
    """A port on ``host`` that is free now; the driver gets it, so that executors can be told before it listens."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def complete(
    shipped: dict[str, str],
    *,
    application_id: str,
    epoch: int,
    host: str,
    driver_port: int,
    executors: int,
    awaits_negotiator: bool,
    directory: Path,
    secret: str | None,
    saved: Path | None = None,
    behind_page: bool = False,
) -> dict[str, str]:
    """Add to the shipped properties what is known only where the driver runs.

    ``behind_page``: Spark's pages are one link further than yarnspec's. ``saved`` is the file with what earlier
    epochs left, for a driver that goes on with it.
    """
    added = {
        "spark.master": MASTER,
        "spark.submit.deployMode": shipped.get(DEPLOY_MODE_KEY, "client"),
        "spark.driver.host": host,
        "spark.driver.bindAddress": host,
        "spark.driver.port": str(driver_port),
        # Ivy's own default is below the home directory of whoever runs the containers on that host.
        "spark.jars.ivy": shipped.get("spark.jars.ivy", str(directory / "ivy")),
        "spark.ui.port": shipped.get("spark.ui.port", "0"),
        "spark.ui.proxyBase": f"/proxy/{application_id}/spark" if behind_page else f"/proxy/{application_id}",
        # A program that says .master("yarn") and cluster mode in its code is refused by Spark without it.
        "spark.yarn.app.id": application_id,
        "spark.yarnspec.app.id": application_id,
        "spark.yarnspec.epoch": str(epoch),
        # Hadoop's committers put uncommitted output below this number. With the same one for all, the commit of this
        # driver would publish what tasks of the last one committed as well: rows twice (algorithm 1).
        "spark.hadoop.mapreduce.job.application.attempt.id": str(epoch),
        "spark.yarnspec.executors": str(executors),
        "spark.yarnspec.start.awaitsNegotiator": str(awaits_negotiator).lower(),
        # The hook in the program's Python takes this back. Without the hook nobody marks jobs that write.
        "spark.yarnspec.sharedThreads": "true",
        # Spark joins this list with spark.plugins, which the program may set.
        _DEFAULT_PLUGINS: ",".join(filter(None, (MASTER_GUARD, shipped.get(_DEFAULT_PLUGINS)))),
        "spark.yarnspec.bridge.file": str(directory / bridge_file(epoch)),
        "spark.yarnspec.negotiator.pid": str(os.getpid()),
    }
    if saved is not None:
        added["spark.yarnspec.saved"] = str(saved)
    if secret is not None:
        added |= {"spark.authenticate": "true", "spark.authenticate.secret": secret}
    return shipped | added


def local_jars(jars: str, environment: Mapping[str, str]) -> str:
    """The list with the references to the container's variables replaced in its ``local:`` entries, as in Spark.

    Executors fetch such a jar from the path that the driver found, each on its own host.
    """
    return ",".join(expand(jar, environment) if jar.startswith("local:") else jar for jar in jars.split(","))


def history_page(shipped: Mapping[str, str], application_id: str) -> str | None:
    """Where Spark's History Server shows the application after its end; None where none is configured."""
    address = shipped.get("spark.yarn.historyServer.address", "").strip().rstrip("/")
    if not address:
        return None
    root = address if address.startswith(("http://", "https://")) else f"http://{address}"
    return f"{root}/history/{application_id}/"


def recovery_off(shipped: Mapping[str, str]) -> str:
    """Why nothing of this driver can be recovered by the next, in words; empty when it can."""
    unless = {
        "spark.io.encryption.enabled": "a new driver cannot read what the last one's executors encrypted",
        "spark.shuffle.service.fetch.rdd.enabled": "cached data of executors that have ended is not kept",
        "spark.shuffle.push.enabled": "merged shuffle files are not taken over",
        "spark.shuffle.useOldFetchProtocol": "shuffle files that are named the old way are not taken over",
    }
    for key, why in unless.items():
        if shipped.get(key, "false").lower() == "true":
            return f"{key}=true: {why}"
    if "spark.shuffle.sort.io.plugin.class" in shipped:
        return "spark.shuffle.sort.io.plugin.class is set: map outputs may not be files of the executor's"
    manager = shipped.get("spark.shuffle.manager", "sort")
    if manager not in _SORT_MANAGERS:
        return f"spark.shuffle.manager={manager}: only Spark's own is known to keep its files as expected"
    return ""


def recovery_keys(
    *,
    saved: Path | None,
    window_ms: int,
    verify_checksums: bool,
    keep_bytes: int,
    live_adoption_ms: int = 0,
    repeatable: bool = False,
) -> dict[str, str]:
    """The driver's properties by which the next driver can go on where this one ends.

    Args:
        saved: what earlier drivers left, as frames; None when there was none.
        window_ms: how long their map outputs are looked for.
        verify_checksums: whether they are read as a whole before they are taken over.
        keep_bytes: how much of ended executors is kept on each host.
        live_adoption_ms: how long what an executor had waits for another one while the driver lives; 0: not at all.
        repeatable: functions of the program's give the same each time.
    """
    keys = {
        "spark.shuffle.manager": SHUFFLE_MANAGER,
        "spark.yarnspec.recovery.enabled": "true",
        "spark.yarnspec.recovery.window_ms": str(window_ms),
        "spark.yarnspec.recovery.verify_checksums": str(verify_checksums).lower(),
        "spark.yarnspec.recovery.keep_bytes": str(keep_bytes),
    }
    if repeatable:
        keys["spark.yarnspec.recovery.repeatable"] = "true"
    if live_adoption_ms:
        keys["spark.yarnspec.recovery.live_adoption_ms"] = str(live_adoption_ms)
        # Executors that live on the same host take over as well.
        keys["spark.yarnspec.recovery.sweep_ms"] = str(_LIVE_SWEEP_MS)
    if saved is not None:
        keys["spark.yarnspec.saved"] = str(saved)
    return keys


def write(path: Path, properties: dict[str, str]) -> None:
    """Write a Java properties file that only its owner can read.

    Spark trims the values of such a file; the driver's main class, ``ProgramSubmit``, makes up for that.
    """
    lines = [f"{_escape(key, is_key=True)}={_escape(value)}" for key, value in sorted(properties.items())]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")


def _escape(text: str, *, is_key: bool = False) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    escaped = escaped.replace("\f", "\\f")
    if is_key:
        for special in "=: #!":
            escaped = escaped.replace(special, "\\" + special)
    elif escaped.startswith(" "):
        escaped = "\\" + escaped
    return escaped
