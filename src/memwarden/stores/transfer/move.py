"""Moves namespaces between stores of any engine, and compares what two stores hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from memwarden.errors import Conflict, ModelMismatch
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.beside import (
    check_beside,
    digest_beside,
    digest_line,
    keeps_checkpoints,
    keeps_items,
    read_beside,
    write_beside,
)
from memwarden.stores.transfer.pages import PAGE, Page, Tally

# Maximum attempts for a namespace whose source is written to meanwhile.
_MAX_ATTEMPTS = 5
_JOURNAL_PAGE = 1000
# Fields that callers may give as whole numbers. Engines return floats.
_AS_FLOAT = frozenset({"importance", "strength"})


class TransferPlan(NamedTuple):
    """A namespace to move. rev: the source's revision. there: the target's revision so far."""

    namespace: Namespace
    rev: int
    there: int
    rows: Tally


class NamespaceSeal(NamedTuple):
    """The fingerprint of a namespace: its revision, rows of each kind, and a digest of their content."""

    rev: int
    rows: Tally
    digest: str


class NamespaceTransfer(NamedTuple):
    """A moved namespace, and the seals of both sides."""

    namespace: Namespace
    source: NamespaceSeal
    target: NamespaceSeal

    @property
    def same(self) -> bool:
        return self.source == self.target


class NamespaceExtras(NamedTuple):
    """Counts of what a namespace holds beside its memories: items and checkpoints."""

    namespace: Namespace
    items: int
    states: int


@runtime_checkable
class StoreWithExtras(Protocol):
    """A store that keeps items and checkpoints beside memories."""

    async def beside(self) -> list[NamespaceExtras]:
        """Return the counts of namespaces that hold any, sorted by namespace.

        Raises StoreError; StoreUnavailable for a login that may not read them.
        """


async def find_unmoved(source: Store, target: Store) -> list[NamespaceExtras]:
    """Return what :func:`move_beside` does not move, since the target would not keep it."""
    left = []
    for held in await _find_extras(source):
        items = 0 if keeps_items(target) is not None else held.items
        states = 0 if keeps_checkpoints(target) else held.states
        if items or states:
            left.append(held._replace(items=items, states=states))
    return left


async def move_beside(source: Store, target: Store) -> list[NamespaceExtras]:
    """Copy items and checkpoints of every namespace, and return what was not copied. The source stays as it is.

    An interrupted call may be made again. Raises Conflict when the target holds others in such a namespace, or the
    source is written to meanwhile.
    """
    for held in await _find_extras(source):
        known = {digest_line(line) async for line in read_beside(source, held.namespace)}
        await check_beside(target, held.namespace, known)
        await write_beside(target, held.namespace, read_beside(source, held.namespace))
        whole = keeps_items(target) is not None and keeps_checkpoints(target)
        if whole and await digest_beside(source, held.namespace) != await digest_beside(target, held.namespace):
            raise Conflict(f"{held.namespace} of the source was written to; stop that, and start again")
    return await find_unmoved(source, target)


async def _find_extras(source: Store) -> list[NamespaceExtras]:
    return await source.beside() if isinstance(source, StoreWithExtras) else []


async def plan_transfer(source: Store, target: Store) -> list[TransferPlan]:
    """Return the namespaces to move, sorted. Nothing is written.

    Raises ModelMismatch when the target is bound to another embedding model, Conflict for a namespace of the target
    that is not a prefix of the source's.
    """
    mine, theirs = (await source.about()).model, (await target.about()).model
    if mine is not None and theirs not in (None, mine):
        raise ModelMismatch(
            f"the source holds vectors of {mine!r}, the target of {theirs!r}, and vectors are moved as they are; "
            "choose another target"
        )
    return [await _plan_namespace(source, target, namespace) for namespace in await source.namespaces()]


async def move_namespaces(
    source: Store, target: Store, tick: Callable[[int], None] = lambda done: None
) -> list[NamespaceTransfer]:
    """Copy every namespace whole, and compare both sides. The source stays as it is.

    Resumes an interrupted call, and copies what was written to the source since. Other namespaces of the target are
    left alone.

    Args:
        tick: called with the number of copied revisions.

    Raises what :func:`plan_transfer` raises, before anything is written; Conflict when another writer changes
    the target's namespace meanwhile, or the source's without a pause.
    """
    parts = await plan_transfer(source, target)
    model = (await source.about()).model
    # Bound before the first page: vectors are copied as they are, so another model must not get in between.
    if model is not None:
        await target.identity(model)
    return [await _move_namespace(source, target, part.namespace, tick) for part in parts]


async def seal_namespace(store: Store, namespace: Namespace, *, limit: int = PAGE) -> NamespaceSeal:
    """Return what a store holds of a namespace. Two stores that answer alike hold the same, whatever their engines."""
    digest = hashlib.sha256()
    since, last = 0, False
    while not last:
        page = await store.dump_page(namespace, since, limit=limit)
        for line in _lines(page):
            digest.update(line.encode())
        since, last = page.rev, page.rev >= page.head
    return NamespaceSeal(since, await store.tally(namespace), digest.hexdigest())


async def _plan_namespace(source: Store, target: Store, namespace: Namespace) -> TransferPlan:
    rev, there = (await source.head(namespace)).rev, (await target.head(namespace)).rev
    await _check_beginning(source, target, namespace, rev, there)
    return TransferPlan(namespace, rev, there, await source.tally(namespace))


async def _check_beginning(source: Store, target: Store, namespace: Namespace, rev: int, there: int) -> None:
    since = 0 if there <= rev else there
    while since < there:
        limit = min(_JOURNAL_PAGE, there - since)
        ours, theirs = [await item.journal(namespace, since=since, limit=limit) for item in (source, target)]
        if ours != theirs:
            break
        since += limit
    if since < there or there > rev:
        raise Conflict(f"{namespace} in the target holds something else than in the source; choose an empty target")


async def _move_namespace(
    source: Store, target: Store, namespace: Namespace, tick: Callable[[int], None]
) -> NamespaceTransfer:
    for _ in range(_MAX_ATTEMPTS):
        await _copy(source, target, namespace, tick)
        moved = NamespaceTransfer(
            namespace, await seal_namespace(source, namespace), await seal_namespace(target, namespace)
        )
        if moved.source.rev == moved.target.rev == (await source.head(namespace)).rev:
            return moved
    raise Conflict(f"{namespace} of the source is written to all the time; stop that, and start again")


async def _copy(source: Store, target: Store, namespace: Namespace, tick: Callable[[int], None]) -> None:
    since, last = (await target.head(namespace)).rev, False
    while not last:
        page = await source.dump_page(namespace, since)
        await target.load_page(page)
        tick(page.rev - since)
        since, last = page.rev, page.rev >= page.head


def _lines(page: Page) -> list[str]:
    """Return the records of a page as texts that are the same from every engine."""
    new = [
        answer for answer in page.answers if answer.receipt.rev > page.since or page.since == 0
    ]  # the others came before
    kinds = (page.changes, page.memories, page.earlier, page.edges, page.marks, new)
    return [json.dumps([number, _plain(record)]) + "\n" for number, records in enumerate(kinds) for record in records]


def _plain(value: Any, name: str = "") -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return [_plain(getattr(value, field.name), field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return hashlib.sha256(value).hexdigest()
    return float(value) if name in _AS_FLOAT else value
