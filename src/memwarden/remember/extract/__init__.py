"""Extraction: what of a conversation is worth keeping, by rules or by a model."""
