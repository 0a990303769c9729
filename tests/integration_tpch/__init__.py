"""The pure parts of what compares queries' results."""
