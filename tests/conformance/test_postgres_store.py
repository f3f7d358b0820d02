"""PostgreSQL fulfils the contract, with no test skipped."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from memwarden.stores.postgres import PostgresStore
from memwarden.stores.protocol import Store
from memwarden.testing.examples import NAMESPACE, OTHER_TENANT, OTHER_USER, a_batch, a_put
from memwarden.testing.store_tests import StoreTests


class TestPostgresStore(StoreTests):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_url: str) -> None:
        self._url = postgres_url

    def make_store(self, folder: Path) -> Store:
        return PostgresStore(self._url)

    async def test_rows_enforced_is_shown_by_the_backend(self, store: Store) -> None:
        assert store.promises.rows_enforced
        for namespace in (NAMESPACE, OTHER_USER, OTHER_TENANT):
            await store.apply(a_batch(a_put("a", namespace=namespace), namespace=namespace))
        with psycopg.connect(self._url) as db:
            db.execute("SET LOCAL ROLE memwarden_app")
            db.execute("SET LOCAL citus.propagate_set_commands = 'local'")  # without Citus nothing reads it
            db.execute(f"SET LOCAL memwarden.tenant = '{NAMESPACE.tenant}'".encode())
            db.execute(f"SET LOCAL memwarden.namespace = '{NAMESPACE.path}'".encode())
            seen = db.execute("SELECT tenant, namespace FROM memwarden.memories").fetchall()
        assert seen == [(NAMESPACE.tenant, NAMESPACE.path)]
