"""The pure parts of the soak."""
