"""The verdicts after the fact, made from records: why a task was copied, what would have been found.

This room must not know a running negotiator.
"""
