"""Decisions and records that all engines share. Nothing here does I/O."""
