"""mem0's clients: :class:`AsyncMem0Client` and its blocking twin, exported as ``AsyncMemory`` and ``Memory``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from memwarden.api.blocking import Warden
from memwarden.api.facade import OwningFacade, blocking, start_loop
from memwarden.api.remote import RemoteWarden
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.checks import quote
from memwarden.compat.mem0.arguments import (
    MAX_TOP_K,
    check_entities,
    check_messages,
    check_query,
    check_top_k,
    drop_identity,
    read_config,
    read_expiration,
    refuse_entities,
)
from memwarden.compat.mem0.conditions import FilterParts, read_filters
from memwarden.compat.mem0.items import NO_USER, make_history, make_item, split_id
from memwarden.compat.mem0.memories import forget_all, infer_memories, list_events, list_memories, make_filter
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import CARD, WriteResult

_UNSET: Final[Any] = object()


class AsyncMem0Client:
    """mem0's ``AsyncMemory`` on memwarden. The store opens at the first call.

    >>> memory = AsyncMemory()
    >>> await memory.add("I am allergic to peanuts.", user_id="ana")

    Args:
        config: mem0's configuration. Its key ``memwarden`` holds settings of memwarden and ``url``, the store; other
            keys configure parts that memwarden does not have and are named in a warning. None: the settings of
            the environment. ``url`` may be a server's, with its ``key``.
        warden: an open warden to use in place of one of its own. It is not closed with this object.

    Methods raise InvalidInput (a ValueError) for what mem0 refuses, StoreError when the storage refuses.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, *, warden: AsyncWarden | None = None) -> None:
        if warden is not None and not isinstance(warden, AsyncWarden | RemoteWarden):
            raise InvalidInput(f"warden is an AsyncWarden here, not {quote(warden)}")
        self._owns = warden is None
        self._warden = warden or _open_warden(config)
        self._is_open = warden is not None
        self._opening = asyncio.Lock()

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Return a client for a configuration of mem0."""
        return cls(config_dict)

    async def open(self) -> Self:
        """Open the store, which the first call does otherwise. Raises StoreError."""
        async with self._opening:
            if not self._is_open:
                await self._warden.start()
                self._is_open = True
        return self

    async def close(self) -> None:
        """Finish pending writes and close the store, unless the warden was given."""
        async with self._opening:
            if self._owns and self._is_open:
                await self._warden.close()
                self._is_open = False

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: datetime | str | float | None = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Store what messages say, and return ``{"results": [{"id", "memory", "event"}]}``.

        Args:
            messages: a text of the user, a message, or a list of messages with ``role`` and ``content``. Messages of
                other roles than user and assistant are left out.
            user_id, agent_id, run_id: whose memory it is; at least one.
            metadata: values to filter by, on each memory that is stored.
            timestamp: when it was said. None: now.
            expiration_date: last day on which it holds, ``YYYY-MM-DD``; not in the past.
            infer: with a chat model in memwarden's settings, the messages are stored as turns and the model extracts
                memories from them. Without a model, and with False, each message is a memory.
            memory_type, prompt: not supported, and refused.

        The event is ``ADD``, or ``NONE`` for a text that says what the memory of that id says already.
        """
        if memory_type is not None or prompt is not None:
            raise InvalidInput("memory_type and prompt are not supported; state a procedure with scope.remember")
        user, labels = check_entities(user_id, agent_id, run_id)
        said = check_messages(messages)
        payload = {**drop_identity(metadata, "add()"), **labels}
        expires_at = read_expiration(expiration_date)
        if not said:
            return {"results": []}
        scope = await self._scope(user)
        if infer and self._extracts_by_a_model:
            thread = self._warden.scope(user=user, thread=str(labels.get("run_id", "mem0")))
            return {"results": await infer_memories(thread, said, payload, timestamp, expires_at)}
        written = await scope.remember(said, metadata=payload, created_at=timestamp, expires_at=expires_at)
        return {"results": await list_events(scope, written)}

    async def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Find memories for a query, best first: ``{"results": [{"id", "memory", "score", ...}]}``.

        Args:
            top_k: most results, 0 to 1,000.
            filters: an entity id at least, and conditions in mem0's language
                (:mod:`memwarden.compat.mem0.conditions`).
            threshold: the least chance, 0 to 1, that the results contain the answer; below it there are none.
            rerank: accepted; a reranker of the warden is always used.
            explain: add ``score_details``, the contribution of each signal.
            reference_date, show_expired: not supported, and refused.
            user_id, agent_id, run_id: refused, as in mem0; they belong into filters.
        """
        refuse_entities("search", user_id, agent_id, run_id)
        if reference_date is not None or show_expired:
            raise InvalidInput("search has no reference_date and no show_expired; get_all lists expired memories")
        words, limit, selection = check_query(query), check_top_k(top_k, MAX_TOP_K), read_filters(filters)
        user = selection.user or NO_USER
        scope = await self._scope(user)
        where = await make_filter(scope, selection)
        if limit == 0 or where is None:
            return {"results": []}
        answer = await scope.query(
            words, filters=where, top_k=limit, threshold=0.1 if threshold is None else threshold,
            budget_tokens=None, returns="full", explain=explain,
        )  # fmt: skip
        results = []
        for item in answer.items:
            result = make_item(item.memory, user) | {"score": item.score}
            if explain:
                result["score_details"] = {part.name: part.contribution for part in item.why.features}
            if CARD not in item.memory.tags:
                results.append(result)
        return {"results": results}

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return a memory, None if there is none of that id."""
        key, user = split_id(memory_id)
        scope = await self._scope(user)
        try:
            return make_item(await scope.get(key), user) | {"score": None}
        except NotFound:
            return None

    async def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """List memories that fit a filter, newest first: ``{"results": [{"id", "memory", ...}]}``.

        Args:
            filters: as for :meth:`search`.
            top_k: most results.
            show_expired: include memories that expired or were replaced by a newer value.
            user_id, agent_id, run_id: refused, as in mem0; they belong into filters.
        """
        refuse_entities("get_all", user_id, agent_id, run_id)
        limit, selection = check_top_k(top_k, None), read_filters(filters)
        user = selection.user or NO_USER
        scope = await self._scope(user)
        memories = await list_memories(scope, selection, limit, show_expired=show_expired)
        return {"results": [make_item(memory, user) for memory in memories]}

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory: its text, names of its metadata, the last day on which it holds (None: no end).

        Raises InvalidInput when there is no such memory.
        """
        words = data if text is None else text
        if words is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInput("At least one of text, metadata, or expiration_date must be provided")
        changes: dict[str, Any] = {} if words is None else {"text": words}
        if expiration_date is None:
            changes["clear"] = ["valid_to"]
        elif expiration_date is not _UNSET:
            changes["valid_to"] = read_expiration(expiration_date)
        key, user = split_id(memory_id)
        scope, added = await self._scope(user), drop_identity(metadata, "update()")

        async def write() -> WriteResult:
            memory = await scope.get(key)
            given: dict[str, Any] = {"metadata": {**memory.metadata, **added}} if added else {}
            return await scope.update(key, **changes, **given, expected_version=memory.version)

        try:
            if changes or added:
                await change_atomically((scope.who.namespace, key), write)
            else:
                await scope.get(key)
        except NotFound:
            raise _missing(memory_id) from None
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Forget a memory. Raises InvalidInput when there is no such memory."""
        key, user = split_id(memory_id)
        scope = await self._scope(user)
        try:
            await scope.forget(key)
        except NotFound:
            raise _missing(memory_id) from None
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Forget everything of a user, agent or run, with the turns that it was extracted from."""
        user, labels = check_entities(user_id, agent_id, run_id)
        await forget_all(await self._scope(user), labels)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the changes of a memory, oldest first; empty if there is none of that id."""
        key, user = split_id(memory_id)
        scope = await self._scope(user)
        try:
            return make_history(await scope.journal.history(key, limit=MAX_TOP_K), memory_id)
        except NotFound:
            return []

    async def reset(self) -> None:
        """Forget everything of every user."""
        await self.open()
        for user in await self._warden.users():
            await forget_all(await self._scope(user), {})

    async def users(self) -> list[str]:
        """Return the names of users of whom something was ever kept."""
        await self.open()
        return [user for user in await self._warden.users() if user != NO_USER]

    async def list_everything(self) -> list[dict[str, Any]]:
        """Return the memories of every user, as :meth:`get_all` returns them."""
        items = []
        for user in [*await self.users(), NO_USER]:
            scope, selection = await self._scope(user), FilterParts(user, {}, {})
            items += [make_item(memory, user) for memory in await list_memories(scope, selection, None)]
        return items

    @property
    def _extracts_by_a_model(self) -> bool:
        """Whether a chat model extracts memories here. What a server extracts with is unknown on this side."""
        return isinstance(self._warden, AsyncWarden) and self._warden._runtime.services.extractor.asks_a_model

    async def _scope(self, user: str) -> AsyncScope:
        await self.open()
        return self._warden.scope(user=user)


