"""The user's Hadoop configuration, and small aids that the other rooms of yarnspec.yarn share.

This room must not know any service of the cluster by its protocol.
"""
