"""The access to the cluster that HADOOP_CONF_DIR names, for commands about applications. Parts open at first use."""

from __future__ import annotations

import os
from functools import cached_property

from yarnspec.observe.log.history import History
from yarnspec.options import Options
from yarnspec.spark.runtime import conf_directory
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks
from yarnspec.yarn.files.cluster_files import Files, open_files, path_of
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.hadoop.option_files import load_options
from yarnspec.yarn.rm.resource_manager import ResourceManager


def hadoop_conf() -> HadoopConf:
    """The Hadoop configuration of ``HADOOP_CONF_DIR``, and before it that of Spark's configuration directory."""
    return HadoopConf.read(sparks=conf_directory(os.environ))


class Cluster:
    """The ResourceManager, the file system and the history of one cluster, as one user sees them."""

    def __init__(self, conf: HadoopConf, settings: Options) -> None:
        self.conf = conf
        self.options = settings

    @classmethod
    def from_environment(cls, settings: Options | None = None) -> Cluster:
        """The cluster of ``HADOOP_CONF_DIR``; without ``settings``, the options that hold on this machine."""
        return cls(hadoop_conf(), settings or load_options().options)

    def close(self) -> None:
        """Close the connections; they are opened again when needed."""
        rm = self.__dict__.pop("rm", None)
        if rm is not None:
            rm.close()

    def again(self) -> Cluster:
        """Another access to this cluster for the same user, with connections of its own."""
        return Cluster(self.conf, self.options)

    def acting_for(self, user: str) -> Cluster:
        """This cluster as another user sees it.

        Raises:
            NotAllowed: the ResourceManager does not let this user act for that one.
        """
        other = Cluster(self.conf.acting_for(user), self.options)
        other.rm.cluster()
        return other

    @property
    def user(self) -> str:
        """Whose applications, files and history are meant."""
        return self.conf.user

    @property
    def login(self) -> str:
        """The user who asks: not ``user`` when this one acts for another."""
        return self.conf.login

    @property
    def environ(self) -> dict[str, str]:
        """The environment for Hadoop's own commands."""
        return self.conf.environ

    @cached_property
    def rm(self) -> ResourceManager:
        """Its ResourceManager."""
        return ResourceManager.from_conf(self.conf, timeout_s=self._timeout_s)

    @cached_property
    def files(self) -> Files:
        """Its default file system."""
        return open_files(self.conf, timeout_s=self._timeout_s)

    @cached_property
    def history(self) -> History:
        """Its history directory."""
        return History(self.history_files, history_path(self.options.history.directory, self.history_files.home))

    @cached_property
    def history_files(self) -> Files:
        """The file system that the history is on."""
        directory = self.options.history.directory
        return open_files(self.conf, directory, timeout_s=self._timeout_s) if "://" in directory else self.files

    def shared_blocks(self, location: str) -> ClusterBlocks | None:
        """The list of blocked hosts that all applications share; None when ``location`` says that there is none."""
        return ClusterBlocks.of(self.conf, location, timeout_s=self._timeout_s)

    @property
    def node_scheme(self) -> str:
        """``http`` or ``https``, for the NodeManagers' pages."""
        return "https" if self.conf.get("yarn.http.policy") == "HTTPS_ONLY" else "http"

    @property
    def _timeout_s(self) -> float:
        return self.options.cluster.connect_timeout_ms / 1000


def history_path(directory: str, home: str) -> str:
    """The path that the option ``history.directory`` means; ``~`` is the user's home."""
    path = path_of(directory)
    return f"{home.rstrip('/')}{path[1:]}" if path == "~" or path.startswith("~/") else path
