"""`make picture`: the picture of the page in the README, out of a simulated run with slow hosts."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from integration import browser
from tests.observe.page.histories import drawn, recorded

PICTURE = Path(__file__).parent.parent / "docs" / "page.png"
SEED = 18


def main() -> int:
    """Draw it; 1 where there is no browser."""
    if why := browser.why_none():
        print(f"error: {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "page.html"
        file.write_text(drawn(recorded(SEED)), encoding="utf-8")
        with browser.browser_page(file.as_uri()) as (page, _, _):
            page.screenshot(path=str(PICTURE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
