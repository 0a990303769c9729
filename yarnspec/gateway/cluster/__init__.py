"""The access to a cluster: its ResourceManager, its files, its list of blocked hosts.

This room opens each part when it is first used. The room must not know submissions or applications' status.
"""
