"""The outside's view of an application: its event log, status, REST, page, progress and history.

This room decides how records are folded into documents and drawn. It must not know YARN, Spark, or who serves or prints
the documents.
"""
