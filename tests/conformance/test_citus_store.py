"""PostgreSQL with Citus on three nodes fulfils the contract, with no test skipped."""

from __future__ import annotations

import pytest
from test_postgres_store import TestPostgresStore as OnPostgres

# Over a minute, because every write goes over three nodes. The small form is tests/integration/test_citus.py.
pytestmark = pytest.mark.soak


class TestCitusStore(OnPostgres):
    @pytest.fixture(autouse=True)
    def _database(self, citus_url: str) -> None:
        self._url = citus_url
