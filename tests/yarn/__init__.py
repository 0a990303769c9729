"""Tests of the way to YARN, HDFS and Skein."""
