"""Programs of which the right result is known without Spark."""
