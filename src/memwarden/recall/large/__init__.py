"""Recall in namespaces that are too large to be held in RAM."""
