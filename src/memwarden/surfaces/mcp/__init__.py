"""The Model Context Protocol: memory for desktop clients, IDEs and agents that speak it."""
