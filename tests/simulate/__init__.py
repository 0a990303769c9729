"""Tests of the simulator, and by it of the core."""
