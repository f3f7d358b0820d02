"""Session memory: the last exchanges, their summary, and cached tool results."""
