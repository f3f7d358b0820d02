"""Operational events: what was done, by which part, with what outcome."""
