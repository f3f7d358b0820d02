"""Adapters for agent frameworks: a folder and an extra for each framework."""
