"""The history of a memory, or of a whole namespace: the journal with the contents that it refers to (B8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from memwarden.errors import NotFound
from memwarden.records import Change, Event, HistoryEntry, Memory, Namespace
from memwarden.stores.base import Store

PAGE = 500
EDGES = (Event.LINK, Event.UNLINK)
Contents = Mapping[tuple[str, int], Memory]


async def history(
    store: Store,
    namespace: Namespace,
    memory_id: str | None,
    *,
    since: int,
    limit: int,
    readable: Collection[str] | None,
) -> list[HistoryEntry]:
    """Return journal entries after a revision with their contents, oldest first, at most ``limit``.

    Args:
        memory_id: of one memory; None for all of the namespace.
        readable: the categories that may be shown; None for all. What is about others too is left out.

    Raises NotFound for a memory that there never was, or that may not be shown.
    """
    if memory_id is not None:
        found = await store.get(namespace, [memory_id], removed=True)
        if not found or (readable is not None and found[0].category not in readable):
            raise NotFound(f"no memory {memory_id!r} in {namespace.path}")
    shown: list[HistoryEntry] = []
    while len(shown) < limit:
        most = min(PAGE, limit - len(shown)) if readable is None else PAGE
        page = await store.journal(namespace, since=since, memory_id=memory_id, limit=most)
        shown += await _shown(store, namespace, page, readable)
        if len(page) < most:
            break
        since = page[-1].seq
    return shown[:limit]


async def _shown(
    store: Store, namespace: Namespace, entries: Sequence[Change], readable: Collection[str] | None
) -> list[HistoryEntry]:
    wanted = [(one.memory_id, version) for one in entries for version in _versions(one)]
    found = await store.versions(namespace, list(dict.fromkeys(wanted))) if wanted else []
    contents = {(memory.id, memory.version): memory for memory in found}
    if readable is not None:
        named = dict.fromkeys(one for entry in entries for one in _about(entry))
        last = await store.get(namespace, list(named), removed=True)
        categories = {memory.id: memory.category for memory in last}
        entries = [entry for entry in entries if _may_be_shown(entry, contents, categories, readable)]
    return [_entry(entry, contents) for entry in entries]


def _may_be_shown(entry: Change, contents: Contents, categories: Mapping[str, str], readable: Collection[str]) -> bool:
    """Whether the contents of an entry and the memories that it is about, as they are now, may all be shown.

    What is no longer in the store may not: nobody knows what it was.
    """
    then = {memory.category for version in _versions(entry) if (memory := contents.get((entry.memory_id, version)))}
    now = [categories.get(one) for one in _about(entry)]
    return then <= set(readable) and all(one in readable for one in now)


def _about(entry: Change) -> Iterable[str]:
    """The memory of an entry, and that at the other end of an edge."""
    return (entry.memory_id, str((entry.meta or {})["to"])) if entry.event in EDGES else (entry.memory_id,)


def _versions(entry: Change) -> list[int]:
    """The versions that an entry refers to; a link changes no content."""
    if entry.event in EDGES:
        return []
    return [version for version in (entry.old_version, entry.new_version) if version is not None]


def _entry(entry: Change, contents: Contents) -> HistoryEntry:
    old, new = (entry.old_version, entry.new_version) if entry.event not in EDGES else (None, None)
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
        meta=entry.meta,
    )
