"""What a store refused is tried again later, until the proxy ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwarden.errors import NotKept, StoreUnavailable
from memwarden.surfaces.proxy import exchange


class ClosedScope:
    """A scope whose store answers a cancellation with an error, as one that is being closed does."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def observe(self, _messages: Any) -> None:
        self.asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise StoreUnavailable("the store is closed") from None


async def test_a_cancellation_ends_the_tries_although_the_store_swallows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "PAUSES", (0.0, 60.0))
    scope: Any = ClosedScope()
    trying = asyncio.create_task(exchange.store_later(scope, NotKept("not stored", [])))
    await scope.asked.wait()
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(trying, 30)
