"""The journal of an epoch as the negotiator uses it: opened, written, read for the next driver.

This room decides when an answer to the driver is durable enough to be given. The room must not know the loop or the
driver's process.
"""
