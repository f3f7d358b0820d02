"""The user context: what may change by itself, what waits for the person's word, and how that word is heard."""
