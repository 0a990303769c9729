"""What is done twice when the application master is killed, and what it costs to be prepared for that."""
