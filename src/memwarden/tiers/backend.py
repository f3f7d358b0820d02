"""A storage contract over a namespace: seven plain methods, and a search by embedding.

For code that keeps items of its own making and wants storage, not recall. An added item is a memory like any other:
journaled, found by the scopes of its namespace.
"""

from __future__ import annotations

import json
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from memwarden import clock, filters
from memwarden.checks import UNRATED, check_importance, quote
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, InvalidFilter, InvalidInput, MemoryBackendError, NotFound, StoreError
from memwarden.records import Channel, Memory, Namespace
from memwarden.remember.ingest.messages import checked_name, checked_names
from memwarden.remember.ingest.redaction import redact_value
from memwarden.remember.ingest.screening import trust_of_item
from memwarden.remember.resolve.user_context import CONTEXT_ID
from memwarden.stores.protocol import Store

if TYPE_CHECKING:
    from memwarden.recall.index.namespace_index import NamespaceIndexes
    from memwarden.recall.large.registry import LargeNamespaces
    from memwarden.remember.items import ItemWriter

# The kind of namespace that items are promoted to, by their own.
PROMOTION_TARGETS: Mapping[str, str] = {"task": "project", "project": "global"}
KINDS_OF_NAMESPACE = ("user", "project", "task")
# Maximum nesting of a payload's lists and objects.
MAX_DEPTH = 100
# Stores keep it as a 64-bit integer.
_MAX_TOKENS = 2**63 - 1
_MAX_NUMBER = 1e18


