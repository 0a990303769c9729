"""What the outside can see of an application: its event log, status, REST, progress and history."""
