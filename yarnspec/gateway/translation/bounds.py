"""How many executors a job is to have at least and at most: flags, options and Spark's properties as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.sizes import DEFAULT_EXECUTORS, duration_ms, dynamic_allocation, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.gateway.flags.request import SubmitRequest
    from yarnspec.options import Options

_INSTANCES = "spark.executor.instances"
_RATIO = "spark.scheduler.minRegisteredResourcesRatio"
_WAIT = "spark.scheduler.maxRegisteredResourcesWaitingTime"
_DYNAMIC = "spark.dynamicAllocation."
_WITHOUT_END = 2**31 - 1
_MIN, _MAX, _COUNT = "--min-executors", "--max-executors", "--num-executors"
_MIN_OPTION, _MAX_OPTION = "resources.min_executors", "resources.max_executors"


class Bounded(msgspec.Struct, frozen=True, kw_only=True):
    """The options with both bounds, the Spark properties that say the same, and what has no effect beside them."""

    options: Options
    properties: dict[str, str] = {}
    warnings: tuple[str, ...] = ()


def bounded(request: SubmitRequest, given: Mapping[str, str], origins: Mapping[str, str], options: Options) -> Bounded:
    """Work out the bounds; raise UsageError where they contradict each other or the number of executors."""
    least = _count(request.min_executors, _MIN, options.resources.min_executors)
    most = _count(request.max_executors, _MAX, options.resources.max_executors)
    if not least and not most:
        return Bounded(options=options)
    dynamic = dynamic_allocation(given)
    least_by = _MIN if request.min_executors is not None else _MIN_OPTION
    most_by = _MAX if request.max_executors is not None else _MAX_OPTION
    counted_by = _named(_INSTANCES, origins)
    if most and origins.get(_INSTANCES, "").startswith("--"):
        named = f"{least_by}, {most_by} and {counted_by}" if least else f"{most_by} and {counted_by}"
        raise UsageError(f"{named}: {most_by} says how many executors are asked for; leave {counted_by} out")
    if not most:
        most = _most_of_spark(given, dynamic=dynamic)
        most_by = _named(f"{_DYNAMIC}maxExecutors", origins) if dynamic else counted_by
    least = least or 1
    if least > most:
        raise UsageError(
            f"{least_by}: at least {least} executors are more than the {most} that are asked for at most ({most_by}); "
            f"{_MAX} asks for more"
        )
    if dynamic:
        properties = {f"{_DYNAMIC}minExecutors": str(least), f"{_DYNAMIC}maxExecutors": str(most)}
    else:
        properties = {_INSTANCES: str(most)}
    without_effect = [
        f"{key} ({origins[key]}) has no effect: {_MIN} and {_MAX} ({_MIN_OPTION}, {_MAX_OPTION}) say how many executors"
        for key in (*properties, _RATIO, _WAIT)
        if key in given and given[key] != properties.get(key)
    ]
    resources = msgspec.structs.replace(options.resources, min_executors=least, max_executors=most)
    return Bounded(
        options=msgspec.structs.replace(options, resources=resources),
        properties=properties,
        warnings=tuple(without_effect),
    )


def registered_rule(given: Mapping[str, str]) -> tuple[float, int]:
    """Spark's own rule for the start of a job: the share of executors, and how many milliseconds it waits for them."""
    try:
        ratio = min(1.0, float(given.get(_RATIO, "0.8")))
    except ValueError as error:
        raise UsageError(f"{_RATIO}: '{given[_RATIO]}' is not a number") from error
    return ratio, duration_ms(given.get(_WAIT, "30s"), _WAIT)


def dynamic_bounds(given: Mapping[str, str]) -> tuple[int, int] | None:
    """The bounds of dynamic allocation; None when it is off."""
    if not dynamic_allocation(given):
        return None
    least = whole_number(given.get(f"{_DYNAMIC}minExecutors", "0"), f"{_DYNAMIC}minExecutors", least=0)
    return least, _most_of_spark(given, dynamic=True)


def _count(flag: int | str | None, name: str, option: int) -> int:
    return option if flag is None else whole_number(str(flag), name)


def _named(key: str, origins: Mapping[str, str]) -> str:
    """A property of Spark's as the user wrote it."""
    origin = origins.get(key, "default")
    return origin if origin.startswith("--") and origin != "--conf" else f"{key} ({origin})"


def _most_of_spark(given: Mapping[str, str], *, dynamic: bool) -> int:
    if dynamic:
        return whole_number(given.get(f"{_DYNAMIC}maxExecutors", str(_WITHOUT_END)), f"{_DYNAMIC}maxExecutors")
    return whole_number(given.get(_INSTANCES, str(DEFAULT_EXECUTORS)), _INSTANCES)
