"""The decisions of yarnspec: the core takes events and answers with commands.

The rooms, from the top: negotiator, recovery, copies and writes, detectors and faults, slowness and lifecycle,
containers, tasks and blocking, messages, journal and options. A room imports only from rooms below it (``setup.cfg``
holds this). No room knows a clock, a thread, a file, a socket or another package of yarnspec.
"""