@dataclass(frozen=True, slots=True)
class ContextItem:
    """An item of a tier; the same record as :class:`memwarden.records.Memory` under other names.

    Attributes:
        context_item_id: the caller's id, unique in the namespace.
        timestamp: ISO 8601; brought to UTC when the item is made, so that what comes back equals what was given.
        importance: 0..1, or None for an item that nobody rated, which counts least.
        token_cost: size in tokens as the caller counts them, or None.
        payload: a JSON object. Its texts are what a search finds.

    Raises InvalidInput for fields of another form.
    """

    context_item_id: str
    kind: str
    source: str | None = None
    timestamp: str = ""
    tags: Sequence[str] = ()
    importance: float | None = 0.5
    token_cost: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        moment = clock.parse(self.timestamp, "timestamp") if self.timestamp else clock.now()
        object.__setattr__(self, "timestamp", moment.isoformat())
        object.__setattr__(self, "tags", list(checked_names(self.tags, "tags")))
        if self.importance is not None:
            object.__setattr__(self, "importance", check_importance(self.importance))
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
    """The contract, bound to a namespace. Made by :meth:`memwarden.api.warden.AsyncWarden.backend`."""

    def __init__(
        self, store: Store, items: ItemWriter, indexes: NamespaceIndexes, larges: LargeNamespaces, namespace: Namespace
    ) -> None:
        self._store = store
        self._items = items
        self._indexes = indexes
        self._larges = larges
        self.namespace = namespace

    async def add(self, item: Any) -> None:
        """Store an item, in place of an item with the same id.

        item: a ContextItem, or an object of another class with its fields, which is checked alike.

        A tool's output, or an item with a page or a document as its source, is quarantined when it looks like orders
        for an assistant: then there is no item of that id, and the journal has a QUARANTINE.

        Raises InvalidInput for a payload other than a JSON object, Conflict for an id in use by anything but an item;
        MemoryBackendError (a StoreError and a MemoryError) when the storage fails.
        """
        memory = as_memory(read_item(item), self.namespace, strict=self._items.strict)
        try:
            found = await self._store.get(self.namespace, [memory.id])
            if found and found[0].channel in (Channel.TURN, Channel.STATE):
                raise Conflict(f"the id {memory.id!r} is in use in {self.namespace.path} by something that is no item")
            await self._items.upsert(memory)
        except StoreError as error:
            raise MemoryBackendError(str(error)) from error

    async def query(
        self, filters: Mapping[str, Any], limit: int = 100, order_by: str = "timestamp"
    ) -> list[ContextItem]:
        """Return items that match every filter (:mod:`memwarden.filters`), newest or largest first.

        Every field of an item can be asked for, ``token_cost``, ``tags`` and ``payload`` too; the last two as a whole
        by ``$eq`` and ``$ne``. ``order_by`` names a field; with a leading ``-`` the order is ascending. Items without
        a value for it come last. Raises InvalidFilter.
        """
        asked = _read_query(filters, order_by)
        most = _whole(limit, "limit")
        if asked.plain:
            return [as_item(memory) for memory in await self._find(asked.where, most, asked.order_by, asked.descending)]
        found = [as_item(memory) for memory in await self._find(asked.where, 10**9, "created_at", True)]
        return asked.arrange(found)[:most]

    async def get(self, item_id: str) -> ContextItem | None:
        """Return an item, or None."""
        found = await self._read_stored(item_id)
        return as_item(found) if found else None

    async def delete(self, item_id: str) -> bool:
        """Remove an item. Returns whether it existed."""
        found = await self._read_stored(item_id)
        return found is not None and await self._items.remove(self.namespace, [found.id]) > 0

    async def promote(self, item_id: str, to: str) -> str:
        """Copy an item of a task to its project, or of a project to ``global``; return the copy's id.

        Copied, confirmed and then noted in both journals. After a kill a second call continues where the first stopped,
        and each content of an item is copied once. The item stays where it is.

        Raises NotFound for an unknown item, InvalidInput for another direction.
        """
        target = parse_namespace(to, self.namespace.tenant)
        kinds = [item.path.partition("/")[0] for item in (self.namespace, target)]
        if PROMOTION_TARGETS.get(kinds[0]) != kinds[1]:
            raise InvalidInput(
                f"items go from task/<id> to project/<id> and from project/<id> to global, not from "
                f"{self.namespace.path} to {target.path}"
            )

        async def promote() -> str:
            found = await self._read_stored(item_id)
            if found is None:
                raise NotFound(f"no item {item_id!r} in {self.namespace.path}")
            return await self._items.promote(found, target)

        return await change_atomically((self.namespace, item_id), promote)

    async def list_all(self) -> list[ContextItem]:
        """Return every item, the first added first."""
        most = await self._store.count(self.namespace)
        return [as_item(item) for item in await self._find((), most, filters.WRITTEN, False)]

    async def clear(self) -> None:
        """Remove every item, in a single batch."""
        await self._items.remove(self.namespace, [item.context_item_id for item in await self.list_all()])

    async def count(self) -> int:
        """Return the number of items."""
        return await self._store.count(self.namespace, ITEMS)

    async def query_semantic(self, query_embedding: Sequence[float], limit: int) -> list[ContextItem]:
        """Return the items nearest to an embedding by cosine, nearest first.

        Exact, but of a namespace of more than ``search_above`` memories with more than 2,000 items.
        Raises InvalidInput for an embedding of a size other than the model's, or a store without a model.
        """
        from memwarden.recall.index.rows import find_nearest  # numpy

        embedding, most = _numbers(query_embedding), _whole(limit, "limit")
        large = await self._larges.find_nearest(self.namespace, ITEMS, embedding)
        index = large or await self._indexes.current(self.namespace)
        ids = find_nearest(index, embedding, most, ITEMS)
        return [as_item(memory) for memory in await self._store.get(self.namespace, ids)]

    async def _find(self, where: filters.Where, limit: int, order_by: str, descending: bool) -> list[Memory]:
        return await self._store.find(
            self.namespace, (*ITEMS, *where), limit=limit, order_by=order_by, descending=descending
        )

    async def _read_stored(self, item_id: str) -> Memory | None:
        return await stored_item(self._store, self.namespace, item_id)


