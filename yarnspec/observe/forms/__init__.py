"""The forms of what others read: event log records, rows of tasks, the status document.

This room decides which fields each form has. The room must not know who writes or reads them.
"""
