"""The pure parts of what runs TPC-DS."""
