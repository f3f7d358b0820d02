"""mem0's hosted clients on a server of memwarden, exported as ``AsyncMemoryClient`` and ``MemoryClient``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from memwarden.api.facade import OwningFacade, blocking, start_loop
from memwarden.checks import check_whole, quote
from memwarden.compat.mem0.client import AsyncMem0Client
from memwarden.compat.mem0.conditions import ENTITIES
from memwarden.errors import InvalidInput, NotFound

# Where ``memwarden serve`` listens unless it is given a port.
DEFAULT_HOST: Final = "http://127.0.0.1:8765"
# Memories of a page, as on mem0's platform.
PAGE_SIZE: Final = 100
_ALL: Final = 2**31
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "add": (*ENTITIES, "filters", "metadata", "infer", "timestamp", "expiration_date"),
    "search": ("filters", "top_k", "threshold", "rerank"),
    "get_all": ("filters", "page", "page_size", "start_date", "end_date", "show_expired"),
    "update": ("text", "metadata", "expiration_date"),
    "delete_all": (*ENTITIES, "filters"),
}


class AsyncHostedClient:
    """mem0's ``AsyncMemoryClient`` on a server of memwarden (extra ``client``). It connects at the first call.

    >>> client = AsyncMemoryClient(api_key="mw_...", host="https://memory.example.com")
    >>> await client.add("I am allergic to peanuts.", user_id="ana")

    Args:
        api_key: key of the server. None: ``MEM0_API_KEY``, otherwise ``MEMWARDEN_KEY`` of the environment.
        host: URL of the server. None: a server on this machine.

    Methods take options as keywords, or together as ``options``, a mapping or an object of mem0. They raise
    InvalidInput (a ValueError) for an option that memwarden does not have, NotFound, and StoreUnavailable when the
    server does not answer.
    """

    def __init__(self, api_key: str | None = None, host: str | None = None) -> None:
        key = api_key or os.environ.get("MEM0_API_KEY")
        self._memory = AsyncMem0Client({"memwarden": {"url": host or DEFAULT_HOST, "key": key}})

    async def open(self) -> Self:
        """Connect, which the first call does otherwise. Raises StoreUnavailable."""
        await self._memory.open()
        return self

    async def close(self) -> None:
        """Let go of the connections."""
        await self._memory.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def add(self, /, messages: Any, options: Any = None, **given: Any) -> dict[str, Any]:
        """Store each message as a memory: ``{"results": [{"id", "memory", "event"}]}``.

        Options: ``user_id``, ``agent_id`` and ``run_id``, as keywords or in ``filters``, ``metadata``, ``infer``
        (without effect), ``timestamp``, ``expiration_date``. See :meth:`AsyncMem0Client.add`.
        """
        arguments = _read_options("add", options, given)
        return await self._memory.add(messages, **_take_entities("add", arguments))

    async def search(self, /, query: str, options: Any = None, **given: Any) -> dict[str, Any]:
        """Find memories for a query: ``{"results": [...]}``.

        Options: ``filters``, ``top_k`` (10), ``threshold``, ``rerank``. See :meth:`AsyncMem0Client.search`.
        """
        return await self._memory.search(query, **{"top_k": 10, **_read_options("search", options, given)})

    async def get(self, memory_id: str) -> dict[str, Any]:
        """Return a memory. Raises NotFound."""
        memory = await self._memory.get(memory_id)
        if memory is None:
            raise NotFound(f"there is no memory {quote(memory_id)}")
        return memory

    async def get_all(self, /, options: Any = None, **given: Any) -> dict[str, Any]:
        """List a page of memories, newest first: ``{"count", "next", "previous", "results"}``.

        Options: ``filters``, ``page`` (1), ``page_size`` (100), ``start_date`` and ``end_date`` (of ``created_at``),
        ``show_expired``. ``next`` and ``previous`` are numbers of pages.
        """
        arguments = _read_options("get_all", options, given)
        page = check_whole(arguments.pop("page", 1), "page", 1, None)
        size = check_whole(arguments.pop("page_size", PAGE_SIZE), "page_size", 1, None)
        filters = _add_dates(
            arguments.pop("filters", None), arguments.pop("start_date", None), arguments.pop("end_date", None)
        )
        found = (await self._memory.get_all(filters=filters, top_k=_ALL, **arguments))["results"]
        return {
            "count": len(found),
            "next": page + 1 if page * size < len(found) else None,
            "previous": page - 1 if page > 1 else None,
            "results": found[(page - 1) * size : page * size],
        }

    async def update(self, /, memory_id: str, options: Any = None, **given: Any) -> dict[str, str]:
        """Change a memory's ``text``, ``metadata`` or ``expiration_date`` (None: no end). Raises InvalidInput."""
        arguments = _read_options("update", options, given, keep=("expiration_date",))
        return await self._memory.update(memory_id, **arguments)

    async def delete(self, memory_id: str, delete_linked: bool = False) -> dict[str, str]:
        """Forget a memory. Values that it replaced stay expired, so ``delete_linked`` has no effect."""
        return await self._memory.delete(memory_id)

    async def delete_all(self, /, options: Any = None, **given: Any) -> dict[str, str]:
        """Forget everything of a user, agent or run, named by keywords or in ``filters``."""
        arguments = _take_entities("delete_all", _read_options("delete_all", options, given))
        return await self._memory.delete_all(**arguments)

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return the changes of a memory, oldest first."""
        return await self._memory.history(memory_id)

    async def users(self) -> dict[str, Any]:
        """List users, agents and runs with memories: ``{"count", "results": [{"name", "type", "total_memories"}]}``."""
        totals: dict[tuple[str, str], int] = {}
        for item in await self._memory.list_everything():
            for name in ENTITIES:
                if name in item:
                    entity = (name.removesuffix("_id"), item[name])
                    totals[entity] = totals.get(entity, 0) + 1
        results = [
            {"id": name, "name": name, "type": kind, "total_memories": total}
            for (kind, name), total in sorted(totals.items())
        ]
        return {"count": len(results), "next": None, "previous": None, "results": results}

    async def delete_users(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, str]:
        """Forget everything of a user, or of an agent or run with all users; of everyone without arguments."""
        if app_id is not None:
            raise InvalidInput("memwarden has no app_id; a key of the server is of one tenant")
        if user_id is not None:
            await self._memory.delete_all(user_id=user_id)
        elif agent_id is None and run_id is None:
            await self._memory.reset()
            return {"message": "All users, agents, apps and runs deleted."}
        else:
            labels = {"agent_id": agent_id} if agent_id is not None else {"run_id": run_id}
            for user in await self._memory.users():
                await self._memory.delete_all(user_id=user, **labels)
            await self._memory.delete_all(**labels)
        return {"message": "Entity deleted successfully."}

    async def reset(self) -> dict[str, str]:
        """Forget everything of every user that the key may read."""
        await self._memory.reset()
        return {"message": "Client reset successful. All users and memories deleted."}

    async def batch_update(self, memories: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Change memories, each given as ``{"memory_id", "text", "metadata"}``, one after another."""
        for memory in memories:
            given = dict(memory)
            await self.update(given.pop("memory_id", None), given)
        return {"message": f"Successfully updated {len(memories)} memories"}

    async def batch_delete(self, memories: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Forget memories, each given as ``{"memory_id"}``, one after another."""
        for memory in memories:
            await self.delete(memory.get("memory_id", ""))
        return {"message": f"Successfully deleted {len(memories)} memories"}


def _read_options(call: str, options: Any, given: Mapping[str, Any], keep: Sequence[str] = ()) -> dict[str, Any]:
    """Return options as keywords, without those that are None, except ``keep``.

    Raises InvalidInput for a name that the call does not have.
    """
    if options is None:
        options = {}
    elif callable(dump := getattr(options, "model_dump", None)):
        options = dump(exclude_unset=True)
    elif not isinstance(options, Mapping):
        raise InvalidInput(f"options is a mapping or an object of mem0, not {quote(options)}")
    arguments = {name: value for name, value in {**options, **given}.items() if value is not None or name in keep}
    for name in arguments:
        if name in _OPTIONS[call]:
            continue
        if name in ENTITIES:
            raise InvalidInput(
                f"Top-level entity parameters are not supported in {call}(). Use filters={{{name!r}: '...'}}"
            )
        raise InvalidInput(f"{call}() of memwarden has no {quote(name)}; it has {', '.join(_OPTIONS[call])}")
    return arguments


def _take_entities(call: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with the entities that ``filters`` names as keywords.

    Raises InvalidInput for other filters, and for an entity that a keyword names otherwise.
    """
    filters = arguments.pop("filters", {})
    if not isinstance(filters, Mapping) or not set(filters) <= set(ENTITIES):
        raise InvalidInput(f"filters of {call}() name {', '.join(ENTITIES)}, not {quote(filters)}")
    for name, value in filters.items():
        if arguments.setdefault(name, value) != value:
            raise InvalidInput(f"{name} of {call}() is {quote(arguments[name])}, and {quote(value)} in its filters")
    return arguments


def _add_dates(filters: Any, start: Any, end: Any) -> Any:
    bounds = {name: value for name, value in (("gte", start), ("lte", end)) if value is not None}
    if not bounds or not isinstance(filters, Mapping):
        return filters
    conditions = filters.get("AND", [])
    if not isinstance(conditions, list):
        raise InvalidInput(f"AND of filters is a list of conditions, not {quote(conditions)}")
    return {**filters, "AND": [*conditions, {"created_at": bounds}]}


class HostedClient(OwningFacade):
    """mem0's ``MemoryClient`` on a server of memwarden (extra ``client``). It connects at once.

    >>> client = MemoryClient(api_key="mw_...", host="https://memory.example.com")
    >>> client.add("I am allergic to peanuts.", user_id="ana")

    See :class:`AsyncHostedClient`. Raises StoreUnavailable when the server does not answer.
    """

    _inner: AsyncHostedClient

    add = blocking(AsyncHostedClient.add)
    search = blocking(AsyncHostedClient.search)
    get = blocking(AsyncHostedClient.get)
    get_all = blocking(AsyncHostedClient.get_all)
    update = blocking(AsyncHostedClient.update)
    delete = blocking(AsyncHostedClient.delete)
    delete_all = blocking(AsyncHostedClient.delete_all)
    history = blocking(AsyncHostedClient.history)
    users = blocking(AsyncHostedClient.users)
    delete_users = blocking(AsyncHostedClient.delete_users)
    reset = blocking(AsyncHostedClient.reset)
    batch_update = blocking(AsyncHostedClient.batch_update)
    batch_delete = blocking(AsyncHostedClient.batch_delete)

    def __init__(self, api_key: str | None = None, host: str | None = None) -> None:
        inner = AsyncHostedClient(api_key, host)
        super().__init__(inner, start_loop(inner.open))
