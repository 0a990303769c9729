"""A running mini cluster as the tests see it: through YARN's and HDFS's own REST, never through yarnspec's code."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.error
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from integration.processes import ContainerProcess, container_processes
from yarnspec.minicluster import MiniCluster
from yarnspec.minicluster.hadoop.configuration import user_name

REST_TIMEOUT_S = 10
COMMAND_TIMEOUT_S = 60
STARTED = re.compile(r"Start request for (container_\w+)")


class Cluster:
    """One mini cluster; `mini` starts and stops its daemons."""

    def __init__(self, mini: MiniCluster, environment: Mapping[str, str]) -> None:
        self.mini = mini
        self.home = mini.home.root
        self.hosts = mini.hosts
        self.environment = {**environment, **mini.env()}
        self.user = user_name()
        self._former_staging: frozenset[str] = frozenset()
        self._hdfs_url = (
            f"http://{_site_value(mini.home.conf / 'hdfs-site.xml', 'dfs.namenode.http-address')}/webhdfs/v1"
        )

    # -- YARN ----------------------------------------------------------------------------------------------------------

    def rest(self, path: str) -> dict[str, Any]:
        """The ResourceManager's answer to GET /ws/v1/cluster/<path>; {} while it does not answer or knows nothing."""
        return _get_json(f"{self.mini.rm_url}/ws/v1/cluster/{path}")

    def applications(self, *states: str) -> list[dict[str, Any]]:
        """The ResourceManager's applications in these states (all without)."""
        query = f"?states={','.join(states)}" if states else ""
        apps = self.rest(f"apps{query}").get("apps") or {}
        return cast("list[dict[str, Any]]", apps.get("app") or [])

    def application(self, application_id: str) -> dict[str, Any]:
        """What the ResourceManager says of one application."""
        return cast("dict[str, Any]", self.rest(f"apps/{application_id}").get("app") or {})

    def application_named(self, name: str) -> str | None:
        """The id of the application with this name."""
        return next((str(app["id"]) for app in self.applications() if app["name"] == name), None)

    def attempts(self, application_id: str) -> list[dict[str, Any]]:
        """The application's attempts, each with `containerId` (the AM's) and `nodeId`."""
        found = (self.rest(f"apps/{application_id}/appattempts").get("appAttempts") or {}).get("appAttempt") or []
        return sorted(found, key=lambda attempt: int(attempt["id"]))

    def executors(self, application_id: str) -> dict[str, str]:
        """Container id → host of what runs now, without the AM's; empty until it is known which one that is."""
        masters = [attempt.get("containerId") for attempt in self.attempts(application_id)]
        if not masters or not all(masters):
            return {}
        return {one: host for one, host in self.containers(application_id).items() if one not in masters}

    def containers(self, application_id: str) -> dict[str, str]:
        """Container id → host of everything that the ResourceManager lets this application run now, the AM included."""
        found: dict[str, str] = {}
        for attempt in self.attempts(application_id):
            attempt_id = attempt.get("appAttemptId") or _attempt_id(application_id, int(attempt["id"]))
            listed = self.rest(f"apps/{application_id}/appattempts/{attempt_id}/containers").get("container") or []
            for container in listed if isinstance(listed, list) else [listed]:
                node = container.get("assignedNodeId") or container.get("nodeId") or ""
                found[container["containerId"]] = node.partition(":")[0]
        return found

    def blacklist(self, application_id: str) -> set[str]:
        """The hosts on the blacklist of the application's newest attempt."""
        told = self.attempts(application_id)[-1].get("blacklistedNodes") or ""
        return {host for host in str(told).replace(",", " ").split() if host}

    def launched(self, application_id: str) -> dict[str, str]:
        """Container id → host of every container that a NodeManager was ever told to start, by the hosts' own logs."""
        middle = application_id.removeprefix("application_")
        return {
            container: host
            for host in self.hosts
            for container in STARTED.findall(self.mini.home.log(f"nodemanager-{host}").read_text(errors="replace"))
            if f"_{middle}_" in container
        }

    def allocated(self, application_id: str) -> dict[str, int]:
        """Container id → when it was allocated, in milliseconds, of the containers of the newest attempt that run."""
        attempt_id = _attempt_id(application_id, int(self.attempts(application_id)[-1]["id"]))
        listed = self.rest(f"apps/{application_id}/appattempts/{attempt_id}/containers").get("container") or []
        return {one["containerId"]: int(one["startedTime"]) for one in listed}

    def node_states(self) -> dict[str, str]:
        """Host → state, as the ResourceManager sees it; the running one of several reports counts."""
        listed = (self.rest("nodes").get("nodes") or {}).get("node") or []
        states: dict[str, str] = {}
        for node in listed:
            host = str(node["id"]).partition(":")[0]
            if states.get(host) != "RUNNING":
                states[host] = str(node["state"])
        return states

    def processes(self, application_id: str | None = None) -> list[ContainerProcess]:
        """The processes in containers of this cluster (of one application)."""
        return container_processes(application_id, None if application_id else self.home)

    def container_log_texts(self, application_id: str) -> dict[Path, str]:
        """Every file in the log directories of an application's containers, while they are still on the hosts."""
        found = {}
        for path in self.home.glob(f"hosts/*/logs/{application_id}/*/*"):
            if path.is_file():
                found[path] = path.read_text(errors="replace")
        return found

    # -- HDFS ----------------------------------------------------------------------------------------------------------

    def hdfs_list(self, path: str) -> list[str]:
        """The names in a directory of HDFS; none when there is no such directory."""
        return [status["pathSuffix"] for status in self.hdfs_statuses(path)]

    def hdfs_statuses(self, path: str) -> list[dict[str, Any]]:
        """What HDFS says of everything in a directory (`owner`, `modificationTime`, `permission`, …)."""
        listed = _get_json(f"{self._hdfs_url}{quote(path)}?op=LISTSTATUS&user.name={self.user}")
        return cast("list[dict[str, Any]]", (listed.get("FileStatuses") or {}).get("FileStatus") or [])

    def hdfs_status(self, path: str) -> dict[str, Any]:
        """What HDFS says of one file (`modificationTime`, `permission`, …); {} when there is none."""
        answer = _get_json(f"{self._hdfs_url}{quote(path)}?op=GETFILESTATUS&user.name={self.user}")
        return cast("dict[str, Any]", answer.get("FileStatus") or {})

    def hdfs_read(self, path: str) -> bytes:
        """The content of a file in HDFS."""
        return self._hdfs("GET", path, op="OPEN")

    def hdfs_truncate(self, path: str, size_bytes: int) -> bool:
        """Cut a file; False when HDFS still has to cut its last block."""
        return bool(json.loads(self._hdfs("POST", path, op="TRUNCATE", newlength=str(size_bytes)))["boolean"])

    def hdfs_mkdir(self, path: str, owner: str = "") -> None:
        """Make a directory in HDFS, and those above it; ``owner``: whose it is to be."""
        self._hdfs("PUT", path, op="MKDIRS")
        if owner:
            self._hdfs("PUT", path, op="SETOWNER", owner=owner)

    def hdfs_write(self, path: str, data: bytes, user: str = "") -> None:
        """Write a file of HDFS as some user."""
        where = json.loads(self._hdfs("PUT", path, user, op="CREATE", overwrite="true", noredirect="true"))["Location"]
        request = urllib.request.Request(where, data, method="PUT")  # noqa: S310 - our own DataNode
        urllib.request.urlopen(request, timeout=REST_TIMEOUT_S).close()  # noqa: S310

    def hdfs_rename(self, path: str, target: str) -> None:
        """Rename a file or directory of HDFS."""
        assert json.loads(self._hdfs("PUT", path, op="RENAME", destination=target))["boolean"], path

    def hdfs_delete(self, path: str, user: str = "") -> None:
        """Delete a file or directory of HDFS as some user."""
        assert json.loads(self._hdfs("DELETE", path, user, op="DELETE", recursive="true"))["boolean"], path

    def hdfs_put(self, local: Path, target: str) -> str:
        """Upload a directory or file and return its URI."""
        self.command("hdfs", "dfs", "-mkdir", "-p", target.rpartition("/")[0] or "/")
        self.command("hdfs", "dfs", "-put", "-f", str(local), target)
        return f"{self.mini.default_fs}{target}"

    def _hdfs(self, method: str, path: str, user: str = "", **query: str) -> bytes:
        url = f"{self._hdfs_url}{quote(path)}?{urlencode({**query, 'user.name': user or self.user})}"
        request = urllib.request.Request(url, method=method)  # noqa: S310 - our own NameNode
        with urllib.request.urlopen(request, timeout=REST_TIMEOUT_S) as answer:  # noqa: S310
            return cast("bytes", answer.read())

    def forget_former_staging(self) -> None:
        """Leave out of `staging` what lies there now: what a former life of this cluster left."""
        self._former_staging = frozenset(self.staging)

    @property
    def staging(self) -> list[str]:
        """What lies in Skein's staging directory of this user."""
        names = self.hdfs_list(f"/user/{self.user}/.skein")
        return [name for name in names if name.startswith("application_") and name not in self._former_staging]

    def command(self, *arguments: str) -> str:
        """Run one of the cluster's commands (`yarn`, `hdfs`) and return its stdout."""
        done = subprocess.run(
            [str(self.mini.home.bin / arguments[0]), *arguments[1:]],
            env=self.environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
        return done.stdout


def _attempt_id(application_id: str, number: int) -> str:
    return f"appattempt_{application_id.removeprefix('application_')}_{number:06d}"


def _site_value(path: Path, key: str) -> str:
    for entry in ET.parse(path).getroot():  # noqa: S314 - a file that the mini cluster has just written
        if entry.findtext("name") == key:
            return entry.findtext("value") or ""
    raise KeyError(key)


def _get_json(url: str) -> dict[str, Any]:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - our own cluster
    try:
        with urllib.request.urlopen(request, timeout=REST_TIMEOUT_S) as answer:  # noqa: S310
            document = json.load(answer)
    except (urllib.error.URLError, TimeoutError, ConnectionError, ValueError):
        return {}
    return document if isinstance(document, dict) else {"container": document}
