"""A standby takes over from a killed primary, and an open store goes on with it."""

from __future__ import annotations

import asyncio

import pytest

from memwarden.stores.postgres import PostgresStore
from memwarden.testing.examples import NAMESPACE, a_batch, a_put
from memwarden_bench.standby import start_pair

# Two servers, a copy of one of them, and a promotion: ten seconds for each case.
pytestmark = pytest.mark.soak

WRITES = 40


@pytest.mark.parametrize("key", [None, "once"], ids=["without a key", "with a key"])
async def test_an_open_store_goes_on_with_the_standby(key: str | None) -> None:
    with start_pair() as servers:
        store = PostgresStore(servers.url, connect_seconds=60)
        await store.open()
        await asyncio.gather(*(store.apply(a_batch(a_put(f"m{number}"))) for number in range(WRITES)))
        await asyncio.to_thread(servers.primary.kill)
        writing = asyncio.create_task(store.apply(a_batch(a_put("after"), key=key)))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(servers.promote)
        await writing
        found = {memory.id for memory in await store.find(NAMESPACE)}
        await store.close()
    assert found == {"after", *(f"m{number}" for number in range(WRITES))}
