"""Runs scenarios of any size with the real core: the simulator as a tool.

This room simulates as ``world`` does, with structures for ten thousand hosts, and counts what came of it. It looks at
no rules, and must not know where a scenario was written.
"""
