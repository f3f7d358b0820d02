"""Rows, filters and errors of the PostgreSQL store as SQL."""
