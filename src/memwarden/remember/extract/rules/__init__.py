"""What is kept of a conversation without a model: facts, candidates and an index card of each exchange.

Everything here is pure: turns in, items out, no store, no clock, no model. Facts are written for English only; in any
other language a conversation is kept word for word, with cards. ``docs/why/extraction.md`` has the figures.
"""
