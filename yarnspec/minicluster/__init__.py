"""A real YARN and HDFS on this machine, for tests, demonstrations and trying things out.

This room decides how the daemons are configured, started and ended. It must not know applications: no other package of
yarnspec but the jar and the errors.
"""

from yarnspec.minicluster.cluster import MiniCluster

__all__ = ["MiniCluster"]
