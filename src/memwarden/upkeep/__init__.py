"""Upkeep: jobs that run beside the calls and keep memory clean."""
