"""The gateway: what happens on the machine of the user who submits, looks and kills."""
