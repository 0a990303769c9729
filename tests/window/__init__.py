"""Tests of yarnspec.window without Spark."""
