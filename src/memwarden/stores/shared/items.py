"""Items: JSON values under a path and a key. The last write wins. LangGraph's store is built on them.

They live beside the memories of a namespace, in tables of their own: no journal, no versions, no recall
(``docs/why/langgraph-items.md``). A path is dotted labels, ``users.ana.notes``. Under a path lie the path itself and
every longer path that begins with its labels. An engine offers :class:`Items` and :class:`ItemsView`;
:func:`answer_search` answers searches for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol

from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.stores.protocol import Store

# Items per read while a search goes through them.
CHUNK = 500
# Where it is kept which memories a request was given, and why: a JSON object with the ids, and the thread_id.
TRACES = "traces"
# Maximum bytes of a path and of a key. PostgreSQL takes less: both together have to fit its index pages.
MAX_NAME_BYTES = 16_000

# Where an item is: its path and its key.
ItemPlace = tuple[str, str]
# Whether a value, as its JSON text, is wanted.
Matches = Callable[[str], bool]
# How close each of some vectors is to what is asked for. More is closer.
Rank = Callable[[Sequence[bytes]], Sequence[float]]


class StoredItem(NamedTuple):
    """An item as stored.

    path: dotted labels. value: JSON text. created_at, updated_at, expires_at: microseconds since 1970.
    ttl: minutes that it lives after it was last written or refreshed; None: for ever.
    """

    path: str
    key: str
    value: str
    created_at: int
    updated_at: int
    ttl: float | None = None
    expires_at: int | None = None


class PutItem(NamedTuple):
    """Write an item. What is there keeps its ``created_at``, nothing else.

    vectors: (field, float32 numbers as little-endian bytes) each. All earlier ones go.
    """

    item: StoredItem
    vectors: tuple[tuple[str, bytes], ...] = ()


class DropItem(NamedTuple):
    """Remove an item for good. A missing item is no error."""

    path: str
    key: str


ItemChange = PutItem | DropItem


class ItemSearch(NamedTuple):
    """A search for items.

    path: under which; None: all. matches: None: every value. rank: None: the last written first. alive_at: leave out
    items that expired by then, microseconds since 1970; None: expired items count too. needles: of each, at least a
    single text occurs in every wanted value, so that an engine may leave out others by itself.
    """

    path: str | None
    limit: int
    offset: int = 0
    matches: Matches | None = None
    rank: Rank | None = None
    alive_at: int | None = None
    needles: tuple[tuple[str, ...], ...] = ()


class ItemHit(NamedTuple):
    """A found item and its closeness. None without a rank, and for an item without vectors."""

    item: StoredItem
    score: float | None


class Items(Protocol):
    """An engine's items. Every method raises StoreError, and StoreUnavailable when the store is not open.

    durable: whether an acknowledged write survives the death of the process.
    """

    durable: ClassVar[bool]

    async def get(
        self, namespace: Namespace, places: Sequence[ItemPlace], *, alive_at: int | None = None
    ) -> dict[ItemPlace, StoredItem]:
        """Return the items that exist at these places."""

    async def vectors(
        self, namespace: Namespace, places: Sequence[ItemPlace]
    ) -> dict[ItemPlace, tuple[tuple[str, bytes], ...]]:
        """Return the vectors of the items at these places that have any, as :class:`PutItem` holds them, by field."""

    async def search(self, namespace: Namespace, search: ItemSearch) -> list[ItemHit]:
        """Return the page of items that a search asks for: see :func:`answer_search`."""

    async def paths(self, namespace: Namespace, under: str | None, *, alive_at: int | None = None) -> list[str]:
        """Return the paths under a path (None: all) that hold an item, in no order."""

    async def keys(self, namespace: Namespace, path: str, begins: str = "") -> list[str]:
        """Return the keys at exactly this path that begin with a text, sorted by code point."""

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> int:
        """Apply changes of different places atomically; return how many items were removed, once that is durable.

        Of several callers that remove the same item, one alone counts it.
        """

    async def refresh(
        self, namespace: Namespace, places: Sequence[ItemPlace], at: int, *, alive_at: int | None = None
    ) -> None:
        """Restart the lifetime of items that have one at a moment."""

    async def sweep(self, namespace: Namespace, at: int) -> int:
        """Remove the items of a namespace whose lifetime ended before a moment. Return how many."""


def require_items(store: Store) -> Items:
    """Return the items of a store. Raises InvalidInput unless it keeps them as durably as memories."""
    items: Items | None = getattr(store, "items", None)
    if items is None or store.promises.durable > items.durable:  # what is acknowledged would be lost at the end
        raise InvalidInput(f"a {type(store).__name__} keeps no items; use memory://, SQLite or PostgreSQL")
    return items


def check_name(text: str, what: str) -> str:
    """Return a path or a key. Raises InvalidInput, naming ``what``, if it is too long or not valid Unicode."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid Unicode: {text!r:.80}") from None
    if size > MAX_NAME_BYTES:
        raise InvalidInput(f"{what} has at most {MAX_NAME_BYTES:,} bytes, not {size:,}: {text!r:.80}")
    return text


