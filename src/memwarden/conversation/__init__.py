"""A turn: memories into the prompt, what was said into the store, around any model call (design C)."""
