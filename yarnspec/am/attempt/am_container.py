"""Where the negotiator runs: what YARN and Skein say about this AM container in its environment."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from yarnspec.errors import UsageError
from yarnspec.plan import HADOOP_CONF_DIRECTORY, HADOOP_CONF_JAR_FILE

_CONTAINER_ID = re.compile(r"container_(?:e\d+_)?(\d+)_(\d+)_(\d+)_(\d+)")


class AmContainer(msgspec.Struct, frozen=True, kw_only=True):
    """This AM container: who, where, which attempt, and its directories."""

    application_id: str
    attempt: int
    container_id: str
    host: str
    directory: Path
    log_directory: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], directory: Path) -> AmContainer:
        """Read YARN's variables.

        Raises:
            UsageError: this is not an AM container.
        """
        try:
            container_id = environment["CONTAINER_ID"]
            host = environment["NM_HOST"]
            log_directory = Path(environment["LOG_DIRS"].split(",")[0])
        except KeyError as missing:
            message = f"{missing} is not set: yarnspec.am runs in the AM container of an application only"
            raise UsageError(message) from missing
        found = _CONTAINER_ID.fullmatch(container_id)
        if found is None:
            message = f"CONTAINER_ID is {container_id!r}, which is not a container id"
            raise UsageError(message)
        return cls(
            application_id=f"application_{found[1]}_{found[2]}",
            attempt=int(found[3]),
            container_id=container_id,
            host=host,
            directory=directory,
            log_directory=log_directory,
        )

    def remove_credentials(self) -> None:
        """Take away what could command Skein's AM, the localized files behind the links included."""
        for name in (".skein.crt", ".skein.pem"):
            link = self.directory / name
            for path in (link.resolve(), link):
                path.unlink(missing_ok=True)

    def unpack_hadoop_configuration(self) -> Path:
        """The shipped Hadoop configuration as a directory, for what reads HADOOP_CONF_DIR."""
        target = self.directory / HADOOP_CONF_DIRECTORY
        with zipfile.ZipFile(self.directory / HADOOP_CONF_JAR_FILE) as jar:
            jar.extractall(target)
        return target
