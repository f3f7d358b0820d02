"""Binds an adapter to a warden or scope, blocking or async, callable from either side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from memwarden.api.blocking import BoundScope, Warden
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.concurrency.loop import Loop
from memwarden.errors import InvalidInput
from memwarden.records import Scope
from memwarden.runtime import Runtime

R = TypeVar("R")
AnyWarden = Warden | AsyncWarden | BoundScope | AsyncScope


class StoreBinding:
    """A warden's runtime, the scope's identity, and the event loop of its store.

    Args:
        warden: a warden, which stands for its default user in the default tenant, or a scope.

    A blocking warden has a loop of its own. The loop of an async warden is the loop that runs when this is made, or
    when it is first awaited.

    Raises InvalidInput for anything else.
    """

    def __init__(self, warden: AnyWarden) -> None:
        self._own: Loop | None = None
        given: Any = warden
        if isinstance(warden, Warden | BoundScope):
            # The blocking twins are facades: what is bound is the async object inside, on its own loop.
            self._own, given = warden._loop, warden._inner
        if not isinstance(given, AsyncWarden | AsyncScope):
            raise InvalidInput(f"give a Warden, an AsyncWarden or a scope, not {warden!r:.80}")
        self.parts: Runtime = given._parts
        self.who: Scope = given.who if isinstance(given, AsyncScope) else Scope()
        self._home: asyncio.AbstractEventLoop | None = None
        if self._own is None:
            self._settle(_running())

    @property
    def blocking(self) -> bool:
        """Whether the warden is blocking."""
        return self._own is not None

    @property
    def over(self) -> bool:
        """Whether the warden was closed."""
        return self.parts.closed if self._own is None else self._own.over

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the store's loop and wait for it, in a thread that is not the loop's.

        Raises asyncio.InvalidStateError on the loop itself, which would wait for itself.
        """
        if self._own is not None:
            return self._own.run(coroutine)
        # Waiting on the loop for a call that the loop has to run would never end.
        if self._home is None or self._home is _running() or not self._home.is_running():
            # Else Python warns later, somewhere else, that it was never awaited.
            coroutine.close()
            raise asyncio.InvalidStateError(
                "a blocking call over an AsyncWarden is made in another thread than its event loop's; here await the "
                "async method (aget, aput, asearch, ...), or use Warden"
            )
        return asyncio.run_coroutine_threadsafe(coroutine, self._home).result()

    async def wait(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the store's loop and wait for it on whatever loop runs here."""
        if self._own is not None:
            return await self._own.wait(coroutine)
        running = asyncio.get_running_loop()
        self._settle(running)
        if self._home is running or self._home is None:
            return await coroutine
        # Frameworks run nodes on loops of their own; the store is bound to the warden's.
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._home))

    def _settle(self, running: asyncio.AbstractEventLoop | None) -> None:
        """Adopt the running loop as the warden's, unless a living loop is already known."""
        if running is not None and (self._home is None or self._home.is_closed()):
            self._home = running


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
