"""Readers of what other programs keep: chats, memories, notes, graphs and tables."""
