"""How asynchronous work is run, shielded, limited in time and kept apart."""
