"""Measures what the jobs of upkeep do over a year, to calls beside them, to duplicates and to vectors."""
