"""How the one jar is built, found and packed."""
