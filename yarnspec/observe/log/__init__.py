"""The event log, and the history directory in which it stays.

This room decides which records are kept in memory, and which directories are swept. The room must not know what a
record means.
"""
