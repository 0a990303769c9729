"""Prints LINES lines of 100 bytes and ends: `wide.py LINES`."""

from __future__ import annotations

import sys

for number in range(int(sys.argv[1])):
    sys.stdout.write(f"{number:099d}\n")
