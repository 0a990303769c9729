"""Tests of every room, without a JVM and without a network beyond this machine."""
