"""Design E's storage contract (row E1): seven plain methods over one namespace, and a search by embedding (E9).

For code that keeps items of its own making and wants storage, not recall. What is added is a memory like any other:
journaled, found by the scopes of its namespace.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memwarden import clock, filters
from memwarden.errors import Conflict, InvalidInput, MemoryBackendError, NotFound, StoreError
from memwarden.importance import checked
from memwarden.records import Channel, Memory, Namespace
from memwarden.remember.ingest.intake import redact_value, trust_of
from memwarden.remember.ingest.messages import checked_name, checked_names
from memwarden.remember.resolve.consent.user_context import CONTEXT_ID
from memwarden.stores.protocol import Store

if TYPE_CHECKING:
    from memwarden.recall.index.namespace_index import NamespaceIndexes
    from memwarden.remember.writer import Writer

PROMOTION_TARGETS: Mapping[str, str] = {"task": "project", "project": "global"}
"""Where items of a kind of namespace can be promoted to."""
KINDS_OF_NAMESPACE = ("user", "project", "task")
MAX_DEPTH = 100
"""A payload's lists and objects lie in one another at most this deep."""
_MAX_TOKENS = 2**63 - 1
_MAX_NUMBER = 1e18


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An item as design E names its fields; the same record as :class:`memwarden.records.Memory`.

    Attributes:
        context_item_id: the caller's id, unique in the namespace.
        timestamp: ISO 8601; brought to UTC when the item is made, so that what comes back equals what was given.
        token_cost: size in tokens as the caller counts them, or None.
        payload: a JSON object. Its texts are what a search finds.

    Raises InvalidInput for fields of another form.
    """

    context_item_id: str
    kind: str
    source: str | None = None
    timestamp: str = ""
    tags: Sequence[str] = ()
    importance: float = 0.5
    token_cost: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        moment = clock.parse(self.timestamp, "timestamp") if self.timestamp else clock.now()
        object.__setattr__(self, "timestamp", moment.isoformat())
        object.__setattr__(self, "tags", checked_names(self.tags, "tags"))
        object.__setattr__(self, "importance", checked(self.importance))
        for name in ("context_item_id", "kind"):
            value = checked_name(getattr(self, name), name)
            if value is None:
                raise InvalidInput(f"{name} is a text, not None")
            object.__setattr__(self, name, value)
        if self.source is not None and not isinstance(self.source, str):
            raise InvalidInput(f"source is a text or None, not {self.source!r:.80}")
        if self.token_cost is not None:
            _whole(self.token_cost, "token_cost", _MAX_TOKENS)
        if not isinstance(self.payload, Mapping):
            raise InvalidInput(f"payload is a JSON object, not {self.payload!r:.80}")


class AsyncBackend:
    """The contract, bound to one namespace. Made by :meth:`memwarden.api.warden.AsyncWarden.backend`."""

    def __init__(self, store: Store, writer: Writer, indexes: NamespaceIndexes, namespace: Namespace) -> None:
        self._store = store
        self._writer = writer
        self._indexes = indexes
        self.namespace = namespace

    async def add(self, item: ContextItem) -> None:
        """Store an item, in place of one with the same id.

        A tool's output, or what names a page or a document as its source, is held back when it looks like orders for an
        assistant: then there is no item of that id, and the journal tells of a QUARANTINE.

        Raises InvalidInput for a payload that is no JSON object, Conflict for the id of something that is no item;
        MemoryBackendError (a StoreError and a MemoryError) when the storage fails.
        """
        memory = as_memory(item, self.namespace)
        try:
            found = await self._store.get(self.namespace, [memory.id])
            if found and found[0].channel in (Channel.TURN, Channel.STATE):
                raise Conflict(f"the id {memory.id!r} is in use in {self.namespace.path} by something that is no item")
            await self._writer.put(memory)
        except StoreError as error:
            raise MemoryBackendError(str(error)) from error

    async def query(
        self, filters: Mapping[str, Any], limit: int = 100, order_by: str = "timestamp"
    ) -> list[ContextItem]:
        """Return items that match every filter (:mod:`memwarden.filters`), newest or largest first.

        ``order_by`` names a field; with a leading ``-`` the order is ascending. Raises InvalidFilter.
        """
        return [as_item(memory) for memory in await self._find(filters, limit, order_by)]

    async def get(self, item_id: str) -> ContextItem | None:
        """Return an item, or None."""
        found = await self._read_stored(item_id)
        return as_item(found) if found else None

    async def delete(self, item_id: str) -> bool:
        """Take an item out. Returns whether it was there."""
        found = await self._read_stored(item_id)
        return found is not None and await self._writer.remove(self.namespace, [found.id]) > 0

    async def promote(self, item_id: str, to: str) -> str:
        """Copy an item of a task to its project, or of a project to ``global``, on purpose (E7); return the copy's id.

        Copied, confirmed and then noted in both journals; after a kill a second call goes on where the first one was,
        and one item is copied once for each of its contents. The item stays where it is.

        Raises NotFound for an unknown item, Conflict when somebody changes it meanwhile, InvalidInput for another way
        than task to project or project to global.
        """
        target = parse_namespace(to, self.namespace.tenant)
        kinds = [item.path.partition("/")[0] for item in (self.namespace, target)]
        if PROMOTION_TARGETS.get(kinds[0]) != kinds[1]:
            raise InvalidInput(
                f"items go from task/<id> to project/<id> and from project/<id> to global, not from "
                f"{self.namespace.path} to {target.path}"
            )
        found = await self._read_stored(item_id)
        if found is None:
            raise NotFound(f"no item {item_id!r} in {self.namespace.path}")
        return await self._writer.promote(found, target)

    async def list_all(self) -> list[ContextItem]:
        """Return every item, the first added first."""
        return [as_item(item) for item in await self._find({}, await self._store.count(self.namespace), "-written")]

    async def clear(self) -> None:
        """Take every item out, in one batch."""
        await self._writer.remove(self.namespace, [item.context_item_id for item in await self.list_all()])

    async def count(self) -> int:
        """Return how many items there are."""
        return await self._store.count(self.namespace, ITEMS)

    async def query_semantic(self, query_embedding: Sequence[float], limit: int) -> list[ContextItem]:
        """Return the items nearest to an embedding by cosine, nearest first (E9). Exact, no approximation.

        Raises InvalidInput for an embedding of another size than the store's model makes, or a store without one.
        """
        embedding, most = _numbers(query_embedding), _whole(limit, "limit")
        index = await self._indexes.current(self.namespace)
        ids = index.nearest(embedding, most, ITEMS)
        return [as_item(memory) for memory in await self._store.get(self.namespace, ids)]

    async def _find(self, wanted: Mapping[str, Any], limit: int, order_by: str) -> list[Memory]:
        where = (*ITEMS, *filters.parse(wanted))
        if not isinstance(order_by, str):
            raise InvalidInput(f"order_by is the name of a field, not {order_by!r:.80}")
        field = filters.sort_field(order_by.removeprefix("-"))
        descending = not order_by.startswith("-")
        return await self._store.find(
            self.namespace, where, limit=_whole(limit, "limit"), order_by=field, descending=descending
        )

    async def _read_stored(self, item_id: str) -> Memory | None:
        return await stored_item(self._store, self.namespace, item_id)


async def stored_item(store: Store, namespace: Namespace, item_id: str) -> Memory | None:
    """Return the memory of an item, or None; what people said and saved state are no items. Raises InvalidInput."""
    name = checked_name(item_id, "item_id")
    if name is None:
        raise InvalidInput("item_id is a text, not None")
    found = await store.get(namespace, [name])
    known = found and found[0].channel not in (Channel.TURN, Channel.STATE) and name != CONTEXT_ID
    return found[0] if known else None


ITEMS = tuple(
    condition
    for field, value in (("channel", Channel.TURN), ("channel", Channel.STATE), ("id", CONTEXT_ID))
    for condition in filters.parse({field: {"$ne": value}})
)
"""What people said is no item of design E, nor is state saved by key, nor how they want to be spoken to."""


def parse_namespace(path: str, tenant: str) -> Namespace:
    """Return the namespace of a path: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``.

    An id is a name as a scope takes it, so that ``user/<id>`` is where the scope of that user writes.
    """
    kind, _, given = path.partition("/") if isinstance(path, str) else ("", "", "")
    if path != "global" and (kind not in KINDS_OF_NAMESPACE or not given):
        raise InvalidInput(f"a namespace is user/<id>, project/<id>, task/<id> or global, not {path!r:.80}")
    name = checked_name(given, "the id in a namespace") if given else None
    return Namespace(checked_name(tenant, "tenant") or "default", f"{kind}/{name}" if name else "global")


def as_memory(item: ContextItem, namespace: Namespace) -> Memory:
    """Return an item as the memory that is stored of it. Raises InvalidInput for a payload that is no JSON object."""
    payload = _payload(item)
    return Memory(
        id=item.context_item_id,
        namespace=namespace,
        text=_text(item, payload),
        created_at=clock.parse(item.timestamp, "timestamp"),
        updated_at=clock.now(),
        channel=Channel.SEMANTIC,
        kind=item.kind,
        importance=item.importance,
        tags=tuple(item.tags),
        source=item.source,
        payload=payload,
        token_cost=item.token_cost,
        trust=trust_of(None, item.kind, item.source),
    )


def as_item(memory: Memory) -> ContextItem:
    """Return a memory as an item, unchecked: that was done when it was written, and takes longer than all the rest."""
    item = object.__new__(ContextItem)
    fill = object.__setattr__
    fill(item, "context_item_id", memory.id)
    fill(item, "kind", memory.kind)
    fill(item, "source", memory.source)
    fill(item, "timestamp", memory.created_at.isoformat())
    fill(item, "tags", memory.tags)
    fill(item, "importance", memory.importance)
    fill(item, "token_cost", memory.token_cost)
    fill(item, "payload", dict(memory.payload or {}))
    return item


def _payload(item: ContextItem) -> dict[str, Any]:
    """The payload as JSON, without the secrets in it."""
    try:
        json.dumps(dict(item.payload), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload of {item.context_item_id!r} is no JSON object: {error}") from None
    cleaned, _ = redact_value(dict(item.payload))
    return dict(cleaned)


def _text(item: ContextItem, payload: Mapping[str, Any]) -> str:
    """The texts of a payload, one a line; the kind when there are none."""
    return "\n".join(_texts(payload, MAX_DEPTH)).strip() or item.kind


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | Sequence):
        if depth == 0:
            raise InvalidInput(f"the payload is no JSON object of at most {MAX_DEPTH} levels; make it flatter")
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item, depth - 1)


def _whole(value: Any, what: str, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or (most is not None and value > most):
        raise InvalidInput(f"{what} is a whole number of at least 0, not {value!r:.80}")
    return value


def _numbers(embedding: Any) -> list[float]:
    """An embedding as plain numbers; its size and zeros are the index's business. Raises InvalidInput."""
    try:
        given = list(embedding)
        if isinstance(embedding, str | bytes | Mapping) or not all(isinstance(item, numbers.Real) for item in given):
            raise TypeError
        plain = [float(item) for item in given]
    except (TypeError, OverflowError):
        raise InvalidInput("an embedding is a sequence of numbers") from None
    if any(abs(item) > _MAX_NUMBER for item in plain):
        raise InvalidInput(f"an embedding is finite numbers of at most {_MAX_NUMBER:g}")
    return plain
