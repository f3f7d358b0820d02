"""Large namespaces on three nodes of Citus: what holds on one PostgreSQL, and every statement is a task of one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from test_postgres_large_past import (  # noqa: F401
    story,
    test_memories_of_the_past_are_listed_without_the_whole_namespace,
    test_the_past_is_that_of_a_small_namespace,
    test_the_searched_past_keeps_allowlists_and_filters,
)
from test_postgres_large_tiers import test_tiers_are_read_in_part  # noqa: F401
from test_postgres_search import *  # noqa: F403
from test_postgres_search import HERE, fill, larges, made_ready, opened

from memwarden.stores.postgres import transaction
from memwarden.testing import get_runtime
from memwarden_bench.citus_cluster import CitusCluster

# Over two minutes, because tests make databases of three nodes. The small form is in tests/integration/test_citus.py.
pytestmark = pytest.mark.soak


@pytest.fixture(scope="session")
def new_database(citus: CitusCluster) -> Callable[[], str]:
    return citus.new_database


@pytest.fixture(autouse=True, scope="module")
def _forbid_several_tasks() -> Iterator[None]:
    name_scope = transaction.set_names

    def set_names(connection: psycopg.Connection[Any], tenant: str | None, path: str | None) -> None:
        name_scope(connection, tenant, path)
        connection.execute(f"SET LOCAL citus.multi_task_query_log_level = {'error' if path else 'off'}".encode())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "set_names", set_names)
        yield


async def test_a_large_namespace_of_one_server_is_searched_after_it_is_distributed(citus: CitusCluster) -> None:
    url = citus.new_database(citus=False)
    async with opened(url, above=100) as warden:
        await fill(warden, 120)
        await made_ready(warden)
    citus.install(urlsplit(url).path[1:])
    async with opened(url, above=100) as warden:
        await warden.scope(user="ana").remember("Wilma keeps axolotls behind the lighthouse.")
        found = await warden.scope(user="ana").query("What does Wilma keep?")
        assert "axolotls" in found.text
        assert get_runtime(warden).services.indexes.held(HERE) is None
    with psycopg.connect(url) as db:
        assert db.execute("SELECT count(*) FROM memwarden.vectors").fetchone() == (121,)


async def test_a_cluster_that_does_not_let_the_searching_role_in_answers_from_memory_and_says_so(
    citus: CitusCluster, caplog: pytest.LogCaptureFixture
) -> None:
    url = citus.new_database()
    async with opened(url, above=10**6) as warden:
        await fill(warden, 120)
    for right, is_searched in (("NOLOGIN", False), ("LOGIN", True)):
        for node in citus.nodes:
            with psycopg.connect(node.url(), autocommit=True) as db:
                db.execute(f"ALTER ROLE memwarden_search {right}".encode())
        async with opened(url, above=100) as warden:
            await warden.scope(user="ana").query("What about the canoe?")
            await larges(warden).wait_idle()
            assert (await warden.scope(user="ana").query("Who has a canoe?", threshold=0)).items
            assert (await larges(warden).ready(HERE) is not None) == is_searched
    assert "cannot log in" in caplog.text
