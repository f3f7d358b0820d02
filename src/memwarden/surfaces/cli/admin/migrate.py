"""``memwarden migrate``: moves the memories of a store to another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from memwarden.errors import InvalidInput, NotFound, StoreUnavailable
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.move import (
    NamespaceExtras,
    NamespaceTransfer,
    TransferPlan,
    find_unmoved,
    move_beside,
    move_namespaces,
    plan_transfer,
)
from memwarden.stores.url import place_of, store_at, without_login
from memwarden.surfaces.cli.output import clean, print_json, printer, progress

FAILED = 1
DONE_IN_PART = 5


def migrate(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="The store to move, which stays as it is.")],
    target: Annotated[str, typer.Option("--to", metavar="URL", help="Where to; made when it is missing.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be moved, and move nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> int:
    """Move the memories of a store to another: every namespace with its history, and nothing is renumbered.

    What was broken off goes on where it was. At the end both sides are compared; exit code 1 when they differ. Items
    and checkpoints of LangGraph go along, except to JSON files, which keep none: what stays behind is named, with exit
    code 5. Operational events are not moved.

    \b
    Examples:
      memwarden migrate --from sqlite:///notes.db --to postgresql://memwarden:secret@db/memwarden
      memwarden migrate --from sqlite:///notes.db --to sqlite:///copy.db --dry-run
    """
    if "memory://" in (source, target):
        raise InvalidInput("memory:// lives in a single process and ends with it; name a file or a database")
    # Two spellings of a path are the same file. Databases are told apart by their URL only.
    if source == target or _file(source) == (_file(target) or ""):
        raise InvalidInput("--from and --to name the same store")
    if not _is_there(source):
        raise NotFound(f"there is no store at {source!r}")
    done: Sequence[TransferPlan | NamespaceTransfer]
    left: Sequence[NamespaceExtras] | None
    if dry_run:
        done, left = asyncio.run(_dry_run(source, target))
    else:
        done, left = asyncio.run(_move(source, target))
    names = {"from": without_login(source), "to": without_login(target)}
    if as_json:
        print_json(
            {
                **names,
                "dry_run": dry_run,
                "namespaces": [_as_json(item) for item in done],
                "not_moved": _leftovers(left),
            }
        )
    else:
        _print(done, dry_run)
        _print_leftovers(left)
    if any(isinstance(item, NamespaceTransfer) and not item.same for item in done):
        return FAILED
    # None counts as left behind, too: what could not be seen is not known to be moved.
    return 0 if left == [] else DONE_IN_PART


async def _dry_run(source: str, target: str) -> tuple[Sequence[TransferPlan], Sequence[NamespaceExtras] | None]:
    """Plan a migration without creating a missing target file."""
    async with AsyncExitStack() as opened:
        known = await _open(opened, store_at(source))
        other = await _open(opened, store_at(target) if _is_there(target) else MemoryStore())
        return await plan_transfer(known, other), await _seen(find_unmoved(known, other))


async def _move(source: str, target: str) -> tuple[Sequence[NamespaceTransfer], Sequence[NamespaceExtras] | None]:
    async with AsyncExitStack() as opened:
        known, other = [await _open(opened, store_at(url)) for url in (source, target)]
        # What a broken-off migration moved already is not moved again.
        revisions = sum(item.rev - item.there for item in await plan_transfer(known, other))
        # Revisions, not rows: pages are cut by revision, so this is what moves on evenly.
        with progress("Moving", revisions) as tick:
            moved = await move_namespaces(known, other, tick)
        return moved, await _seen(move_beside(known, other))


async def _seen(left: Awaitable[Sequence[NamespaceExtras]]) -> Sequence[NamespaceExtras] | None:
    """Return what stays behind; None when this login may not see it."""
    try:
        return await left
    except StoreUnavailable:
        return None


async def _open(opened: AsyncExitStack, store: Store) -> Store:
    await store.open()
    opened.push_async_callback(store.close)
    return store


def _is_there(url: str) -> bool:
    file = _file(url)
    return file is None or file.exists()


def _file(url: str) -> Path | None:
    place = place_of(url)
    return None if place is None else place.resolve()


def _as_json(item: TransferPlan | NamespaceTransfer) -> dict[str, object]:
    space = {"tenant": item.namespace.tenant, "path": item.namespace.path}
    if isinstance(item, TransferPlan):
        return {**space, "revision": item.rev, "there": item.there, "rows": item.rows._asdict()}
    return {
        **space,
        "revision": item.source.rev,
        "rows": item.source.rows._asdict(),
        "digest": item.source.digest,
        "same": item.same,
        **({} if item.same else {"target": {**item.target._asdict(), "rows": item.target.rows._asdict()}}),
    }


def _print(done: Sequence[TransferPlan | NamespaceTransfer], dry_run: bool) -> None:
    console = printer()
    if not done:
        console.print("There is nothing to move.")
        return
    table = Table.grid(padding=(0, 2))
    table.add_row("namespace", "memories", "versions", "changes", "there already" if dry_run else "compared")
    for item in done:
        rows, state = (
            (item.rows, f"{item.there} of {item.rev}")
            if isinstance(item, TransferPlan)
            else (item.source.rows, _same(item))
        )
        table.add_row(clean(str(item.namespace)), *map(str, (rows.memories, rows.versions, rows.journal)), state)
    console.print(table)
    different = [str(item.namespace) for item in done if isinstance(item, NamespaceTransfer) and not item.same]
    if different:
        console.print(clean(f"NOT THE SAME on both sides: {', '.join(different)}. Do not use the target."))
    elif not dry_run:
        console.print(f"Moved {len(done)} namespaces; both stores hold the same memories.")


def _leftovers(left: Sequence[NamespaceExtras] | None) -> list[dict[str, object]] | None:
    return (
        None
        if left is None
        else [
            {"tenant": item.namespace.tenant, "path": item.namespace.path, "items": item.items, "states": item.states}
            for item in left
        ]
    )


def _print_leftovers(left: Sequence[NamespaceExtras] | None) -> None:
    if left is None:
        printer().print("Whether items and saved states of agents stay behind could not be seen with this login.")
        return
    for item in left:
        said = f"NOT MOVED of {item.namespace}: {item.items:,} items, {item.states:,} saved states of agents."
        printer().print(clean(said))
    if left:
        printer().print("memwarden backup takes them along, to a store of the same engine.")


def _same(transfer: NamespaceTransfer) -> str:
    return f"same {transfer.source.digest[:12]}" if transfer.same else "DIFFERENT"
