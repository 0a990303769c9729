"""Writes a journal until it is killed; says on stdout which record is durable, each on a line, once it is."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.journal.world import AT_ONCE, begin, directory_in, finished, registered

journal = begin(directory_in(Path(sys.argv[1])), int(sys.argv[2]), AT_ONCE._replace(buffer_bytes=3_000))
for shuffle in range(1_000_000):
    future = journal.append_durable(registered(shuffle))
    for index in range(20):
        journal.append(finished(shuffle, index))
    future.add_done_callback(lambda done: print(done.result(), flush=True))
    if shuffle % 3 == 0:
        future.result()
