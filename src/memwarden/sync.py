"""The blocking twin: one facade over one event loop that runs in a thread of its own.

Every method is the async one, called on that loop; a call costs about 50 microseconds more. Nothing is written twice:
the signatures and docstrings are those of :mod:`memwarden.warden`, and a test compares the two.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memwarden.backend import AsyncBackend
from memwarden.errors import MemwardenError, StoreUnavailable, WrongThread
from memwarden.warden import AsyncScope, AsyncWarden, Config

if TYPE_CHECKING:
    from memwarden.models.base import Reranker

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class Loop:
    """An event loop in a daemon thread, owned by one warden and one process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="memwarden", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the loop and wait for its answer."""
        try:
            self._check()
        except MemwardenError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        """End the loop and its thread."""
        if os.getpid() == self._process and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())

    def _check(self) -> None:
        if os.getpid() != self._process:
            raise StoreUnavailable("this warden was opened before the process forked; open one in each process")
        if threading.current_thread() is self._thread:
            raise WrongThread("a blocking call was made on memwarden's own event loop; use AsyncWarden there")
        if self._loop.is_closed():
            raise StoreUnavailable("the warden is closed; open it again")


class Facade:
    """Something of the async API and the loop that its methods run on."""

    def __init__(self, inner: Any, loop: Loop) -> None:
        self._inner = inner
        self._loop = loop


def blocking(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Facade, P], R]:
    """Make the blocking twin of an async method, to be called on a :class:`Facade`."""

    def call(facade: Facade, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return facade._loop.run(method(facade._inner, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


class BoundScope(Facade):
    """The verbs, bound to who asks. See :class:`memwarden.warden.AsyncScope`."""

    observe = blocking(AsyncScope.observe)
    remember = blocking(AsyncScope.remember)
    extract = blocking(AsyncScope.extract)
    query = blocking(AsyncScope.query)
    context = blocking(AsyncScope.context)
    get = blocking(AsyncScope.get)
    find = blocking(AsyncScope.find)
    forget = blocking(AsyncScope.forget)


class Backend(Facade):
    """Design E's storage contract on one namespace. See :class:`memwarden.backend.AsyncBackend`."""

    add = blocking(AsyncBackend.add)
    query = blocking(AsyncBackend.query)
    get = blocking(AsyncBackend.get)
    delete = blocking(AsyncBackend.delete)
    list_all = blocking(AsyncBackend.list_all)
    clear = blocking(AsyncBackend.clear)
    count = blocking(AsyncBackend.count)
    query_semantic = blocking(AsyncBackend.query_semantic)


class Warden(Facade):
    """The memory of agents on one store, for blocking code. See :class:`memwarden.warden.AsyncWarden`.

    >>> with Warden.open("sqlite:///notes.db") as warden:
    ...     me = warden.scope(user="ana", thread="t1")
    ...     me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
    ...     for item in me.query("What can't I eat?").items:
    ...         print(item.score, item.text)
    """

    _inner: AsyncWarden

    @classmethod
    def open(cls, url: str | None = None, config: Config = None, *, reranker: Reranker | None = None) -> Self:
        """Open a store at once. See :meth:`memwarden.warden.AsyncWarden.open`; raises StoreError as well."""
        inner = AsyncWarden.open(url, config, reranker=reranker)
        loop = Loop()
        try:
            loop.run(inner.start())
        except BaseException:
            loop.stop()
            raise
        return cls(inner, loop)

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        tenant: str = "default",
    ) -> BoundScope:
        """Return the verbs bound to somebody. See :meth:`memwarden.warden.AsyncWarden.scope`."""
        scope = self._inner.scope(user=user, agent=agent, thread=thread, run=run, actor=actor, tenant=tenant)
        return BoundScope(scope, self._loop)

    def backend(self, namespace: str, *, tenant: str = "default") -> Backend:
        """Return design E's storage contract for one namespace. See :meth:`memwarden.warden.AsyncWarden.backend`."""
        return Backend(self._inner.backend(namespace, tenant=tenant), self._loop)

    def close(self) -> None:
        """Finish pending writes and let go of the store and the thread. May be called twice."""
        try:
            self._loop.run(self._inner.close())
        except StoreUnavailable:
            return  # closed before, or a fork's copy, which owns nothing
        self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
