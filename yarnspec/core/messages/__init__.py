"""The words of the core: settings, events and observations come in, commands go out.

This room decides nothing. The wish for a timer and the guard around an aid are here too, because every room needs them.
The room must not know who sends or handles a message.
"""
