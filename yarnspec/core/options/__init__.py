"""Every option: its name, type, default, bounds and comment, declared here once, a class for each group.

A field's unit is the end of its name (``wait_timeout_ms``, ``skein_memory_mb``, ``journal_buffer_bytes``); the
option's name is what is before it. The text below a field is its comment. ``make docs`` renders conf/yarnspec.yaml and
docs/options.md from these classes; a detector declares its own options in its file (``core/detectors``). The core
gets the groups that it decides by as they are (``core/messages/settings.py``). ``yarnspec/options.py`` reads what users
write. This room decides nothing and must not know any other room.
"""
