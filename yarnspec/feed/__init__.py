"""Where observations of stages and tasks come from: the running driver (Arrow batches), or a Spark event log."""
