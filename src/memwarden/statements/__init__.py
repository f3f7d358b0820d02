"""Typed statements: who has which value of which attribute, read from what was said, and what a question asks for."""
