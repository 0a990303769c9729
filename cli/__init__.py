"""The commands: arguments in, output out, and nothing else."""
