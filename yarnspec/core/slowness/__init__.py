"""The evidence of slowness: what tasks usually take, how far they are, how fast each host is.

This room measures and weighs. The room must not know what is done about a slow task or host: no blocks, no copies.
"""
