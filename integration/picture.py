"""The pictures of the page in the README and in docs/page.md, out of a simulated run with slow hosts.

`make docs` draws them.
"""

from __future__ import annotations

import hashlib
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from integration import browser
from tests.observe.page.records_to_draw import drawn, recorded

ROOT = Path(__file__).parent.parent
PICTURE, HOSTS_PICTURE = ROOT / "docs" / "page.png", ROOT / "docs" / "page-hosts.png"
PAGE = ROOT / "yarnspec/observe/page"
SEED = 18
_KEYWORD = b"yarnspec-templates"
_HEAD_BYTES = 8 + 12 + 13
"""PNG's signature and its first chunk, which the text must follow."""


def main() -> int:
    """Draw them; 1 where there is no browser."""
    if why := browser.why_none():
        print(f"error: {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "page.html"
        file.write_text(drawn(recorded(SEED)), encoding="utf-8")
        with browser.browser_page(file.as_uri()) as (page, _, _):
            PICTURE.write_bytes(stamped(page.screenshot(), page_digest()))
        with browser.browser_page(file.as_uri(), dark=True) as (page, _, _):
            hosts = page.locator("#hosts").screenshot()
            HOSTS_PICTURE.write_bytes(stamped(hosts, page_digest()))
    return 0


def page_digest() -> str:
    """Which page a picture shows: its templates and styles, and the code that draws it."""
    shown = sorted(one for one in (*PAGE.glob("*.py"), *PAGE.glob("templates/*")) if one.suffix != ".js")
    digest = hashlib.sha256()
    for one in shown:
        digest.update(one.name.encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()


def stamped(png: bytes, digest: str) -> bytes:
    """The picture with the digest of what it shows among its metadata."""
    text = b"tEXt" + _KEYWORD + b"\0" + digest.encode()
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return png[:_HEAD_BYTES] + chunk + png[_HEAD_BYTES:]


def stamp_of(png: bytes) -> str:
    """The digest in a picture; empty if there is none."""
    _, found, rest = png.partition(b"tEXt" + _KEYWORD + b"\0")
    return rest[:64].decode("latin-1") if found else ""


if __name__ == "__main__":
    sys.exit(main())
