"""The blocks: of hosts, executors and tasks, and of the cluster's shared list.

This room decides which blocks hold, until when, and how many hosts may be blocked. The room must not know why a host is
slow or faulty: whoever asks for a block gives the reason.
"""
