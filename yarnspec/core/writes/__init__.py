"""The writes of a program to files, over several driver epochs.

This room decides whether a write runs, is skipped or ends the application. The room must not know shuffles, copies or
how files are moved.
"""
