"""The simulation of drivers and application masters that die again and again over one journal.

This room decides when each dies, from a seed. The room must not know a real process, file or clock.
"""
