"""Where things lie in a drawing: percentages of its width, ticks of the time axis, strips, lines.

Drawings have no size of their own: their widths are percentages, so that a page of any width, zoomed or not, shows the
same drawing, and text in it is never stretched. Strips and lines are paths in a box of their own, which may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yarnspec.core.messages.observations import IntColumn

FloatColumn = npt.NDArray[np.float64]

_STEPS_MS = tuple(
    1000 * seconds
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400)
)
_MOST_TICKS = 8
_DAY_MS = 86_400_000
STRIP_HEIGHT = 10


@dataclass(frozen=True, slots=True)
class Scale:
    """A span of time over the whole width."""

    begin_ms: int
    end_ms: int

    @property
    def length_ms(self) -> int:
        """How long it is; never nothing."""
        return max(self.end_ms - self.begin_ms, 1)

    def at(self, time_ms: float) -> str:
        """Where a moment lies, in percent."""
        return percent((time_ms - self.begin_ms) / self.length_ms)

    def width(self, begin_ms: float, end_ms: float) -> str:
        """How wide a span is, in percent; what lies outside does not count."""
        begin, end = max(begin_ms, self.begin_ms), min(end_ms, self.end_ms)
        return percent(max(end - begin, 0) / self.length_ms)

    def ticks(self) -> list[tuple[str, str]]:
        """Round moments and their words: what has passed since the beginning."""
        step = next((one for one in _STEPS_MS if self.length_ms / one <= _MOST_TICKS), None)
        if step is None:
            step = -(-self.length_ms // (_MOST_TICKS * _DAY_MS)) * _DAY_MS
        return [(percent(passed / self.length_ms), brief(passed)) for passed in range(0, self.length_ms + 1, step)]


def percent(share: float) -> str:
    """A share of the width, as SVG writes it."""
    text = f"{min(max(share, 0.0), 1.0) * 100:.2f}".rstrip("0").rstrip(".")
    return f"{text}%"


def brief(passed_ms: int) -> str:
    """A span in the fewest letters: ``45s``, ``2:30``, ``1:02:30``."""
    seconds = passed_ms // 1000
    if seconds < 60:  # noqa: PLR2004
        return f"{seconds}s"
    if seconds < 3600:  # noqa: PLR2004
        return f"{seconds // 60}:{seconds % 60:02d}"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def took(duration_ms: float | None) -> str:
    """How long something took, with as many digits as matter."""
    if duration_ms is None:
        return "-"
    seconds = duration_ms / 1000
    if seconds < 10:  # noqa: PLR2004
        return f"{seconds:.1f} s" if seconds else "0 s"
    if seconds < 120:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    if seconds < 7200:  # noqa: PLR2004
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{int(seconds) // 3600} h {int(seconds) % 3600 // 60} min"


def times(count: int) -> str:
    """How often."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def busy(begin_ms: IntColumn, end_ms: IntColumn, edges: FloatColumn) -> FloatColumn:
    """How many spans cover each bin between the edges, on average; exact, and without a loop over the spans."""
    found: FloatColumn = np.diff(_covered(begin_ms, edges) - _covered(end_ms, edges)) / np.diff(edges)
    return found


def _covered(moments: IntColumn, edges: FloatColumn) -> FloatColumn:
    """The sum, over all moments before each edge, of what has passed since."""
    ordered = np.sort(moments).astype(np.float64)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    before = np.searchsorted(ordered, edges, side="left")
    found: FloatColumn = before * edges - sums[before]
    return found


def strip(levels: IntColumn, level: int) -> str:
    """The path of the bins that have this level, in a box one unit wide for each bin."""
    here = np.concatenate(([False], levels == level, [False]))
    turns = np.flatnonzero(here[1:] != here[:-1])
    return "".join(
        f"M{begin} 0h{end - begin}v{STRIP_HEIGHT}h-{end - begin}z"
        for begin, end in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True)
    )


def steps(points: Sequence[tuple[float, float]], end: float, height: float, top: float) -> str:
    """The path of a value that holds until the next point; ``points`` are x in permille and value up to ``top``."""
    if not points:
        return ""
    scale = height / top if top else 0
    path = [f"M{points[0][0]:.1f} {height - points[0][1] * scale:.1f}"]
    for x, value in points[1:]:
        path.append(f"H{x:.1f}V{height - value * scale:.1f}")
    return "".join((*path, f"H{end:.1f}"))