class ItemsView(Protocol):
    """A snapshot of a namespace's items. An identity is the engine's own key of an item."""

    def newest(self, search: ItemSearch, most: int | None) -> Iterable[Any]:
        """Return identities under the path, the last written first, at equal times by path and key.

        At most ``most`` of them, beginning with the offset; None: all, from the first. Those in whose values the
        needles do not occur may be left out, before they are counted.
        """

    def page(self, search: ItemSearch, most: int) -> Sequence[StoredItem]:
        """Return the items of ``newest(search, most)``."""

    def read(self, identities: Sequence[Any]) -> Mapping[Any, StoredItem]:
        """Return these items."""

    def vectors(self, search: ItemSearch) -> Iterator[Sequence[tuple[Any, bytes]]]:
        """Return the vectors under the path with the identities of their items, some at a time."""


def is_under(path: str, prefix: str | None) -> bool:
    """Return whether a path equals a prefix or begins with its labels. Every path is under None."""
    return prefix is None or path == prefix or path.startswith(f"{prefix}.")


def answer_search(view: ItemsView, search: ItemSearch) -> list[ItemHit]:
    """Return the items that match: the closest first, by their closest vector. Without a rank the last written first.

    Items without vectors come behind those that have some, the last written first, and have no score.
    """
    # Without a rank the engine sorts and limits by itself, so only a page of items is read.
    if search.rank is None:
        return [ItemHit(item, None) for item in _newest(view, search)]
    wanted = None if search.matches is None else dict(_matching(view, search))
    best: dict[Any, float] = {}
    for some in view.vectors(search):
        asked = [(item, vector) for item, vector in some if wanted is None or item in wanted]
        for (item, _), score in zip(asked, search.rank([vector for _, vector in asked]), strict=True):
            if score > best.get(item, float("-inf")):
                best[item] = score
    order = list(view.newest(search, None)) if wanted is None else list(wanted)
    ranked = sorted(
        (item for item in order if item in best), key=lambda item: -best[item]
    )  # stable: of equal scores the newer item comes first
    ranked += [item for item in order if item not in best]
    page = ranked[search.offset : search.offset + search.limit]
    found = view.read(page) if wanted is None else wanted
    return [ItemHit(found[item], best.get(item)) for item in page]


def _newest(view: ItemsView, search: ItemSearch) -> list[StoredItem]:
    if search.matches is None:
        return list(view.page(search, search.limit))
    matching = _found_by_needles(view, search) if search.needles else (item for _, item in _matching(view, search))
    return list(islice(matching, search.offset, search.offset + search.limit))


def _found_by_needles(view: ItemsView, search: ItemSearch) -> Iterator[StoredItem]:
    """Yield the matching items, the last written first. Nearly all that the engine lets through are wanted."""
    assert search.matches is not None
    start, most = 0, search.offset + search.limit
    while most:
        some = view.page(search._replace(offset=start), most)
        yield from (item for item in some if search.matches(item.value))
        start, most = start + most, 0 if len(some) < most else max(CHUNK, 4 * most)


def _matching(view: ItemsView, search: ItemSearch) -> Iterator[tuple[Any, StoredItem]]:
    """Yield the matching items lazily, the last written first."""
    assert search.matches is not None
    order = iter(view.newest(search, None))
    while some := list(islice(order, CHUNK)):
        found = view.read(some)
        yield from ((item, found[item]) for item in some if search.matches(found[item].value))
