"""The verdicts after the fact, made from records: why a task was copied, what would have been found.

This room decides nothing new: it shows records to the core's own detectors. It merges like verdicts. The room must not
know a running negotiator.
"""
