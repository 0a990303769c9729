"""The table of stages, task attempts and running jobs, as columns.

This room decides which attempt stands for its task. The room must not know what is slow, or what is done about it.
"""
