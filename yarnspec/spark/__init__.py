"""Spark's side of an application: the driver as a child process, its bridge, the executors' launch script.

This room decides how Spark's processes are started and spoken to, and how programs mark their jobs. It must not know
Skein or YARN, nor why a command is given.
"""
