"""Whether finished work can be kept for a next driver, and what Spark is told for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from yarnspec.gateway.sizes import truth

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.options import Options

_MANAGER = "spark.shuffle.manager"
_OURS = "org.apache.spark.scheduler.cluster.yarnspec.ResumingShuffleManager"
_SPARKS_MANAGERS = ("sort", "tungsten-sort", "org.apache.spark.shuffle.sort.SortShuffleManager")
_SWITCHES = {
    "spark.io.encryption.enabled": "a next driver has another key and cannot read what was written with this one",
    "spark.shuffle.service.enabled": "map outputs that the cluster's shuffle service serves cannot be taken over yet",
}
_MIB = 1024**2


def why_off(given: Mapping[str, str], options: Options) -> str:
    """Why finished work cannot be kept although it is wanted; empty when it can, or when it is not wanted."""
    if not options.recovery.enabled:
        return ""
    for key, why in _SWITCHES.items():
        if key in given and truth(given[key], key):
            return f"{key}=true: {why}"
    manager = given.get(_MANAGER, "sort").strip()
    if manager not in _SPARKS_MANAGERS:
        return f"{_MANAGER}={manager}: only the files of Spark's own shuffle are known"
    return ""


def switched_off(options: Options) -> Options:
    """The same options without recovery."""
    return msgspec.structs.replace(options, recovery=msgspec.structs.replace(options.recovery, enabled=False))


def owned_keys(options: Options) -> tuple[str, ...]:
    """The properties of recovery that a program cannot override either."""
    return (_MANAGER, *_SWITCHES) if options.recovery.enabled else ()


def properties(options: Options) -> dict[str, str]:
    """The properties that the driver gets for it; none while recovery is off."""
    recovery = options.recovery
    if not recovery.enabled:
        return {}
    prefix = "spark.yarnspec.recovery"
    return {
        # The driver's; executors are told of Spark's own.
        _MANAGER: _OURS,
        # Said here, so that no program can turn them on later.
        **dict.fromkeys(_SWITCHES, "false"),
        f"{prefix}.enabled": "true",
        f"{prefix}.window_ms": str(recovery.window_ms),
        f"{prefix}.verify_checksums": str(recovery.verify_checksums).lower(),
        f"{prefix}.keep_bytes": str(recovery.keep_per_host_mb * _MIB),
    }
