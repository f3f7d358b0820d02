"""The isolation tests of ``memwarden doctor --leaks``."""
