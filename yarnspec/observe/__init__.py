"""The outside's view of an application: its event log, status, REST, progress and history."""
