"""The executors' side of Skein: which container is whose, and the placement file.

This room translates names and writes the file. The room must not know why a container is wanted.
"""
