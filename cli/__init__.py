"""The commands: this room decides how arguments are written and how answers are printed, and nothing else.

A command must not know Skein, Spark or Arrow, nor decide anything about an application.
"""
