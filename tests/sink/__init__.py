"""Tests of yarnspec.sink without Spark: the local file system is the real one."""
