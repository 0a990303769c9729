"""Click groups that suggest the command a mistyped word was meant to be."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the known words near to this one, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=2, cutoff=0.5)
    if not near:
        return ""
    return " Did you mean " + " or ".join(f"'{each}'" for each in near) + "?"


class SuggestingGroup(click.Group):
    """A group whose unknown commands are errors with "did you mean"."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command named by the first argument."""
        word = args[0]
        if not word.startswith("-") and self.get_command(ctx, word) is None:
            hint = did_you_mean(word, self.list_commands(ctx)) or f" Commands: {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"there is no command '{word}'.{hint}", ctx)
        return super().resolve_command(ctx, args)
