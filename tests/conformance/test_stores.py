"""The shipped stores that need no server fulfil the contract, with no test skipped."""

from __future__ import annotations

from pathlib import Path

from memwarden.stores.jsonfile import JsonStore
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.protocol import Store
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.store_tests import StoreTests


class TestMemoryStore(StoreTests):
    def make_store(self, folder: Path) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreTests):
    def make_store(self, folder: Path) -> Store:
        return SqliteStore(folder / "memory.db")


class TestJsonStore(StoreTests):
    def make_store(self, folder: Path) -> Store:
        return JsonStore(folder / "memory")
