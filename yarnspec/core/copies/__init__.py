"""The answer to slowness: block the slow host, copy the slow task, ask for a container for the copy.

This room decides what is done about a detector's verdicts, counts what came of it and explains it. The room must not
know saved outputs of earlier epochs.
"""
