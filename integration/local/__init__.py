"""Tests with real JVMs of Spark and without YARN."""
