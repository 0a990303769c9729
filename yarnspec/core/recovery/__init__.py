"""The work that an epoch saves, and what the next epoch takes over of it.

This room decides which shuffles are used again, which hosts are waited for, and what the next application master gets.
The room must not know how a record reaches the disk.
"""
