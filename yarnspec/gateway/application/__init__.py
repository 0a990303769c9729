"""An application seen from outside: status, events, logs, explanations, its end.

This room decides whether the negotiator or the history answers. The room must not know how an application is submitted.
"""
