"""The end of an attempt: what is written, whether another attempt follows, how the process stops.

This room decides the order of the last steps. The room must not know how the driver is started.
"""
