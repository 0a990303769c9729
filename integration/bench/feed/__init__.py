"""How fast the feed is, and that it tells everything: `python -m integration.bench feed`."""
