"""The shell in the AM container: it tells the core what happened and performs what the core commands."""
