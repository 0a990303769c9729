"""GPUs and other resource types: how many of each a container needs, by YARN's names.

Spark has two kinds of properties. ``spark.executor.resource.gpu.amount`` is for Spark, which finds the addresses with a
discovery script and gives them to tasks; yarnspec asks YARN for as many. ``spark.yarn.executor.resource.NAME.amount``
is for YARN alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from yarnspec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_AMOUNT = ".amount"
_EXECUTOR = "spark.executor.resource."
_DRIVER = "spark.driver.resource."
_TASK = "spark.task.resource."
_YARN_EXECUTOR = "spark.yarn.executor.resource."
_YARN_DRIVER = "spark.yarn.driver.resource."
_YARN_AM = "spark.yarn.am.resource."
_DEVICES = {
    "gpu": ("spark.yarn.resourceGpuDeviceName", "yarn.io/gpu"),
    "fpga": ("spark.yarn.resourceFpgaDeviceName", "yarn.io/fpga"),
}
# Spark names memory and cores by these, too, and refuses them here.
_SIZES = {
    "memory": "memory", "memory-mb": "memory", "mb": "memory", "cores": "cores", "vcores": "cores",
}  # fmt: skip
_WHOLE = re.compile(r"[0-9]+", re.ASCII)


def of_containers(given: Mapping[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """The resource types of an executor's container, and of the AM container, in which the driver runs.

    Raise UsageError, naming all properties that must not be there.
    """
    wrong: list[str] = []
    executor = _of(given, _EXECUTOR, (_YARN_EXECUTOR,), "executor", wrong)
    driver = _of(given, _DRIVER, (_YARN_DRIVER, _YARN_AM), "driver", wrong)
    if wrong:
        raise UsageError("; ".join(wrong))
    return executor, driver


def tasks_at_once(given: Mapping[str, str]) -> int | None:
    """How many tasks an executor's resources carry at once, by Spark's rule; None if tasks need none."""
    there = _amounts(given, _EXECUTOR)
    fits = []
    for name, key, text in _entries(given, _TASK):
        try:
            amount = float(text)
        except ValueError:
            amount = 0
        if not 0 < amount < float("inf"):
            raise UsageError(f"{key}: '{text}' must be a number above 0")
        # Several tasks may share one address: half of a GPU for each of two.
        shared = int(1 / amount) if amount <= 1 else 1
        fits.append(there.get(name, 0) * shared // (1 if amount <= 1 else int(amount)))
    return min(fits, default=None)


def yarn_names(given: Mapping[str, str]) -> dict[str, str]:
    """YARN's name of each resource whose name Spark and YARN spell differently."""
    return {name: given.get(key, usual) for name, (key, usual) in _DEVICES.items()}


def _of(given: Mapping[str, str], sparks: str, yarns: tuple[str, ...], role: str, wrong: list[str]) -> dict[str, int]:
    names = yarn_names(given)
    found: dict[str, int] = {}
    told: dict[str, str] = {}
    for name, amount in _amounts(given, sparks).items():
        found[names.get(name, name)] = amount
        told[names.get(name, name)] = f"{sparks}{name}{_AMOUNT}"
    for prefix in yarns:
        for name, amount in _amounts(given, prefix).items():
            key = f"{prefix}{name}{_AMOUNT}"
            if name in _SIZES:
                wrong.append(f"{key}: use spark.{role}.{_SIZES[name]} instead")
            elif name in told:
                wrong.append(f"{key}: {told[name]} asks for the same; give one of them")
            found[name] = max(amount, found.get(name, 0))
    return {name: amount for name, amount in sorted(found.items()) if amount}


def _amounts(given: Mapping[str, str], prefix: str) -> dict[str, int]:
    amounts = {}
    for name, key, text in _entries(given, prefix):
        if not _WHOLE.fullmatch(text):
            raise UsageError(f"{key}: '{text}' must be a whole number, in the unit that the cluster has for {name}")
        amounts[name] = int(text)
    return amounts


def _entries(given: Mapping[str, str], prefix: str) -> list[tuple[str, str, str]]:
    """Name, key and value of each amount; a name without an amount is refused, as Spark does."""
    keys = [key for key in given if key.startswith(prefix)]
    entries = []
    for key in keys:
        name, dot, suffix = key[len(prefix) :].rpartition(".")
        if not dot or not name:
            raise UsageError(f"{key}: it needs a suffix; write {key.rstrip('.')}{_AMOUNT}")
        if f".{suffix}" == _AMOUNT:
            entries.append((name, key, given[key].strip()))
        elif f"{prefix}{name}{_AMOUNT}" not in given:
            raise UsageError(f"{key}: {prefix}{name}{_AMOUNT} is missing")
    return entries