def _open_warden(config: Mapping[str, Any] | None) -> AsyncWarden:
    url, settings, key = read_config(config)
    return AsyncWarden.open(url, settings, key=key)


def _missing(memory_id: str) -> InvalidInput:
    return InvalidInput(f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'")


class Mem0Client(OwningFacade):
    """mem0's ``Memory`` on memwarden. See :class:`AsyncMem0Client`; the store opens at once.

    >>> with Memory() as memory:
    ...     memory.add("I am allergic to peanuts.", user_id="ana")
    ...     memory.search("What can't I eat?", filters={"user_id": "ana"})["results"]
    """

    _inner: AsyncMem0Client

    add = blocking(AsyncMem0Client.add)
    search = blocking(AsyncMem0Client.search)
    get = blocking(AsyncMem0Client.get)
    get_all = blocking(AsyncMem0Client.get_all)
    update = blocking(AsyncMem0Client.update)
    delete = blocking(AsyncMem0Client.delete)
    delete_all = blocking(AsyncMem0Client.delete_all)
    history = blocking(AsyncMem0Client.history)
    reset = blocking(AsyncMem0Client.reset)

    def __init__(self, config: Mapping[str, Any] | None = None, *, warden: Warden | None = None) -> None:
        if warden is not None and not isinstance(warden, Warden):
            raise InvalidInput(f"warden is a Warden here, not {quote(warden)}")
        self._owns = warden is None
        inner = AsyncMem0Client(config, warden=None if warden is None else warden._inner)
        super().__init__(inner, start_loop(inner.open) if warden is None else warden._loop)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Return a client for a configuration of mem0."""
        return cls(config_dict)

    def close(self) -> None:
        """Finish pending writes and close the store, unless the warden was given. May be called twice."""
        if self._owns:
            super().close()
