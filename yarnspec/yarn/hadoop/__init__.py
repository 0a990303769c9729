"""The user's Hadoop configuration, and small aids that the other rooms of yarnspec.yarn share.

This room decides which configuration files hold, and in which order. The room must not know any service of the cluster
by its protocol.
"""
