"""Binds an adapter to a warden or scope, blocking or async, callable from either side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from memwarden.api.blocking import BoundScope, Warden
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.concurrency.loop import Loop
from memwarden.conversation.formats.reading import field
from memwarden.errors import InvalidInput
from memwarden.records import Namespace, Scope
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime.services import Runtime

R = TypeVar("R")
AnyWarden = Warden | AsyncWarden | BoundScope | AsyncScope


class StoreBinding:
    """A warden's runtime, the scope's identity, and the event loop of its store.

    Args:
        warden: a warden, which stands for its default user in the default tenant, or a scope.
        user_from: the name under ``configurable`` of a run's config that says whose the call is. None: the scope's.

    A blocking warden has a loop of its own. The loop of an async warden is the loop that runs when this is made, or
    when it is first awaited.

    Raises InvalidInput for anything else.
    """

    def __init__(self, warden: AnyWarden, user_from: str | None = None) -> None:
        self.user_from = checked_name(user_from, "user_from")
        self._own: Loop | None = None
        given: Any = warden
        if isinstance(warden, Warden | BoundScope):
            # The blocking twins are facades: what is bound is the async object inside, on its own loop.
            self._own, given = warden._loop, warden._inner
        if not isinstance(given, AsyncWarden | AsyncScope):
            raise InvalidInput(f"give a Warden, an AsyncWarden or a scope, not {warden!r:.80}")
        self.runtime: Runtime = given._runtime
        self.who: Scope = given.who if isinstance(given, AsyncScope) else Scope()
        self._home: asyncio.AbstractEventLoop | None = None
        if self._own is None:
            self._settle(_running())

    def for_user(self, user: str) -> StoreBinding:
        """Return the same binding for a user, whatever a config says."""
        name = checked_name(user, "user")
        if name is None:
            raise InvalidInput("user is a text, not None")
        bound = copy(self)
        bound.user_from, bound.who = None, replace(self.who, user=name)
        return bound

    def namespace(self, config: Mapping[str, Any] | None = None) -> Namespace:
        """Return where a call reads and writes.

        config: of the run; None: of the run that is under way here. Raises InvalidInput when it names no user.
        """
        if self.user_from is None:
            return self.who.namespace
        user = self._user_of(_running_config() if config is None else config, ", or call for_user(...)")
        return replace(self.who, user=user).namespace

    def scope(self, config: Mapping[str, Any], context: Any = None) -> AsyncScope:
        """Return the verbs bound to the user and the thread of a run.

        Args:
            config: of the run. ``thread_id`` under ``configurable`` is the thread; without it the scope's.
            context: of the run, a mapping or an object. It may name the user as well.

        Raises InvalidInput when ``user_from`` is given and neither names the user.
        """
        thread = (config.get("configurable") or {}).get("thread_id")
        user = self.who.user if self.user_from is None else self._user_of(config, "", context)
        return self._scope(user, thread)

    def scope_of_run(self, source: Any, thread: str | None, what: str) -> AsyncScope:
        """Return the verbs bound to the user that a run's mapping or object names, in a thread.

        thread: None for the scope's. what: name of the source, for errors. Raises InvalidInput if it names no user.
        """
        if self.user_from is None:
            return self._scope(self.who.user, thread)
        named = field(source, self.user_from)
        user = checked_name(None if named is None else str(named), self.user_from)
        if user is None:
            raise InvalidInput(f"{what} of this run names no user; give it {self.user_from!r}")
        return self._scope(user, thread)

    def _scope(self, user: str, thread: Any) -> AsyncScope:
        named = self.who.thread if thread is None else checked_name(str(thread), "thread_id")
        return AsyncScope(self.runtime, replace(self.who, user=user, thread=named))

    def _user_of(self, config: Mapping[str, Any], otherwise: str, context: Any = None) -> str:
        assert self.user_from is not None
        named = (config.get("configurable") or {}).get(self.user_from)
        if named is None:
            named = field(context, self.user_from)
        user = checked_name(None if named is None else str(named), self.user_from)
        if user is None:
            raise InvalidInput(
                f"the config names no user; give {{'configurable': {{{self.user_from!r}: ...}}}}{otherwise}"
            )
        return user

    @property
    def blocking(self) -> bool:
        """Whether the warden is blocking."""
        return self._own is not None

    @property
    def over(self) -> bool:
        """Whether the warden was closed."""
        return self.runtime.closed if self._own is None else self._own.over

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


def _running_config() -> Mapping[str, Any]:
    """Return the config of the run of a graph that is under way here; an empty one outside of any."""
    from langgraph.config import get_config

    try:
        return get_config()
    except RuntimeError:
        return {}


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
