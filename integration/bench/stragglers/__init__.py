"""How long jobs take with one slow host: without speculation, with Spark's, with yarnspec's, and without that host."""
