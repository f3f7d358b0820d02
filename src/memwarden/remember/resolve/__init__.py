"""Resolution: whether a statement is known, new, or a new value of something known."""
