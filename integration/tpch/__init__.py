"""TPC-H: its data, its 22 queries, and what they must give."""
