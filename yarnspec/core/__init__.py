"""The decisions of yarnspec, pure: events in, commands out, no IO and no clock."""
