"""The files of an application: what the line names, what is packed, and what lies beside the program.

This room finds files on this machine and says how they travel. It must not ask the cluster.
"""
