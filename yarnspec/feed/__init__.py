"""Observations of stages and tasks as columns: from the running driver (Arrow batches), or from a Spark event log.

This room decides how a batch or a line is read. It must not know what the core concludes from it, nor who asked for it.
"""
