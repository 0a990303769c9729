"""PySpark programs that the tests and the demo submit; each is a plain program that knows nothing of yarnspec."""
