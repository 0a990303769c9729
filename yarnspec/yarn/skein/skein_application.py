"""An application as yarnspec describes it to Skein: an AM container that runs a script, and executors on demand.

These are yarnspec's own small values; ``specification`` turns them into what Skein takes.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
import skein

from yarnspec.errors import UsageError
from yarnspec.plan import EXECUTOR_SERVICE

UNCOUNTED_ATTEMPTS = 1_000_000
"""More attempts than there will be: only YARN knows which one is the last.

Skein's AM counts attempts by their number. YARN does not count an attempt that it preempted or whose host was lost,
and it may forget old ones.
"""

# Skein's AM starts a service's containers only when asked to: add_container. A container that fails must not end the
# application, and must not be started again with the same environment (the same executor id).
_INSTANCES = 0
_MAX_RESTARTS = 0
_MAX_ENVIRONMENT_VALUE_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PORT = re.compile(r":\d*$")
_UNSAFE = re.compile(r"[\"$`\\\n\r\0]")


class LocalizedFile(msgspec.Struct, frozen=True):
    """A file that YARN puts into a container's directory; ``source`` is an absolute path or an unescaped URL.

    An ARCHIVE is unpacked into a directory of the link's name. A PUBLIC or PRIVATE one that is in HDFS is kept by the
    hosts for other applications (of the same user) too.
    """

    source: str
    kind: Literal["FILE", "ARCHIVE"] = "FILE"
    visibility: Literal["APPLICATION", "PRIVATE", "PUBLIC"] = "APPLICATION"


class SkeinContainer(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of container: its size, what is put into its directory by link name, and the script that it runs."""

    memory_mb: int
    vcores: int
    script: str
    files: dict[str, LocalizedFile] = {}
    environment: dict[str, str] = {}
    label: str = ""


class Acls(msgspec.Struct, frozen=True, kw_only=True):
    """Users beside the owner who may look at the application and its page, or may end it; ``*``: everybody."""

    view_users: tuple[str, ...] = ()
    view_groups: tuple[str, ...] = ()
    modify_users: tuple[str, ...] = ()
    modify_groups: tuple[str, ...] = ()


class SkeinApplication(msgspec.Struct, frozen=True, kw_only=True):
    """One application: the AM's container and the executors' kind of container."""

    name: str
    queue: str
    master: SkeinContainer
    executor: SkeinContainer
    tags: tuple[str, ...] = ()
    max_attempts: int = 2
    proxy_user: str = ""
    acls: Acls | None = None
    log_level: str = "INFO"


def specification(application: SkeinApplication, security: skein.Security | None = None) -> skein.ApplicationSpec:
    """Skein's own description of the application; ``security`` is the application's credential."""
    master, executor = application.master, application.executor
    for container in (master, executor):
        check_environment(container.environment)
    try:
        return skein.ApplicationSpec(
            name=application.name,
            queue=application.queue,
            user=application.proxy_user,
            tags=set(application.tags),
            max_attempts=application.max_attempts,
            acls=_acls(application.acls),
            master=skein.Master(
                resources=skein.Resources(memory=master.memory_mb, vcores=master.vcores),
                script=master.script,
                files=_files(master),
                env=dict(master.environment),
                log_level=application.log_level,
                security=security,
            ),
            services={
                EXECUTOR_SERVICE: skein.Service(
                    resources=skein.Resources(memory=executor.memory_mb, vcores=executor.vcores),
                    script=executor.script,
                    files=_files(executor),
                    env=dict(executor.environment),
                    node_label=executor.label,
                    instances=_INSTANCES,
                    max_restarts=_MAX_RESTARTS,
                    allow_failures=True,
                )
            },
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"Skein does not take this application: {error}") from error


def _acls(acls: Acls | None) -> skein.ACLs:
    if acls is None:
        return skein.ACLs()
    return skein.ACLs(
        enable=True,
        view_users=list(acls.view_users),
        view_groups=list(acls.view_groups),
        modify_users=list(acls.modify_users),
        modify_groups=list(acls.modify_groups),
        # Skein knows the users of its pages only by their names.
        ui_users=list(acls.view_users),
    )


def as_document(application: SkeinApplication) -> dict[str, Any]:
    """Skein's specification as plain values for ``--dry-run``: what is submitted, without the credential."""
    document: dict[str, Any] = specification(application).to_dict(skip_nulls=True)
    return document


def check_environment(environment: dict[str, str]) -> None:
    """Refuse what YARN would garble: its launch script puts values into double quotes without escaping them."""
    for name, value in environment.items():
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a name for an environment variable of a container.")
        if len(value.encode()) >= _MAX_ENVIRONMENT_VALUE_BYTES:
            raise UsageError(
                f"The environment variable {name} is {len(value.encode())} bytes long; YARN runs containers with "
                f"values below {_MAX_ENVIRONMENT_VALUE_BYTES} bytes."
            )
        found = _UNSAFE.search(value)
        if found is not None:
            raise UsageError(
                f"The environment variable {name} contains {found.group()!r}, which YARN's launch script would change; "
                "put such a value into a file and ship that."
            )


def _files(container: SkeinContainer) -> dict[str, skein.File]:
    return {
        link: _LiteralFile(file.source, type=file.kind, visibility=file.visibility)
        for link, file in container.files.items()
    }


class _LiteralFile(skein.File):  # type: ignore[misc]
    """A file whose source reaches Skein's JVM as it is.

    Skein reads a source as a URL: it loses what stands behind '?' and '#', and the capitals of a name service. The JVM
    takes the parts literally: nothing in them is percent-encoded.
    """

    __slots__ = ()

    @staticmethod
    def _normpath(path: str, origin: str | None = None) -> str:  # noqa: ARG004 - Skein's signature
        # Python keeps two slashes at the front of a path; to Skein they would begin a host.
        return path if "://" in path else f"file:///{path.lstrip('/')}"

    def to_protobuf(self) -> Any:
        message = super().to_protobuf()
        authority, slash, path = self.source.partition("://")[2].partition("/")
        # With what stands before an '@': of Azure's storage that is the container.
        message.source.host = _PORT.sub("", authority)
        message.source.file = slash + path
        return message
