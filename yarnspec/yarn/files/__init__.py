"""The files of the cluster: HDFS or local directories behind one protocol, and the shared list of blocked hosts.

This room must not know Skein, or ask the ResourceManager.
"""
