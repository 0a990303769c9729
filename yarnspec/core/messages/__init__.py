"""The words of the core: settings, events and observations come in, commands go out.

This room decides nothing. It also keeps what every room needs to speak: the wish for a timer and the guard around an
aid. The room must not know who sends or handles a message.
"""
