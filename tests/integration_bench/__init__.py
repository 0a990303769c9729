"""The pure parts of the benches."""
