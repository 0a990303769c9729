"""The request of ``yarnspec submit`` or ``yarnspec.submit(...)``: spark-submit's flags and ours."""

from __future__ import annotations

from typing import Literal

import msgspec

from yarnspec.errors import UsageError

Size = int | str | None
"""A size as spark-submit takes it (``2g``; without a unit: MiB), or a count."""


class SubmitRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One submit. Every field but ``program`` may be left out; the names are those of the flags.

    Lists of files hold local paths, URIs (``hdfs://…``), and ``local:/…`` for what every host has; ``archives`` and
    ``files`` may name their link in the container, ``data.zip#data``.
    """

    program: str
    arguments: tuple[str, ...] = ()

    master: str | None = None
    deploy_mode: str | None = None
    name: str | None = None
    queue: str | None = None
    num_executors: Size = None
    executor_memory: Size = None
    executor_cores: Size = None
    driver_memory: Size = None
    driver_cores: Size = None
    driver_class_path: str | None = None
    driver_default_class_path: str | None = None
    driver_java_options: str | None = None
    driver_library_path: str | None = None
    conf: dict[str, str] = {}
    properties_file: str | None = None
    extra_properties_files: tuple[str, ...] = ()
    load_spark_defaults: bool = False
    py_files: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    exclude_packages: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    principal: str | None = None
    keytab: str | None = None
    proxy_user: str | None = None
    verbose: bool = False
    supervise: bool = False
    total_executor_cores: Size = None

    exclude_hosts: tuple[str, ...] = ()
    force: bool = False
    environment: str | None = None
    spark_jars: str | None = None
    wait: bool | None = None
    dry_run: bool = False
    output: Literal["table", "json", "yaml"] = "table"
    settings: tuple[str, ...] = ()
    config_file: str | None = None


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
