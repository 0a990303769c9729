"""The simulation of one run: hosts, containers and a Spark in virtual time, and the rules that must hold.

This room must not know a real process, file or clock, nor the journal.
"""
