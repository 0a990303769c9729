"""The flags of ``yarnspec submit``: those of spark-submit by their names and meaning, and ours.

One table, ``FLAGS``: the command line, its help page and ``docs/spark-submit.md`` are made from it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.flags.merge import FLAG_PROPERTIES
from yarnspec.gateway.flags.request import SubmitRequest

if TYPE_CHECKING:
    from collections.abc import Callable

Treatment = Literal["honoured", "translated", "warned", "refused"]
Shape = Literal["text", "list", "repeated", "switch", "on_off"]


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its names, the field of ``SubmitRequest`` it fills, and what becomes of it.

    ``shape`` says what it takes: one text (the last one given wins), a comma-separated list, one text each time it
    is repeated, nothing (a switch), or nothing with a ``--no-`` form. A refused flag has advice instead of a field.
    """

    names: tuple[str, ...]
    field: str | None = None
    shape: Shape = "text"
    metavar: str | None = None
    group: Literal["spark-submit", "yarnspec"] = "spark-submit"
    treatment: Treatment = "honoured"
    help: str
    advice: str = ""


def _refused(names: tuple[str, ...], advice: str, metavar: str | None = "VALUE") -> Flag:
    shape: Shape = "text" if metavar else "switch"
    return Flag(
        names=names, shape=shape, metavar=metavar, treatment="refused", help=f"Refused: {advice}", advice=advice
    )


FLAGS: tuple[Flag, ...] = (
    Flag(
        names=("--master",),
        field="master",
        metavar="URL",
        help="yarn, the default. yarn-client and yarn-cluster are yarn with that deploy mode. Any other is refused.",
    ),
    Flag(
        names=("--deploy-mode",),
        field="deploy_mode",
        metavar="MODE",
        treatment="translated",
        help="client (default): the driver's output is streamed to stdout. cluster: stdout is the application id. "
        "The driver runs in the AM container in both.",
    ),
    Flag(names=("--name",), field="name", metavar="NAME", help="The application's name."),
    Flag(names=("--queue",), field="queue", metavar="NAME", help="The YARN queue (default: default)."),
    Flag(names=("--num-executors",), field="num_executors", metavar="N", help="Executors to start (default: 2)."),
    Flag(names=("--executor-memory",), field="executor_memory", metavar="MEM", help="Heap of an executor (1g)."),
    Flag(names=("--executor-cores",), field="executor_cores", metavar="N", help="Cores of an executor (1)."),
    Flag(names=("--driver-memory",), field="driver_memory", metavar="MEM", help="Heap of the driver (1g)."),
    Flag(names=("--driver-cores",), field="driver_cores", metavar="N", help="Cores of the AM container (1)."),
    Flag(
        names=("--driver-class-path",),
        field="driver_class_path",
        metavar="PATHS",
        help="Class path entries for the driver; the paths are those of the driver's host.",
    ),
    Flag(
        names=("--driver-default-class-path",),
        field="driver_default_class_path",
        metavar="PATHS",
        help="Class path entries for the driver, after those of --driver-class-path.",
    ),
    Flag(names=("--driver-java-options",), field="driver_java_options", metavar="OPTS", help="Options of its JVM."),
    Flag(
        names=("--driver-library-path",),
        field="driver_library_path",
        metavar="PATHS",
        help="Native library path of the driver; the paths are those of the driver's host.",
    ),
    Flag(
        names=("--conf", "-c"),
        field="conf",
        shape="repeated",
        metavar="KEY=VALUE",
        help="A Spark property; may be repeated. A flag for the same thing wins, but for the --driver-… flags of the "
        "driver's JVM: of these and --conf the later one wins.",
    ),
    Flag(
        names=("--properties-file",),
        field="properties_file",
        metavar="FILE",
        help="File of Spark properties, read instead of spark-defaults.conf.",
    ),
    Flag(
        names=("--extra-properties-file",),
        field="extra_properties_files",
        shape="repeated",
        metavar="FILE",
        help="One more file of Spark properties, which wins over --properties-file; may be repeated.",
    ),
    Flag(
        names=("--load-spark-defaults",),
        field="load_spark_defaults",
        shape="switch",
        help="Read spark-defaults.conf although --properties-file is given, which wins.",
    ),
    Flag(
        names=("--py-files",),
        field="py_files",
        shape="list",
        metavar="FILES",
        help=".py, .zip, .egg and .whl files and directories for the PYTHONPATH, separated by commas.",
    ),
    Flag(
        names=("--files",),
        field="files",
        shape="list",
        metavar="FILES",
        help="Files for the working directory of driver and executors; FILE#LINK gives another name.",
    ),
    Flag(
        names=("--archives",),
        field="archives",
        shape="list",
        metavar="FILES",
        help="Archives that are unpacked in the working directory of driver and executors; FILE#LINK.",
    ),
    Flag(names=("--jars",), field="jars", shape="list", metavar="FILES", help="Jars for driver and executors."),
    Flag(
        names=("--packages",),
        field="packages",
        shape="list",
        metavar="COORDINATES",
        help="Maven coordinates of jars; the driver fetches them, on its host.",
    ),
    Flag(
        names=("--exclude-packages",),
        field="exclude_packages",
        shape="list",
        metavar="COORDINATES",
        help="Coordinates that are left out of --packages.",
    ),
    Flag(
        names=("--repositories",),
        field="repositories",
        shape="list",
        metavar="URLS",
        help="More Maven repositories for --packages.",
    ),
    Flag(
        names=("--principal",),
        field="principal",
        metavar="NAME",
        treatment="warned",
        help="No effect yet: log in with kinit before the submit.",
    ),
    Flag(
        names=("--keytab",),
        field="keytab",
        metavar="FILE",
        treatment="warned",
        help="No effect yet: log in with kinit before the submit.",
    ),
    Flag(
        names=("--proxy-user",),
        field="proxy_user",
        metavar="NAME",
        help="User whose application it is; the cluster must let you act for this one (hadoop.proxyuser.…).",
    ),
    Flag(names=("--verbose", "-v"), field="verbose", shape="switch", help="Say more on stderr."),
    Flag(
        names=("--supervise",),
        field="supervise",
        shape="switch",
        treatment="warned",
        help="No effect: it is for Spark's own clusters; on YARN, attempts are a setting.",
    ),
    Flag(
        names=("--total-executor-cores",),
        field="total_executor_cores",
        metavar="N",
        treatment="warned",
        help="No effect: it is for Spark's own clusters; use --num-executors and --executor-cores.",
    ),
    _refused(("--class",), "yarnspec runs PySpark programs, and a main class is for jars; use spark-submit."),
    _refused(("--remote",), "Spark Connect is another way to run a program; use spark-submit.", "URL"),
    _refused(("--kill",), "it is for Spark's own clusters; use `yarnspec kill APP`.", "ID"),
    _refused(("--status",), "it is for Spark's own clusters; use `yarnspec status APP`.", "ID"),
    _refused(("--version",), "use `yarnspec --version`.", None),
    _refused(("--usage-error",), "it is Spark's own; use `yarnspec submit --help`.", None),
    Flag(
        names=("--exclude-hosts",),
        field="exclude_hosts",
        shape="list",
        metavar="HOSTS",
        group="yarnspec",
        help="Hosts on which no container of the application may run, separated by commas.",
    ),
    Flag(
        names=("--force",),
        field="force",
        shape="switch",
        group="yarnspec",
        help="Exclude more hosts than placement.max_blocked_share allows; never all.",
    ),
    Flag(
        names=("--environment",),
        field="environment",
        metavar="ENV",
        group="yarnspec",
        help="Python of driver and executors: python:///path, venv:///path, conda://name or conda:///path on every "
        "host, or a packed environment (archive) that is shipped.",
    ),
    Flag(
        names=("--spark-jars",),
        field="spark_jars",
        metavar="PATH",
        group="yarnspec",
        help="Spark's jars: a directory that every host has, or an archive in HDFS, which is uploaded when it is not "
        "there yet. Without it, those of the pyspark that the Python on the hosts has.",
    ),
    Flag(
        names=("--wait/--no-wait",),
        field="wait",
        shape="on_off",
        group="yarnspec",
        help="Stay until the application ends (default), or leave after the submit.",
    ),
    Flag(
        names=("--dry-run",),
        field="dry_run",
        shape="switch",
        group="yarnspec",
        help="Print what would be submitted, and submit nothing.",
    ),
    Flag(
        names=("--output", "-o"),
        field="output",
        metavar="table|json|yaml",
        group="yarnspec",
        help="Form of the final object on stdout; with json and yaml nothing else is printed there.",
    ),
    Flag(
        names=("--set",),
        field="settings",
        shape="repeated",
        metavar="GROUP.NAME=VALUE",
        group="yarnspec",
        help="Set an option of yarnspec; may be repeated.",
    ),
    Flag(
        names=("--config",),
        field="config_file",
        metavar="FILE",
        group="yarnspec",
        help="YAML file with options of yarnspec.",
    ),
)


