"""The request of ``yarnspec submit`` or ``yarnspec.submit(...)``: spark-submit's flags by name and meaning, and ours.

A new flag is one field of ``SubmitRequest``. The command line, its help page, the merge with Spark's properties, the
warnings and ``docs/spark-submit.md`` are made from the fields.
"""

from __future__ import annotations

import typing
from typing import Annotated, Literal

import msgspec

from yarnspec.errors import UsageError
from yarnspec.gateway.flags.flag import Flag, Shape

Size = int | str | None
"""A size as spark-submit takes it (``2g``; without a unit: MiB), or a count."""

_KINIT = "no effect yet: log in with kinit before the submit"


class SubmitRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One submit. Every field but ``program`` may be left out; the names are those of the flags.

    Lists of files hold local paths, URIs (``hdfs://…``), and ``local:/…`` for what every host has; ``archives`` and
    ``files`` may name their link in the container, ``data.zip#data``.
    """

    program: str
    arguments: tuple[str, ...] = ()

    master: Annotated[
        str | None,
        Flag(
            metavar="URL",
            spark_property="spark.master",
            about="yarn, the default. yarn-client and yarn-cluster are yarn with that deploy mode. Any other is "
            "refused.",
        ),
    ] = None
    deploy_mode: Annotated[
        str | None,
        Flag(
            metavar="MODE",
            spark_property="spark.submit.deployMode",
            translated=True,
            about="client (default): the driver's output is streamed to stdout. cluster: stdout is the application "
            "id. The driver runs in the AM container in both.",
        ),
    ] = None
    name: Annotated[
        str | None, Flag(metavar="NAME", spark_property="spark.app.name", about="The application's name.")
    ] = None
    queue: Annotated[
        str | None, Flag(metavar="NAME", spark_property="spark.yarn.queue", about="The YARN queue (default: default).")
    ] = None
    num_executors: Annotated[
        Size, Flag(metavar="N", spark_property="spark.executor.instances", about="Executors to start (default: 2).")
    ] = None
    executor_memory: Annotated[
        Size, Flag(metavar="MEM", spark_property="spark.executor.memory", about="Heap of an executor (1g).")
    ] = None
    executor_cores: Annotated[
        Size, Flag(metavar="N", spark_property="spark.executor.cores", about="Cores of an executor (1).")
    ] = None
    driver_memory: Annotated[
        Size,
        Flag(metavar="MEM", spark_property="spark.driver.memory", rewritten=True, about="Heap of the driver (1g)."),
    ] = None
    driver_cores: Annotated[
        Size, Flag(metavar="N", spark_property="spark.driver.cores", about="Cores of the AM container (1).")
    ] = None
    driver_class_path: Annotated[
        str | None,
        Flag(
            metavar="PATHS",
            spark_property="spark.driver.extraClassPath",
            rewritten=True,
            about="Class path entries for the driver; the paths are those of the driver's host.",
        ),
    ] = None
    driver_default_class_path: Annotated[
        str | None,
        Flag(
            metavar="PATHS",
            spark_property="spark.driver.defaultExtraClassPath",
            rewritten=True,
            about="Class path entries for the driver, after those of --driver-class-path.",
        ),
    ] = None
    driver_java_options: Annotated[
        str | None,
        Flag(
            metavar="OPTS",
            spark_property="spark.driver.extraJavaOptions",
            rewritten=True,
            about="Options of the driver's JVM.",
        ),
    ] = None
    driver_library_path: Annotated[
        str | None,
        Flag(
            metavar="PATHS",
            spark_property="spark.driver.extraLibraryPath",
            rewritten=True,
            about="Native library path of the driver; the paths are those of the driver's host.",
        ),
    ] = None
    conf: Annotated[
        dict[str, str],
        Flag(
            names=(
                "--conf",
                "-c",
            ),
            shape="repeated",
            metavar="KEY=VALUE",
            about="A Spark property; may be repeated. A flag for the same thing wins. Of --conf and the --driver-… "
            "flags of the driver's JVM the later one wins.",
        ),
    ] = {}
    properties_file: Annotated[
        str | None, Flag(metavar="FILE", about="File of Spark properties, read instead of spark-defaults.conf.")
    ] = None
    extra_properties_files: Annotated[
        tuple[str, ...],
        Flag(
            names=("--extra-properties-file",),
            shape="repeated",
            metavar="FILE",
            about="One more file of Spark properties, which wins over --properties-file; may be repeated.",
        ),
    ] = ()
    load_spark_defaults: Annotated[
        bool, Flag(shape="switch", about="Read spark-defaults.conf although --properties-file is given, which wins.")
    ] = False
    py_files: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="FILES",
            spark_property="spark.submit.pyFiles",
            about=".py, .zip, .egg and .whl files and directories for the PYTHONPATH, separated by commas.",
        ),
    ] = ()
    files: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="FILES",
            spark_property="spark.files",
            about="Files for the working directory of driver and executors; FILE#LINK gives another name.",
        ),
    ] = ()
    archives: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="FILES",
            spark_property="spark.archives",
            about="Archives that are unpacked in the working directory of driver and executors; FILE#LINK.",
        ),
    ] = ()
    jars: Annotated[
        tuple[str, ...],
        Flag(shape="list", metavar="FILES", spark_property="spark.jars", about="Jars for driver and executors."),
    ] = ()
    packages: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="COORDINATES",
            spark_property="spark.jars.packages",
            about="Maven coordinates of jars; the driver fetches them, on its host.",
        ),
    ] = ()
    exclude_packages: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="COORDINATES",
            spark_property="spark.jars.excludes",
            about="Coordinates that are left out of --packages.",
        ),
    ] = ()
    repositories: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="URLS",
            spark_property="spark.jars.repositories",
            about="More Maven repositories for --packages.",
        ),
    ] = ()
    principal: Annotated[
        str | None, Flag(metavar="NAME", spark_property="spark.kerberos.principal", warning=_KINIT)
    ] = None
    keytab: Annotated[str | None, Flag(metavar="FILE", spark_property="spark.kerberos.keytab", warning=_KINIT)] = None
    proxy_user: Annotated[
        str | None,
        Flag(
            metavar="NAME",
            about="Submit as this user. The cluster must let you act for that one (hadoop.proxyuser.…).",
        ),
    ] = None
    verbose: Annotated[
        bool,
        Flag(
            names=(
                "--verbose",
                "-v",
            ),
            shape="switch",
            about="Say more on stderr.",
        ),
    ] = False
    supervise: Annotated[
        bool, Flag(shape="switch", warning="no effect on YARN: attempts are set by spark.yarn.maxAppAttempts")
    ] = False
    total_executor_cores: Annotated[
        Size, Flag(metavar="N", warning="no effect on YARN: use --num-executors and --executor-cores")
    ] = None

    min_executors: Annotated[
        Size,
        Flag(
            metavar="N",
            group="yarnspec",
            about="Start with N executors at least, and end with exit code 6 when fewer come in time "
            "(resources.wait_timeout); without it the job starts when Spark would start it.",
        ),
    ] = None
    max_executors: Annotated[
        Size,
        Flag(
            metavar="N",
            group="yarnspec",
            about="Ask for N executors; the job starts at once when they are there. Without it: --num-executors.",
        ),
    ] = None
    exclude_hosts: Annotated[
        tuple[str, ...],
        Flag(
            shape="list",
            metavar="HOSTS",
            group="yarnspec",
            about="Hosts on which no container of the application may run, separated by commas.",
        ),
    ] = ()
    placement_constraint: Annotated[
        str | None,
        Flag(
            metavar="EXPR",
            group="yarnspec",
            about="A constraint on the hosts of executors in YARN's syntax, as notin,node,all/hbase or python=3.11.",
        ),
    ] = None
    force: Annotated[
        bool,
        Flag(
            shape="switch",
            group="yarnspec",
            about="Exclude more hosts than placement.max_blocked_share allows; never all.",
        ),
    ] = False
    environment: Annotated[
        str | None,
        Flag(
            metavar="ENV",
            group="yarnspec",
            about="Python of driver and executors: python:///path, venv:///path, conda://name or conda:///path on "
            "every host, or a packed environment (archive) that is shipped.",
        ),
    ] = None
    spark_jars: Annotated[
        str | None,
        Flag(
            metavar="PATH",
            group="yarnspec",
            about="Spark's jars: a directory that every host has, or an archive in HDFS, which is uploaded when it is "
            "not there yet. Without it, the jars of the pyspark on the hosts.",
        ),
    ] = None
    wait: Annotated[
        bool | None,
        Flag(
            names=("--wait/--no-wait",),
            shape="on_off",
            group="yarnspec",
            about="Stay until the application ends (default), or leave after the submit.",
        ),
    ] = None
    dry_run: Annotated[
        bool, Flag(shape="switch", group="yarnspec", about="Print what would be submitted, and submit nothing.")
    ] = False
    output: Annotated[
        Literal["table", "json", "yaml"],
        Flag(
            names=(
                "--output",
                "-o",
            ),
            metavar="table|json|yaml",
            group="yarnspec",
            about="Form of the final object on stdout; with json and yaml nothing else is printed there.",
        ),
    ] = "table"
    settings: Annotated[
        tuple[str, ...],
        Flag(
            names=("--set",),
            shape="repeated",
            metavar="GROUP.NAME=VALUE",
            group="yarnspec",
            about="Set an option of yarnspec; may be repeated.",
        ),
    ] = ()
    config_file: Annotated[
        str | None,
        Flag(names=("--config",), metavar="FILE", group="yarnspec", about="YAML file with options of yarnspec."),
    ] = None


def _declared() -> tuple[Flag, ...]:
    """The flags that the fields of ``SubmitRequest`` declare."""
    hints = typing.get_type_hints(SubmitRequest, include_extras=True)
    return tuple(
        msgspec.structs.replace(flag, field=field, names=flag.names or ("--" + field.replace("_", "-"),))
        for field in SubmitRequest.__struct_fields__
        for flag in getattr(hints[field], "__metadata__", ())
    )


def _refused(name: str, advice: str, metavar: str | None = "VALUE") -> Flag:
    shape: Shape = "text" if metavar else "switch"
    return Flag(names=(name,), shape=shape, metavar=metavar, advice=advice)


FLAGS: tuple[Flag, ...] = (
    *_declared(),
    _refused("--class", "yarnspec runs PySpark programs, and a main class is for jars; use spark-submit."),
    _refused("--remote", "Spark Connect is another way to run a program; use spark-submit.", "URL"),
    _refused("--kill", "it is for Spark's own clusters; use `yarnspec kill APP`.", "ID"),
    _refused("--status", "it is for Spark's own clusters; use `yarnspec status APP`.", "ID"),
    _refused("--version", "use `yarnspec --version`.", None),
    _refused("--usage-error", "it is Spark's own; use `yarnspec submit --help`.", None),
)


def check_text(request: SubmitRequest) -> None:
    """Refuse bytes that are not UTF-8 wherever they are not for the program: YARN's names and values are text."""
    for field, value in msgspec.structs.asdict(request).items():
        if field != "arguments" and not _is_text(value):
            flag = "the program's path" if field == "program" else "--" + field.replace("_", "-")
            raise UsageError(
                f"{flag}: it has bytes that are not UTF-8. Only the program's own arguments may have such bytes; "
                "rename the file, or write the value in UTF-8."
            )


def _is_text(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_text(one) for one in (*value.keys(), *value.values()))
    if isinstance(value, tuple):
        return all(_is_text(one) for one in value)
    if not isinstance(value, str):
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
