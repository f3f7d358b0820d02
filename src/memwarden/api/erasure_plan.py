"""Decides which memories an erasure removes, from the memories of a namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from memwarden.records import EXTRACTED_BY, Channel, Memory


class RemovalPlan(NamedTuple):
    """Memories that an erasure removes, with the memories that name them.

    ids: ids of removed memories, first those that the erasure begins with. citing: ids of memories that stay although
    they name a removed memory as their source. named: ids that callers gave to removed memories, by thread.
    """

    ids: tuple[str, ...]
    citing: tuple[str, ...]
    named: tuple[tuple[str | None, frozenset[str]], ...]


def plan_removal(begun: Iterable[str], known: Mapping[str, Memory], merged: Mapping[str, str]) -> RemovalPlan:
    """Extend an erasure to every memory that rests on a removed memory.

    Args:
        begun: ids of the memories that the caller erases. Unknown ids are ignored.
        known: every memory of the namespace by its id.
        merged: id of the memory that absorbed another, by the id of the absorbed memory.
    """
    going: dict[str, None] = dict.fromkeys(item for item in begun if item in known)
    while True:
        by_thread: dict[str | None, set[str]] = {}
        for name in going:
            by_thread.setdefault(known[name].thread_id, set()).update(known[name].sources)
        staying = [item for name, item in known.items() if name not in going]
        resting = [item.id for item in staying if _rests_on(item, going, by_thread, merged)]
        if not resting:
            citing = tuple(item.id for item in staying if _names(item, going, by_thread))
            named = tuple((place, frozenset(names)) for place, names in by_thread.items() if names)
            return RemovalPlan(tuple(going), citing, named)
        going.update(dict.fromkeys(resting))


def _names(item: Memory, going: Mapping[str, None], by_thread: Mapping[str | None, Set[str]]) -> bool:
    """Whether a memory names a removed memory as its source, by our id or, within its thread, by its caller's."""
    named = by_thread.get(item.thread_id, set()) if item.channel != Channel.TURN else set()
    return any(source in going or source in named for source in item.sources)


def _rests_on(
    item: Memory, going: Mapping[str, None], by_thread: Mapping[str | None, Set[str]], merged: Mapping[str, str]
) -> bool:
    """Whether a memory was merged into a removed memory or rests on removed memories.

    A statement that other threads make as well stays if its first source was in another thread. An extract of the
    erased thread or turn goes with any of its sources. by_thread: callers' ids, which count within their thread.
    """
    if merged.get(item.id) in going:
        return True
    if not item.sources or item.channel == Channel.TURN:
        return False
    named = by_thread.get(item.thread_id)
    resting = [source in going or (named is not None and source in named) for source in item.sources]
    partly = item.thread_id is None or (named is not None and item.actor_id == EXTRACTED_BY)
    return all(resting) or (partly and any(resting))
