"""The daemons of a mini cluster: their jars, configuration, start, addresses and scripts.

This room decides with which settings and on which ports each daemon runs. The room must not know the cluster's life as
a whole: which daemon starts when.
"""
