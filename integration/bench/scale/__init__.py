"""Hundreds of hosts and thousands of containers with a real ResourceManager: Skein with yarnspec, and Skein alone."""
