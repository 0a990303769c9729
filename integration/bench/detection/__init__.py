"""How well slow hosts are found: on recorded runs of real programs into which slow hosts are put, and on real ones."""
