"""What a user asks for with ``yarnspec submit`` or ``yarnspec.submit(...)``: spark-submit's flags and ours."""

from __future__ import annotations

from typing import Literal

import msgspec

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
