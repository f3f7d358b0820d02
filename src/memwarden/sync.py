"""The blocking twin: one facade over one event loop that runs in a thread of its own.

Every method is the async one, called on that loop; a call costs about 50 microseconds more. Nothing is written twice:
the signatures and docstrings are those of :mod:`memwarden.warden` and :mod:`memwarden.scope`, as a test checks.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memwarden.backend import AsyncBackend
from memwarden.config import Settings
from memwarden.errors import MemwardenError, StoreUnavailable, WrongThread
from memwarden.records import Namespace, Scope
from memwarden.scope import AsyncScope
from memwarden.stores.base import Store
from memwarden.stores.manifest import Manifest
from memwarden.warden import AsyncWarden, Config

if TYPE_CHECKING:
    from memwarden.models.base import ChatModel, Reranker

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
LAST_SECONDS = 1.0
"""Calls of other threads may take this long to end while a warden is closed; then they are broken off."""


class Loop:
    """An event loop in a daemon thread, owned by one warden and one process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="memwarden", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the loop and wait for its answer. Raises StoreUnavailable, WrongThread."""
        try:
            answer = self._submit(coroutine)
        except MemwardenError:
            coroutine.close()
            raise
        try:
            return answer.result()
        except concurrent.futures.CancelledError:
            if not self._stopping:
                raise
            raise StoreUnavailable("the warden was closed during the call; open it again and repeat it") from None

    @property
    def over(self) -> bool:
        """Whether nothing can be run any more: it was stopped, or this is a fork's copy."""
        return self._stopping or os.getpid() != self._process

    def stop(self) -> None:
        """End the loop and its thread, and no later every call that waits for an answer. May be called twice."""
        if os.getpid() != self._process or threading.current_thread() is self._thread:
            return
        with self._lock:
            if not self._stopping:
                self._stopping = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _end(self) -> None:
        """Let calls that are under way end, and break off those that do not."""
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        if calls:
            _, late = await asyncio.wait(calls, timeout=LAST_SECONDS)
            for call in late:
                call.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await asyncio.sleep(0)  # what the last ones scheduled, which is to hand over their answers

    def _submit(self, coroutine: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        if os.getpid() != self._process:  # before the lock, which a fork may have copied while it was held
            raise StoreUnavailable("this warden was opened before the process forked; open one in each process")
        if threading.current_thread() is self._thread:
            raise WrongThread("a blocking call was made on memwarden's own event loop; use AsyncWarden there")
        with self._lock:  # what is handed over before the loop is told to stop is begun before it stops
            if self._stopping:
                raise StoreUnavailable("the warden is closed; open it again")
            answer: concurrent.futures.Future[R] = concurrent.futures.Future()
            self._loop.call_soon_threadsafe(self._begin, coroutine, answer)
            return answer

    def _begin(self, coroutine: Coroutine[Any, Any, R], answer: concurrent.futures.Future[R]) -> None:
        task = self._loop.create_task(_told(coroutine, answer))
        self._tasks.add(task)  # a loop holds on to its tasks only weakly
        task.add_done_callback(self._tasks.discard)


async def _told(coroutine: Coroutine[Any, Any, R], answer: concurrent.futures.Future[R]) -> None:
    """Run a coroutine and hand its answer over in the same turn of the loop.

    ``asyncio.run_coroutine_threadsafe`` chains two futures, which takes another turn: a fifth of its whole time.
    """
    try:
        answer.set_result(await coroutine)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    except BaseException as error:  # whatever it is, it belongs to who called
        answer.set_exception(error)
        if not isinstance(error, Exception):
            raise


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
    """The verbs, bound to who asks. See :class:`memwarden.scope.AsyncScope`."""

    _inner: AsyncScope

    @property
    def who(self) -> Scope:
        """Who asks."""
        return self._inner.who

    observe = blocking(AsyncScope.observe)
    remember = blocking(AsyncScope.remember)
    extract = blocking(AsyncScope.extract)
    query = blocking(AsyncScope.query)
    context = blocking(AsyncScope.context)
    get = blocking(AsyncScope.get)
    find = blocking(AsyncScope.find)
    relations = blocking(AsyncScope.relations)
    delta = blocking(AsyncScope.delta)
    history = blocking(AsyncScope.history)
    audit = blocking(AsyncScope.audit)
    forget = blocking(AsyncScope.forget)
    look_through = blocking(AsyncScope.look_through)
    restore = blocking(AsyncScope.restore)
    update = blocking(AsyncScope.update)
    pin = blocking(AsyncScope.pin)
    undo = blocking(AsyncScope.undo)
    user_context = blocking(AsyncScope.user_context)
    propose_context = blocking(AsyncScope.propose_context)
    consents = blocking(AsyncScope.consents)
    decide = blocking(AsyncScope.decide)
    acknowledge = blocking(AsyncScope.acknowledge)


class Backend(Facade):
    """Design E's storage contract on one namespace. See :class:`memwarden.backend.AsyncBackend`."""

    _inner: AsyncBackend

    @property
    def namespace(self) -> Namespace:
        """Where the items live."""
        return self._inner.namespace

    add = blocking(AsyncBackend.add)
    query = blocking(AsyncBackend.query)
    get = blocking(AsyncBackend.get)
    delete = blocking(AsyncBackend.delete)
    promote = blocking(AsyncBackend.promote)
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
    def open(
        cls,
        url: str | None = None,
        config: Config = None,
        *,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
    ) -> Self:
        """Open a store at once. See :meth:`memwarden.warden.AsyncWarden.open`; raises StoreError as well."""
        inner = AsyncWarden.open(url, config, reranker=reranker, chat_model=chat_model)
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

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._inner.settings

    @property
    def store(self) -> Store:
        """The store underneath, whose methods are async. See :attr:`memwarden.warden.AsyncWarden.store`."""
        return self._inner.store

    def back_up(self, path: str | Path) -> Manifest:
        """Copy the whole store as it stands now into a new file. See :meth:`memwarden.warden.AsyncWarden.back_up`."""
        return self._loop.run(self._inner.back_up(path))

    def close(self) -> None:
        """Finish pending writes and let go of the store and the thread. May be called twice.

        A call that another thread is waiting for ends too: with its answer, or with StoreUnavailable.
        """
        try:
            self._loop.run(self._inner.close())
        except StoreUnavailable:
            if not self._loop.over:
                raise
            # closed before or at the same time, or a fork's copy, which owns nothing
        finally:
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
