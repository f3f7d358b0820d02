"""Protection of what is stored and of what reaches a prompt."""
