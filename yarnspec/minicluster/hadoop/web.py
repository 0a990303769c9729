"""Answers of the cluster's web addresses: hosts as the ResourceManager sees them, and HDFS by WebHDFS."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

from yarnspec.minicluster.hadoop.configuration import user_name

_TIMEOUT_S = 5
_OK = range(200, 300)
_REDIRECT = 307


def nodes(rm_web_port: int) -> dict[str, dict[str, Any]] | None:
    """Return the ResourceManager's node reports by host, None when it does not answer.

    A host can have an old report besides its present one: the one that runs is the one that counts.
    """
    answer = _call("GET", f"http://127.0.0.1:{rm_web_port}/ws/v1/cluster/nodes")
    if answer is None or answer[0] not in _OK:
        return None
    listed = (json.loads(answer[1]).get("nodes") or {}).get("node") or []
    reports: dict[str, dict[str, Any]] = {}
    for report in sorted(listed, key=lambda each: each["state"] == "RUNNING"):
        reports[report["id"].rpartition(":")[0]] = report
    return reports


def running_hosts(rm_web_port: int) -> set[str]:
    """Return the hosts that the ResourceManager calls RUNNING."""
    return {host for host, report in (nodes(rm_web_port) or {}).items() if report["state"] == "RUNNING"}


def make_directory(name_node_web_port: int, path: str, permission: str) -> bool:
    """Make a directory in HDFS with exactly this mode; False when HDFS cannot do it yet."""
    for operation in (f"MKDIRS&permission={permission}", f"SETPERMISSION&permission={permission}"):
        answer = _call("PUT", _webhdfs(name_node_web_port, path, operation))
        if answer is None or answer[0] not in _OK:
            return False
    return True


def can_write(name_node_web_port: int) -> bool:
    """Write a small file into HDFS and remove it: only then is HDFS there, out of safe mode, with a place for data."""
    path = "/tmp/.yarnspec-minicluster-ready"  # noqa: S108 - in HDFS
    answer = _call("PUT", _webhdfs(name_node_web_port, path, "CREATE&overwrite=true"))
    if answer is None or answer[0] != _REDIRECT:
        return False
    written = _call("PUT", answer[2], b"ready")
    if written is None or written[0] not in _OK:
        return False
    _call("DELETE", _webhdfs(name_node_web_port, path, "DELETE"))
    return True


def _webhdfs(port: int, path: str, operation: str) -> str:
    return f"http://127.0.0.1:{port}/webhdfs/v1{quote(path)}?op={operation}&user.name={quote(user_name())}"


def _call(method: str, url: str, body: bytes | None = None) -> tuple[int, bytes, str] | None:
    """Return status, body and Location of the answer; None when there is none."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body, {"Accept": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("Location", "") or ""
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