async def stored_item(store: Store, namespace: Namespace, item_id: str) -> Memory | None:
    """Return the memory of an item, or None; turns and saved state are no items. Raises InvalidInput."""
    name = checked_name(item_id, "item_id")
    if name is None:
        raise InvalidInput("item_id is a text, not None")
    found = await store.get(namespace, [name])
    known = found and found[0].channel not in (Channel.TURN, Channel.STATE) and name != CONTEXT_ID
    return found[0] if known else None


# Excludes turns, state saved by key, and the user context, which are no items.
ITEMS = tuple(
    condition
    for field, value in (("channel", Channel.TURN), ("channel", Channel.STATE), ("id", CONTEXT_ID))
    for condition in filters.parse({field: {"$ne": value}})
)


# Fields that are compared as a whole: no engine has an index for them.
_WHOLE_FIELDS = ("payload", "tags")


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """A checked query: what the store answers, and what is left to compare here.

    Attributes:
        rest: field, ``$eq`` or ``$ne``, and the wanted value.
        plain: whether the store answers all of it, the order too.
    """

    where: filters.Where
    rest: Sequence[tuple[str, str, Any]]
    order_by: str
    descending: bool

    @property
    def plain(self) -> bool:
        # Stores put an item without importance first where the order is ascending.
        unrated_first = self.order_by == "importance" and not self.descending
        return not self.rest and not unrated_first and self.order_by not in _WHOLE_FIELDS

    def arrange(self, items: Sequence[ContextItem]) -> list[ContextItem]:
        """Return the items that match the rest, in the wanted order; ``items`` are the newest first."""
        found = [item for item in items if all(_agrees(item, *test) for test in self.rest)]
        if not self.descending:
            found.reverse()  # equal values keep the order of writing, the last first with descending
        name = {"created_at": "timestamp", "id": "context_item_id"}.get(self.order_by, self.order_by)
        having = [item for item in found if getattr(item, name, None) is not None]
        lacking = [item for item in found if getattr(item, name, None) is None]
        having.sort(key=lambda item: _sort_key(getattr(item, name)), reverse=self.descending)
        return [*having, *lacking]


def _read_query(wanted: Mapping[str, Any], order_by: Any) -> ItemQuery:
    """Return a caller's query of items. Raises InvalidFilter, InvalidInput for an order that is no text."""
    if not isinstance(order_by, str):
        raise InvalidInput(f"order_by is the name of a field, not {quote(order_by)}")
    name = order_by.removeprefix("-")
    field = name if name in _WHOLE_FIELDS else filters.sort_field(name)
    given = dict(wanted) if isinstance(wanted, Mapping) else wanted
    rest = [test for name in _WHOLE_FIELDS for test in _whole_tests(name, given)]
    return ItemQuery(_rated(filters.parse(given, filters.ITEM_FIELDS)), rest, field, not order_by.startswith("-"))


def _whole_tests(name: str, given: Any) -> list[tuple[str, str, Any]]:
    """Take the tests of a field as a whole out of a caller's filters."""
    value = given.get(name) if isinstance(given, dict) else None
    if not isinstance(value, Mapping) or not (name == "payload" or {*value} & {"$eq", "$ne"}):
        if name == "payload" and value is not None:
            raise InvalidFilter(f"'payload' takes a JSON object, not {quote(value)}")
        if name == "payload" and isinstance(given, dict):
            given.pop(name, None)
        return []
    del given[name]
    tests = value if value and all(str(key).startswith("$") for key in value) else {"$eq": value}
    for op in tests:
        if op not in ("$eq", "$ne"):
            raise InvalidFilter(f"operator {op} does not apply to {name!r}, which is compared as a whole: $eq or $ne")
    return [(name, op, _plain(wanted)) for op, wanted in tests.items()]


