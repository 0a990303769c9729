"""`make soak`: random applications with random faults, one for each seed, and what must hold for all of them."""
