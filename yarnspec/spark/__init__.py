"""Spark's side of an application: the driver as a child process, its bridge, the executors' launch script."""
