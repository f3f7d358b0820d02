"""The store in a SQLite file, through the standard ``sqlite3`` without extensions."""

from memwarden.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