def _rated(where: filters.Where) -> filters.Where:
    """Return conditions in which an item without importance is smaller than none, and equals None."""
    said: list[filters.Condition] = []
    for condition in where:
        if condition.field == "importance" and condition.value is None:
            condition = condition._replace(value=UNRATED)
        elif condition.field == "importance" and condition.op in ("$gt", "$gte", "$lt", "$lte"):
            said.append(filters.Condition("importance", "$ne", UNRATED))
        said.append(condition)
    return tuple(said)


def _agrees(item: ContextItem, name: str, op: str, wanted: Any) -> bool:
    return bool(_plain(getattr(item, name)) == wanted) == (op == "$eq")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: tuples are lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _sort_key(value: Any) -> Any:
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, Mapping) else value


def parse_namespace(path: str, tenant: str) -> Namespace:
    """Return the namespace of a path: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``.

    An id is a name as a scope takes it, so that ``user/<id>`` is where the scope of that user writes.
    """
    kind, _, given = path.partition("/") if isinstance(path, str) else ("", "", "")
    if path != "global" and (kind not in KINDS_OF_NAMESPACE or not given):
        raise InvalidInput(f"a namespace is user/<id>, project/<id>, task/<id> or global, not {path!r:.80}")
    name = checked_name(given, "the id in a namespace") if given else None
    return Namespace(checked_name(tenant, "tenant") or "default", f"{kind}/{name}" if name else "global")


def read_item(item: Any) -> ContextItem:
    """Return an item of any class with the fields of ContextItem as one, checked. Raises InvalidInput."""
    if isinstance(item, ContextItem):
        return item
    if isinstance(item, Mapping) or not all(hasattr(item, name) for name in ("context_item_id", "kind", "payload")):
        raise InvalidInput(f"an item is a ContextItem or has its fields, not {quote(item)}")
    return ContextItem(
        **{each.name: getattr(item, each.name) for each in fields(ContextItem) if hasattr(item, each.name)}
    )


def as_memory(item: ContextItem, namespace: Namespace, *, strict: bool = False) -> Memory:
    """Return an item as the memory to store. Raises InvalidInput for a payload other than a JSON object.

    strict: codes of a home are secrets, too.
    """
    payload = _payload(item, strict)
    return Memory(
        id=item.context_item_id,
        namespace=namespace,
        text=_text(item, payload),
        created_at=clock.parse(item.timestamp, "timestamp"),
        updated_at=clock.now(),
        channel=Channel.SEMANTIC,
        kind=item.kind,
        importance=UNRATED if item.importance is None else item.importance,
        tags=checked_names(item.tags, "tags"),
        source=item.source,
        payload=payload,
        token_cost=item.token_cost,
        trust=trust_of_item(item.kind, item.source),
    )


def as_item(memory: Memory) -> ContextItem:
    """Return a memory as an item, unchecked: it was checked when written, and a check takes longer than the rest."""
    item = object.__new__(ContextItem)
    fill = object.__setattr__
    fill(item, "context_item_id", memory.id)
    fill(item, "kind", memory.kind)
    fill(item, "source", memory.source)
    fill(item, "timestamp", memory.created_at.isoformat())
    fill(item, "tags", list(memory.tags))
    fill(item, "importance", None if memory.importance == UNRATED else memory.importance)
    fill(item, "token_cost", memory.token_cost)
    fill(item, "payload", dict(memory.payload or {}))
    return item


def _payload(item: ContextItem, strict: bool) -> dict[str, Any]:
    """Return the payload as every store gives it back: plain JSON, without secrets."""
    try:
        said = json.dumps(dict(item.payload), allow_nan=False, ensure_ascii=False)
        said.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload of {item.context_item_id!r} is no JSON object: {error}") from None
    cleaned, _ = redact_value(json.loads(said), strict=strict)
    return dict(cleaned)


def _text(item: ContextItem, payload: Mapping[str, Any]) -> str:
    """Return the texts of a payload, each on a line; the kind when there are none."""
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
    """Return an embedding as plain numbers; the index checks its size and zeros. Raises InvalidInput."""
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
