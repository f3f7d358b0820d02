"""Extracts facts, candidates and index cards from exchanges by rules, without a model.

Everything here is pure: turns in, items out, no store, no clock, no model. Facts are written for English only; in any
other language a conversation is kept word for word, with cards. ``docs/why/extraction.md`` has the figures.
"""
