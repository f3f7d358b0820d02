"""Hooks of coding agents: a project remembers decisions, conventions and failures without a server."""
