"""The machine under a mini cluster: Java, ports, processes, locks.

This room decides which Java and which free ports are taken, and which processes are ours to end. The room must not know
Hadoop.
"""
