"""The status of an application, folded from its records, and its views as metrics and progress.

This room counts; it decides nothing. The room must not know where records are kept.
"""
