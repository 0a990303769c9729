"""What stands on the pages that users read: their blocks of code, and the commands in these.

A block is run as it is told, but for one that says ``another-cluster`` behind its language: its hosts, files or daemons
are none that a test could have.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OTHER = "another-cluster"
GUIDES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
"""The pages of users: internals and decisions have examples that nobody runs."""

_FENCE = re.compile(r"^```(\w*) ?([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """Some lines of one language; ``other``: they are for another cluster."""

    page: str
    language: str
    other: bool
    text: str

    @property
    def commands(self) -> list[str]:
        """The shell commands in it, one a line, without comments and what only continues a line."""
        joined = self.text.replace("\\\n", " ")
        lines = [re.sub(r"\s+#\s.*$|^#.*$", "", line).strip() for line in joined.splitlines()]
        return [line for line in lines if line]


def blocks(language: str, pages: tuple[Path, ...] = GUIDES) -> list[Block]:
    """All blocks of a language, page by page; no page has a block with a mark that nobody knows."""
    found = []
    for page in pages:
        for name, mark, text in _FENCE.findall(page.read_text(encoding="utf-8")):
            assert mark in ("", OTHER), f"{page.name}: what does {mark!r} mean?"
            if name == language:
                found.append(Block(page=page.name, language=name, other=mark == OTHER, text=text))
    return found


def words(command: str) -> list[str]:
    """The words of one command, up to a pipe or a redirection."""
    found = []
    for word in shlex.split(command):
        if word in ("|", ">", "&&"):
            break
        found.append(word)
    return found
