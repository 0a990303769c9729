"""The shell in the AM container: it tells the core what happened and performs what the core commands.

This room decides when things are done and in which thread. It must not decide what is done, and must not know the
gateway, nor import Skein, Spark or Arrow itself.
"""
