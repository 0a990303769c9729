"""The phases of an attempt, and the epochs of its driver, and the ends of executors.

This room decides when the application starts, waits, restarts its driver or ends. The room must not know slow tasks or
saved outputs.
"""
