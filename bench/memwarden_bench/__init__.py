"""Measures recall and speed of memwarden through its public API, beside named peers."""
