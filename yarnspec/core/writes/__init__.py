"""The writes of a program to files, over several driver epochs.

This room decides whether a write runs, is skipped or ends the application. It must not know shuffles, copies or how
files are moved.
"""
