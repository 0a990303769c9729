"""The machine under a mini cluster: Java, ports, processes, locks.

This room must not know Hadoop.
"""
