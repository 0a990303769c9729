"""Types that options of several groups have."""

from __future__ import annotations

from typing import Annotated

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Probability = Annotated[float, msgspec.Meta(gt=0, le=1)]
Factor = Annotated[float, msgspec.Meta(gt=0)]
FactorOrZero = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
CountOrZero = Annotated[int, msgspec.Meta(ge=0)]
TextOrNone = Annotated[str, msgspec.Meta(min_length=0)]
"""A text that may be empty; every other one must not be."""
HostList = Annotated[str, msgspec.Meta(min_length=0, extra={"list": True})]
"""Names of hosts, separated by commas; may be empty. A file of options may have a list of YAML instead."""
MsOrZero = Annotated[int, msgspec.Meta(ge=0)]
"""A duration that may be 0; every other one must be longer."""
MsOrOff = Annotated[int, msgspec.Meta(ge=-1)]
"""A duration that may be 0 or `off`, which is -1."""
