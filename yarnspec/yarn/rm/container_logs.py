"""A container's log files from the NodeManager it runs (or, without log aggregation, ran) on."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.errors import ClusterUnreachable, NotFound
from yarnspec.yarn.hadoop.closing import Closing
from yarnspec.yarn.hadoop.hadoop_conf import RmAddress
from yarnspec.yarn.rm.resource_manager import check_container_id
from yarnspec.yarn.rm.rest import RestClient

TIMEOUT_S = 10.0


class ContainerLogFile(msgspec.Struct, frozen=True):
    """One log file of a container and its size at the time of asking."""

    name: str
    size_bytes: int


class NodeManagerLogs(Closing):
    """The logs that one NodeManager has; ``http_address`` is its web address as the ResourceManager tells it."""

    def __init__(self, http_address: str, *, user: str, https: bool = False, timeout_s: float = TIMEOUT_S) -> None:
        url = http_address if "//" in http_address else f"{'https' if https else 'http'}://{http_address}"
        self._rest = RestClient((RmAddress("", url.rstrip("/")),), user=user, timeout_s=timeout_s, what="NodeManager")

    def close(self) -> None:
        """Close the connections."""
        self._rest.close()

    def files(self, container_id: str) -> tuple[ContainerLogFile, ...]:
        """The log files of a container; NotFound when this NodeManager has none (any more)."""
        document = self._rest.get(f"/ws/v1/node/containers/{check_container_id(container_id)}/logs")
        found: dict[str, int] = {}
        for part in _parts(document):
            for entry in part.get("containerLogInfo") or ():
                size = str(entry.get("fileSize", "0"))
                found[str(entry.get("fileName"))] = int(size) if size.isdigit() else 0
        return tuple(ContainerLogFile(name, size) for name, size in sorted(found.items()))

    def read(self, container_id: str, name: str, *, last_bytes: int | None = None) -> str:
        """A log file, or its last bytes."""
        if "/" in name or name in {"", ".", ".."}:
            raise NotFound(f"{name!r} is not the name of a log file.")
        parameters = {} if last_bytes is None else {"size": str(-last_bytes)}
        path = f"/ws/v1/node/containers/{check_container_id(container_id)}/logs/{name}"
        return content_of(self._rest.get_text(path, parameters), name)


def content_of(answer: str, name: str) -> str:
    """The file's own text out of the NodeManager's answer, which puts a head and a tail around it."""
    head, separator, rest = answer.partition("\nLogContents:\n")
    if not separator or "LogLength:" not in head:
        return answer
    return rest.rpartition(f"End of LogType:{name}")[0]


def _parts(document: Any) -> list[dict[str, Any]]:
    """The list (of one element per place that logs are in) inside whatever Hadoop wraps it in."""
    if isinstance(document, dict):
        for key in ("containerLogsInfo", "containerLogsInfoes"):
            if key in document:
                return _parts(document[key])
        return [document]
    if isinstance(document, list):
        return [part for item in document for part in _parts(item)]
    raise ClusterUnreachable("The NodeManager's answer about log files is not what Hadoop 3 sends.")
