"""How many of the running hosts may be blocked, and why not more."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet


def blocked_limit(share: float, running: int) -> int:
    """How many of ``running`` hosts a share allows to block: at least one."""
    # The small addition undoes binary fractions: 0.29 x 100 is 28.999999999999996.
    return max(1, math.floor(share * running + 1e-9))


def nothing_left(blocked: AbstractSet[str], running: AbstractSet[str]) -> str:
    """Why these hosts may not all be blocked, as none of the running ones would be left, or an empty string."""
    if not running <= blocked:
        return ""
    return f"none of the {len(running)} running hosts would be left to place containers on"


def over_share(blocked: int, running: AbstractSet[str], share: float, reach: str) -> str:
    """Why so many may not be blocked without force, or an empty string."""
    limit = blocked_limit(share, len(running))
    if blocked <= limit:
        return ""
    return (
        f"{blocked} of {len(running)} running hosts would be blocked{reach}; at most {limit} may be "
        f"(placement.max_blocked_share is {share:g})"
    )
