"""The store in one SQLite file: nothing but the standard ``sqlite3``, no extension."""

from memwarden.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
