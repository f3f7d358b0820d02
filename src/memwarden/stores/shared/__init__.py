"""Decisions and records that all engines share; nothing here does I/O."""
