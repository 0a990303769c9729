"""The journal: what the next driver needs of the former ones, on the cluster's file system.

::

    <history directory>/<application>/journal/epoch-<n>/log       the records of epoch n, in the order of writing
                                                        log.<k>   the same in pieces, where a store cannot append
                                                        sealed    how much of them counts; there when n is over for good
                                                        stopped   why n could not be recorded to its end

``docs/journal-format.md`` has the bytes. The AM writes, once for each driver epoch::

    directory = JournalDirectory(files, path)              # directory.py
    journal, past = directory.begin(began, on_stopped=…)   # began: EpochBegan; fences the former writers; blocks
    past.recorded                                          # core/journal/journalstate.py: what the past adds up to
    past.problem                                           # else why nothing of it may be used
    journal.append(record)                                 # writer.py: a detail, never blocks
    journal.append_durable(record)                         # a summary: a Future that is done when it is on disk
    journal.begin_close(); journal.close(deadline_s)

Readers call ``JournalDirectory.entries``, ``replay`` and ``verify``. The records are in
``core/journal/journalrecords.py``, the frames that the driver's JVM sends and takes in ``frames.py``.
"""
