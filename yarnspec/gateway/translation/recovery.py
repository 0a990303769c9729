"""Whether finished work can be kept for a next driver, and what Spark is told for it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from yarnspec.core.options.recovery import EPOCH_MAX, restarts_in_each
from yarnspec.gateway.translation import shuffleservice
from yarnspec.spark.properties import LOCAL_SCHEMES, PROGRAM_LISTS, recovery_keys, recovery_off

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from yarnspec.options import Options

_MIB = 1024**2
_CHECKSUMS = "spark.shuffle.checksum.enabled"
_FORGETS = "spark.yarn.am.attemptFailuresValidityInterval"


def why_off(given: Mapping[str, str], options: Options, asked: Collection[str]) -> str:
    """Why finished work is not kept although it is wanted; empty when it is, or when it is not wanted.

    ``asked``: the options that somebody set, so that not only the default holds.
    """
    if not options.recovery.enabled:
        return ""
    if _FORGETS in given and "recovery.enabled" not in asked:
        return (
            f"{_FORGETS} is for long-running applications, and recovery has numbers for {EPOCH_MAX} driver epochs; "
            "--set recovery.enabled=true turns it on all the same"
        )
    if options.recovery.verify_checksums and given.get(_CHECKSUMS, "true").strip().lower() == "false":
        return (
            f"{_CHECKSUMS}=false: nobody can tell whether a saved output is what was written; "
            "--set recovery.verify_checksums=false uses it unseen"
        )
    return recovery_off(given)


def warnings(program: str, properties: Mapping[str, str], options: Options) -> list[str]:
    """Warnings about files of the program that keep work from being used again. ``properties``: the driver's."""
    if not options.recovery.enabled:
        return []
    named = [program, *(name for key in PROGRAM_LISTS for name in properties.get(key, "").split(","))]
    return [
        f"finished work is not used again by a next driver: {name} is on the web, and may be another file by then"
        for name in named
        if urlsplit(name).scheme not in LOCAL_SCHEMES
    ]


def fewer_attempts(wanted: int, asked: Collection[str], granted: int) -> list[str]:
    """A warning if the cluster grants fewer attempts than are ``asked`` for."""
    if "am.max_attempts" not in asked or granted >= wanted:
        return []
    return [f"am.max_attempts={wanted}: the cluster grants {granted} (yarn.resourcemanager.am.max-attempts)"]


def fewer_restarts(options: Options, asked: Collection[str], attempts: int) -> list[str]:
    """A warning if a driver is started again less often than is ``asked`` for, because it has so many attempts."""
    wanted = options.recovery.driver_restarts
    restarts = restarts_in_each(attempts, wanted)
    if not options.recovery.enabled or "recovery.driver_restarts" not in asked or restarts == wanted:
        return []
    return [
        f"recovery.driver_restarts={wanted}: a driver is started again {restarts} times in each attempt, because "
        f"{attempts} attempts, and three that YARN may not count, share {EPOCH_MAX} driver epochs. "
        "Fewer attempts (am.max_attempts) leave room for more"
    ]


def switched_off(options: Options) -> Options:
    """These options without recovery."""
    return msgspec.structs.replace(options, recovery=msgspec.structs.replace(options.recovery, enabled=False))


def owned_keys(options: Options) -> tuple[str, ...]:
    """The properties of recovery that a program cannot override either."""
    return ("spark.shuffle.manager", shuffleservice.ENABLED, _CHECKSUMS) if options.recovery.enabled else ()


def properties(options: Options, given: Mapping[str, str]) -> dict[str, str]:
    """The properties that the driver gets for it; none while recovery is off."""
    recovery = options.recovery
    if not recovery.enabled:
        return {}
    keys = recovery_keys(
        saved=None,
        window_ms=recovery.window_ms,
        verify_checksums=recovery.verify_checksums,
        keep_bytes=recovery.keep_per_host_mb * _MIB,
        live_adoption_ms=recovery.live_adoption_ms,
        repeatable=recovery.repeatable,
    )
    # Said here, so that no program can change it later. One that turns on encryption gets it, and nothing is kept.
    return keys | {
        shuffleservice.ENABLED: str(shuffleservice.wanted(given)).lower(),
        _CHECKSUMS: given.get(_CHECKSUMS, "true"),
    }
