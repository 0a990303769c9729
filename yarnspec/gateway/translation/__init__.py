"""The translation of a spark-submit line into properties, files, sizes and environments.

This room decides what each flag and property becomes. The room must not ask the cluster.
"""
