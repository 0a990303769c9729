"""The files of the cluster: HDFS or local directories behind one protocol, and the shared list of blocked hosts.

This room decides which file system a path is on, and which entries of the list count. The room must not know Skein, or
ask the ResourceManager.
"""
