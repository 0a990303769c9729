"""TPC-DS: its data, its 99 queries, and in which words Spark's dialect differs."""
