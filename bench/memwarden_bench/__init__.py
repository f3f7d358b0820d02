"""Measure recall and speed through the public API, beside named peers: ``memwarden bench``."""
