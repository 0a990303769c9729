"""Tests, demo and programs that need a real YARN cluster: they start one on this machine."""
