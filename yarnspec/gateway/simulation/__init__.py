"""Scenarios of the simulator as users write them: files, recorded jobs, and other settings beside the shipped ones.

This room reads and writes scenarios; ``yarnspec.simulate`` runs them. It must not know a cluster.
"""
