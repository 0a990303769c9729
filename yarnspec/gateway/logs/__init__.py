"""The logs of an application's containers, wherever they are now.

This room decides whether a NodeManager or the aggregated logs are asked. The room must not know the application's
status.
"""
