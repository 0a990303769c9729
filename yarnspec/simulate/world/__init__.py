"""The simulation of one run: hosts, containers and a Spark in virtual time, and the rules that must hold.

This room decides what happens in a run and when, and whether a rule was broken. The room must not know a real process,
file or clock, nor the journal.
"""
