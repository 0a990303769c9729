"""The detectors that a user can choose from, and the options ``detector.…`` of all of them together."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING

import msgspec

from yarnspec.core.detectors import execution_time, input_weighted, progress
from yarnspec.core.detectors.protocol import Detector, Kind
from yarnspec.core.options.detection import CommonDetectorSettings
from yarnspec.core.slowness.host_speed import HostSpeeds

KINDS: dict[str, Kind] = {kind.name: kind for kind in (progress.KIND, execution_time.KIND, input_weighted.KIND)}
"""One line for each file; the first is the default."""


def read_by(field: str) -> tuple[str, ...]:
    """The only detectors that read this option; empty for one that all share."""
    if field in CommonDetectorSettings.__struct_fields__:
        return ()
    return tuple(name for name, kind in KINDS.items() if field in kind.settings.__struct_fields__)


def detector_of(settings: CommonDetectorSettings, speeds: HostSpeeds, many: int = progress.MANY) -> Detector:
    """The detector that the settings name; ``many``: see ``Progress``, the others look at everything.

    Raises:
        ValueError: there is no such detector.
    """
    kind = KINDS.get(settings.kind)
    if kind is None:
        message = f"there is no detector '{settings.kind}', but {', '.join(KINDS)}"
        raise ValueError(message)
    return kind.make(msgspec.convert(settings, kind.settings, from_attributes=True), speeds, many)


def _all_together() -> type[CommonDetectorSettings]:
    """One struct with the options that all detectors share, and those of each; two never have one name by chance."""
    declared: dict[str, tuple[str, object, object]] = {}
    for kind in KINDS.values():
        types = typing.get_type_hints(kind.settings, include_extras=True)
        for field in msgspec.structs.fields(kind.settings):
            one = (field.name, types[field.name], field.default)
            if declared.setdefault(field.name, one) != one:
                message = f"two detectors declare the option '{field.name}' in different ways"
                raise TypeError(message)
    declared["kind"] = ("kind", typing.Literal[tuple(KINDS)], next(iter(KINDS)))
    bases = (CommonDetectorSettings,)
    made = msgspec.defstruct("DetectorSettings", list(declared.values()), bases=bases, frozen=True, kw_only=True)
    return typing.cast("type[CommonDetectorSettings]", made)


if TYPE_CHECKING:

    class DetectorSettings(CommonDetectorSettings, frozen=True, kw_only=True):
        """All options of the group ``detector``, whichever detectors read them."""

        def __init__(self, **options: object) -> None: ...

else:
    DetectorSettings = _all_together()
