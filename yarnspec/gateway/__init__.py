"""The gateway: what happens on the machine of the user who submits, looks and kills.

This room decides what a submit ships and asks of YARN, and where an application is found afterwards. It must not know
the AM's shell, nor how a command prints.
"""
