"""`yarnspec completion`: the script that lets a shell complete commands, flags, applications and hosts."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """
\b
Examples:
  eval "$(yarnspec completion bash)"
  yarnspec completion zsh > ~/.zfunc/_yarnspec
  yarnspec completion fish > ~/.config/fish/completions/yarnspec.fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
@click.pass_context
def command(context: click.Context, *, shell: str) -> None:
    """Print the script that completes yarnspec's command lines in bash (4.4 or later), zsh or fish.

    For applications and hosts the completion asks the cluster that HADOOP_CONF_DIR names.
    """
    kind = get_completion_class(shell)
    if kind is None:
        message = f"there is no completion for {shell}"
        raise click.UsageError(message)
    click.echo(kind(context.find_root().command, {}, "yarnspec", "_YARNSPEC_COMPLETE").source())
