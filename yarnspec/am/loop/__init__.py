"""The loop of the negotiator: events in, commands out, one at a time.

This room performs commands and answers REST; the core decides. The room must not know how the driver's process is
started or ended.
"""
