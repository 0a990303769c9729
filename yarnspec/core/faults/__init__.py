"""The faulty hosts: tasks or executors die there and live elsewhere.

This room decides when failures on a host justify a block. The room must not know slow tasks or copies.
"""
