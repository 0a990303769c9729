"""The driver's processes in this container, one epoch after the other.

This room starts each driver and tells of its end; the core decides whether another follows. The room must not know the
loop.
"""
