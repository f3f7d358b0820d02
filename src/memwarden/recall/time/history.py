"""Reads the history of a memory or namespace: journal entries with their contents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memwarden.errors import NotFound
from memwarden.records import Event, HistoryEntry, JournalEntry, Memory, Namespace
from memwarden.stores.protocol import Store

HISTORY_PAGE = 500
EDGE_EVENTS = (Event.LINK, Event.UNLINK)
META_IDS = ("by", "of", "into", "near", "to")
"""Under these names the meta of an entry holds the id of another memory."""


class JournalContents(NamedTuple):
    """What the store knows of journal entries: contents by id and version, and the categories of memories now."""

    contents: Mapping[tuple[str, int], Memory]
    categories: Mapping[str, str]


async def read_history(
    store: Store,
    namespace: Namespace,
    memory_id: str | None,
    *,
    since: int,
    limit: int,
    readable: Collection[str] | None,
    descending: bool = False,
) -> list[HistoryEntry]:
    """Return journal entries after a revision with their contents, oldest first, at most ``limit``.

    Args:
        memory_id: of a single memory; None for the whole namespace.
        readable: the categories that may be shown; None for all. What is about others too is left out, and so is the
            meta that names them.
        descending: the newest first.

    Raises NotFound for a memory that there never was, or that may not be shown.
    """
    if memory_id is not None:
        found = await store.get(namespace, [memory_id], removed=True)
        if not found or (readable is not None and found[0].category not in readable):
            raise NotFound(f"no memory {memory_id!r} in {namespace.path}")
    if descending:
        return await _read_newest(store, namespace, memory_id, since, limit, readable)
    shown: list[HistoryEntry] = []
    while len(shown) < limit:
        most = min(HISTORY_PAGE, limit - len(shown)) if readable is None else HISTORY_PAGE
        page = await store.journal(namespace, since=since, memory_id=memory_id, limit=most)
        shown += await _show_entries(store, namespace, page, readable)
        if len(page) < most:
            break
        since = page[-1].seq
    return shown[:limit]


async def _read_newest(
    store: Store,
    namespace: Namespace,
    memory_id: str | None,
    since: int,
    limit: int,
    readable: Collection[str] | None,
) -> list[HistoryEntry]:
    """The newest entries first. A store has no pages from behind, so twice as many are read each time."""
    shown: list[HistoryEntry] = []
    most, below = limit if readable is None else HISTORY_PAGE, None
    while True:
        page = await store.journal(namespace, since=since, memory_id=memory_id, descending=True, limit=most)
        shown += await _show_entries(
            store, namespace, [item for item in page if below is None or item.seq < below], readable
        )
        if len(page) < most or len(shown) >= limit:
            return shown[:limit]
        most, below = 2 * most, page[-1].seq


async def may_show_all(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str] | None
) -> bool:
    """Whether a history would show each of these entries."""
    if readable is None:
        return True
    known = await _read_contents(store, namespace, entries, categories=True)
    return all(_may_be_shown(entry, known, readable) for entry in entries)


async def _show_entries(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str] | None
) -> list[HistoryEntry]:
    known = await _read_contents(store, namespace, entries, categories=readable is not None)
    if readable is None:
        return [_make_entry(entry, known, entry.meta) for entry in entries]
    return [
        _make_entry(entry, known, entry.meta if _may_be_named(entry, known, readable) else None)
        for entry in entries
        if _may_be_shown(entry, known, readable)
    ]


async def _read_contents(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], *, categories: bool
) -> JournalContents:
    wanted = [(entry.memory_id, version) for entry in entries for version in _versions(entry)]
    found = await store.versions(namespace, list(dict.fromkeys(wanted))) if wanted else []
    ids = (
        dict.fromkeys(item for entry in entries for item in (entry.memory_id, *_ids_in_meta(entry)))
        if categories
        else ()
    )
    now = await store.get(namespace, list(ids), removed=True) if ids else []
    contents = {(memory.id, memory.version): memory for memory in found}
    return JournalContents(contents, {memory.id: memory.category for memory in now})


def _may_be_shown(entry: JournalEntry, known: JournalContents, readable: Collection[str]) -> bool:
    """Whether an entry's contents and its memories as they are now may all be shown.

    What is no longer in the store may not: nobody knows what it was.
    """
    contents = [known.contents.get((entry.memory_id, version)) for version in _versions(entry)]
    then = {memory.category for memory in contents if memory is not None}
    now = [known.categories.get(item) for item in _ids_about(entry)]
    return then <= set(readable) and all(item in readable for item in now)


def _may_be_named(entry: JournalEntry, known: JournalContents, readable: Collection[str]) -> bool:
    """Whether every memory that the meta names may be shown; if not, the meta is hidden."""
    return all(known.categories.get(item) in readable for item in _ids_in_meta(entry))


def _ids_in_meta(entry: JournalEntry) -> Iterator[str]:
    """Yield the ids of the memories in an entry's meta."""
    for name in META_IDS:
        told = (entry.meta or {}).get(name)
        if isinstance(told, str):
            yield told


def _ids_about(entry: JournalEntry) -> Iterable[str]:
    """Return the memory id of an entry, and that of the edge's other end."""
    return (entry.memory_id, str((entry.meta or {})["to"])) if entry.event in EDGE_EVENTS else (entry.memory_id,)


def _versions(entry: JournalEntry) -> list[int]:
    """Return the versions that an entry refers to; a link changes no content."""
    if entry.event in EDGE_EVENTS:
        return []
    return [version for version in (entry.old_version, entry.new_version) if version is not None]


def _make_entry(entry: JournalEntry, known: JournalContents, meta: Mapping[str, Any] | None) -> HistoryEntry:
    contents = known.contents
    old, new = (entry.old_version, entry.new_version) if entry.event not in EDGE_EVENTS else (None, None)
    return HistoryEntry(
        seq=entry.seq,
        event=entry.event,
        memory_id=entry.memory_id,
        old=None if old is None else contents.get((entry.memory_id, old)),
        new=None if new is None else contents.get((entry.memory_id, new)),
        actor=entry.actor,
        thread_id=entry.thread_id,
        at=entry.at,
        step=entry.step,
        meta=meta,
    )
