"""The configuration files that yarnspec ships: every option with its default."""
