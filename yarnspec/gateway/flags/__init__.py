"""The wishes of a user: flags, properties files and environment variables, merged in Spark's order.

This room decides which of several values wins. The room must not know what a value means on the cluster.
"""
