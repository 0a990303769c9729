"""Measures yarnspec against stock spark-submit on the same mini cluster: `python -m integration.bench`."""
