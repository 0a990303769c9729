"""The phases of an attempt, and the lives of its driver and executors.

This room decides when the application starts, waits, restarts its driver or ends. The room must not know slow tasks or
saved work.
"""