_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}
_LAUNCHER_FIELDS = frozenset(
    {
        "driver_memory",
        "driver_class_path",
        "driver_default_class_path",
        "driver_java_options",
        "driver_library_path",
    }
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
        return super().parse_args(ctx, as_launcher(args))

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
        raise UsageError(f"--output {output}: it is one of table, json and yaml")
    # Python decoded them by the locale of this machine; the program gets the same bytes whatever that is.
    arguments = tuple(os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in arguments)
    return SubmitRequest(program=program, arguments=arguments, **fields)


def as_launcher(line: list[str]) -> list[str]:
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
        if flag is None or flag.shape in ("switch", "on_off"):
            rewritten.append(word)
            continue
        if not separator:
            following = next(words, None)
            if following is None:
                rewritten.append(word)
                break
            value = following
        if flag.field in _LAUNCHER_FIELDS:
            rewritten += ["--conf", f"{FLAG_PROPERTIES[flag.field]}={value}"]
        else:
            rewritten += [word] if separator else [word, value]
    return rewritten


def split_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated list as spark-submit does: without the blanks around entries and without empty ones."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())


def _option(number: int, flag: Flag) -> click.Option:
    names = [f"p{number}" if flag.field is None else flag.field, *flag.names]
    if flag.treatment == "refused":
        # Eager: a line that only says `--kill ID` has no program, and its advice matters more than that.
        return click.Option(
            names,
            is_flag=flag.shape == "switch",
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
