"""A real YARN and HDFS on this machine, for tests, demonstrations and trying things out."""

from yarnspec.minicluster.cluster import MiniCluster

__all__ = ["MiniCluster"]
