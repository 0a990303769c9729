"""The command line of ``yarnspec submit`` and its help page, made from the declared ``FLAGS``."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

import click

from yarnspec.errors import UsageError
from yarnspec.gateway.flags.request import FLAGS, SubmitRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from yarnspec.gateway.flags.flag import Flag

_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}
_SHORT = 2
_SWITCHES = frozenset(
    {"h", *(name[1] for name, flag in _BY_NAME.items() if len(name) == _SHORT and flag.shape == "switch")}
)


class SubmitCommand(click.Command):
    """A click command that reads a spark-submit line; everything after the program belongs to the program.

    The callback gets one argument, the ``SubmitRequest``.
    """

    def __init__(self, name: str, callback: Callable[[SubmitRequest], Any], **attributes: Any) -> None:
        def call(program: str, arguments: tuple[str, ...], **values: Any) -> Any:
            return callback(request_from(program, arguments, values))

        super().__init__(
            name,
            callback=call,
            params=parameters(),
            options_metavar="[OPTIONS]",
            context_settings={"allow_interspersed_args": False, "help_option_names": ["-h", "--help"]},
            **attributes,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a line after some of its flags were rewritten as spark-submit rewrites them."""
        return super().parse_args(ctx, as_launcher(args, ctx))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write spark-submit's flags and ours apart."""
        shown: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                shown |= dict.fromkeys(parameter.opts, record)
        for group, title in (("spark-submit", "Flags of spark-submit"), ("yarnspec", "Flags of yarnspec")):
            rows = [
                shown[flag.names[0].split("/")[0]]
                for flag in FLAGS
                if flag.group == group and flag.treatment != "refused"
            ]
            with formatter.section(title):
                formatter.write_dl(rows)


def parameters() -> list[click.Parameter]:
    """Click's parameters for ``FLAGS``, the program and its arguments."""
    options: list[click.Parameter] = [_option(number, flag) for number, flag in enumerate(FLAGS)]
    options.append(click.Argument(["program"], metavar="PROGRAM.py"))
    options.append(click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]..."))
    return options


def request_from(program: str, arguments: tuple[str, ...], values: dict[str, Any]) -> SubmitRequest:
    """Make a request of the flags' values by field name; raise UsageError for malformed ones."""
    fields = {name: value for name, value in values.items() if value is not None}
    for flag in FLAGS:
        if flag.shape == "list" and flag.field in fields:
            fields[flag.field] = split_list(fields[flag.field])
    fields["conf"] = dict(_pair(text) for text in fields.get("conf", ()))
    output = fields.get("output", "table")
    if output not in ("table", "json", "yaml"):
        raise UsageError(f"--output {output}: write table, json or yaml")
    # Python decoded them by the locale of this machine; the program gets the same bytes whatever that is.
    arguments = tuple(os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in arguments)
    return SubmitRequest(program=program, arguments=arguments, **fields)


def as_launcher(line: list[str], ctx: click.Context | None = None) -> list[str]:
    """Rewrite the flags for the driver's JVM as ``--conf``, as Spark's launcher does.

    Of ``--driver-memory`` and ``--conf spark.driver.memory`` the later one wins therefore; every other flag wins over
    ``--conf`` wherever it stands.
    """
    rewritten: list[str] = []
    words = iter(line)
    for word in words:
        name, separator, value = word.partition("=")
        flag = _BY_NAME.get(name)
        if not word.startswith("-") or word == "--":
            # The program: what follows is its own.
            return [*rewritten, word, *words]
        if ctx is None or not ctx.resilient_parsing:
            _refuse_one_dash(name, ctx)
        if flag is None or flag.shape in ("switch", "on_off"):
            rewritten.append(word)
            continue
        if not separator:
            following = next(words, None)
            if following is None:
                rewritten.append(word)
                break
            value = following
        if flag.rewritten:
            rewritten += ["--conf", f"{flag.spark_property}={value}"]
        else:
            rewritten += [word] if separator else [word, value]
    return rewritten


def _refuse_one_dash(name: str, ctx: click.Context | None) -> None:
    """Refuse ``-conf`` as a whole, as spark-submit does; click would read it as flags of one letter.

    Only ``-oFORMAT`` and switches of one letter may stand together with others.
    """
    if not name.startswith("--") and len(name) > _SHORT and name[:_SHORT] != "-o" and set(name[1:]) - _SWITCHES:
        meant = (each for each, flag in _BY_NAME.items() if flag.treatment != "refused" and "/" not in each)
        raise click.NoSuchOption(name, possibilities=difflib.get_close_matches(f"-{name}", meant), ctx=ctx)


def split_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated list as spark-submit does: without the blanks around entries and without empty ones."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def _option(number: int, flag: Flag) -> click.Option:
    names = [f"p{number}" if flag.field is None else flag.field, *flag.names]
    if flag.treatment == "refused":
        # Eager: a line that only says `--kill ID` has no program, and its advice matters more than that. Without an ID
        # the advice comes, too.
        switch = flag.shape == "switch"
        return click.Option(
            names,
            is_flag=switch,
            flag_value=switch or "no value",
            is_eager=True,
            expose_value=False,
            callback=_refuse(flag),
            help=flag.help,
            hidden=True,
        )
    if flag.shape == "switch":
        return click.Option(names, is_flag=True, help=flag.help)
    if flag.shape == "on_off":
        return click.Option(names, default=None, is_flag=True, help=flag.help)
    return click.Option(names, multiple=flag.shape == "repeated", metavar=flag.metavar, help=flag.help)


def _refuse(flag: Flag) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(_context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value:
            raise UsageError(f"{flag.names[0]}: {flag.advice}")

    return callback


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise UsageError(f"--conf {text}: write it as KEY=VALUE")
    return key.strip(), value
