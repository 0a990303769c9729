"""The records of the journal, and what they add up to.

This room decides which records a shorter journal must keep, and whether an epoch came too late for kept work.
The room must not know events, commands, or how bytes reach a disk.
"""
