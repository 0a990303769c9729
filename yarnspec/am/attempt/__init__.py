"""The facts about this attempt: where it runs, its program, options and epochs, what was left, where it can be asked.

This room decides nothing about the application. The room must not know the loop, the journal or the driver.
"""
