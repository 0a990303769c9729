"""The sources of events: threads that watch the provider, the driver, the ResourceManager and the cluster's list.

This room only tells what happened. The room must not know commands, the loop or the journal.
"""
