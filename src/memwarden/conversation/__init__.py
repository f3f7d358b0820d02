"""Runs a model call as a turn: memories go into the prompt, the words said go into the store."""
