"""Write the rendered pages: ``python -m yarnspec.reference [ROOT]``, which ``make docs`` runs."""

from __future__ import annotations

import sys
from pathlib import Path

from yarnspec.reference.rendered_pages import PAGES


def main() -> None:
    """Entry point."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name, render in PAGES.items():
        (root / name).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
