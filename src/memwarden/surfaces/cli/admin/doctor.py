"""``memwarden doctor``: examines and repairs a store, and tests its isolation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memwarden import settings
from memwarden.errors import InvalidInput, StoreCorrupt, StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import DistributedStore, HealthCheck, HealthFinding, NodeShare, RepairReport
from memwarden.stores.shared.search import SearchableStore
from memwarden.stores.url import place_of, store_at, without_login
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer
from memwarden.surfaces.doctor import LeakReport, look_for_leaks

FAILED = 1
NOT_REPAIRABLE = (
    "What no repair can mend was lost or changed on the disk: memwarden backup restore FILE --to URL makes a store of "
    "a backup."
)
LARGE = (
    "Large for this engine, which reads a namespace into memory for its first question. One PostgreSQL searches it in "
    "the database, so move the store with memwarden migrate"
)
NO_ROW_SECURITY = (
    "This engine has no row security: whoever can read its file or its process reads all of it. What was tried here "
    "holds for calls through memwarden; PostgreSQL has a second wall."
)


@command
async def doctor(
    options: Options,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="Try every path from a tenant, user, project or agent to another's.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend indexes, orphans, counters and bloat, after a copy was made.")
    ] = False,
    backup: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where --repair copies the store to first.")
    ] = None,
) -> int:
    """Examine a store: engine, schema, model, size, each namespace, and every fault found.

    It changes nothing, but that a file of an earlier schema is upgraded when it is opened, which it says.

    With --repair what can be mended is mended, after a copy of the store was made; nothing is done where nothing is
    wrong. With --leaks canaries are planted in it, every path between them is tried, and they are taken out
    again; the keys of a server over HTTP are not tried. Exit code 1 when something leaked, or something is wrong
    that was not mended.

    \b
    Examples:
      memwarden doctor
      memwarden doctor --repair
      memwarden doctor --leaks --db postgresql://memwarden:secret@db/memwarden
    """
    # Passed over in silence it would look as if a copy had been made.
    if backup and not repair:
        raise InvalidInput("--backup says where --repair puts its copy; memwarden backup create makes a copy by itself")
    if leaks:
        return await _leaks(options)
    url = options.settings.db or settings.default_db()
    if url == "memory://":
        raise InvalidInput("memory:// is empty in every new process; name a file or a database")
    options.check_there(url)
    # The store alone: a warden would load a model, and refuse the store of another.
    store = store_at(url)
    kept = _upgrade_copies(url)
    await store.open()
    upgraded = [str(copy) for copy in _upgrade_copies(url) if copy not in kept]
    try:
        mended = await store.repair(backup) if repair and isinstance(store, HealthCheck) else None
        # Examined after the repair: what is found now is what a repair cannot mend.
        wrong, unseen = await _examine(store)
        told = await _health(store, url, wrong)
        told |= (
            {"large": _find_large(told, options.settings.search_above)}
            if not isinstance(store, SearchableStore)
            else {}
        )
    finally:
        await store.close()
    if options.as_json:
        done = {} if mended is None else {"mended": _findings(mended.done), "copy": mended.copy and str(mended.copy)}
        told |= {"upgraded_from": upgraded[-1]} if upgraded else {}
        print_json({**told, "wrong": _findings(wrong), "not_examined": unseen or None, **done})
    else:
        for copy in upgraded:
            printer().print(clean(f"It was of an earlier schema, and was upgraded. As it was, it is kept in {copy}."))
        _print_health(told)
        _print_findings(wrong, mended, unseen)
    return FAILED if wrong else 0


def _upgrade_copies(url: str) -> list[Path]:
    """Return the copies that upgrades of a SQLite file left beside it."""
    place = place_of(url)
    if place is None or not place.is_file():
        return []
    from memwarden.stores.sqlite.backup import list_copies

    return list_copies(place)


async def _examine(store: Store) -> tuple[Sequence[HealthFinding], str]:
    """Return the faults of the store, or the reason why this login cannot see them."""
    if not isinstance(store, HealthCheck):
        return (), ""
    try:
        return await store.examine(), ""
    except StoreUnavailable as error:
        return (), str(error)


async def _health(store: Store, url: str, wrong: Sequence[HealthFinding]) -> dict[str, Any]:
    """Describe the store as far as it can be read."""
    told: dict[str, Any] = {"db": without_login(url), "promises": store.promises}
    try:
        about = (await store.about())._asdict()
        nodes = await store.spread() if isinstance(store, DistributedStore) else []
        return {
            **told,
            **about,
            **({"nodes": [share._asdict() for share in nodes]} if nodes else {}),
            "namespaces": [await _namespace_health(store, namespace) for namespace in await store.namespaces()],
        }
    except StoreCorrupt:
        if not wrong:
            raise
        return told


def _findings(findings: Sequence[HealthFinding]) -> list[dict[str, Any]]:
    return [finding._asdict() for finding in findings]


async def _namespace_health(store: Store, namespace: Namespace) -> dict[str, Any]:
    newest = await store.journal(namespace, descending=True, limit=1)
    return {
        "tenant": namespace.tenant,
        "path": namespace.path,
        "revision": (await store.head(namespace)).rev,
        "changed_at": newest[0].at if newest else None,
        "rows": (await store.tally(namespace))._asdict(),
    }


def _find_large(told: dict[str, Any], above: int) -> list[str]:
    """Return the namespaces of at least so many memories."""
    spaces = (item for item in told.get("namespaces", ()) if item["rows"]["memories"] >= above)
    return [f"{item['tenant']}:{item['path']}" for item in spaces]


def _print_health(told: dict[str, Any]) -> None:
    console = printer()
    if "engine" not in told:
        console.print(clean(f"{told['db']} opens, but cannot be read."))
        return
    size = "" if told["bytes"] is None else f", {told['bytes'] / 1e6:,.1f} MB"
    console.print(clean(f"{told['db']} opens: {told['engine']}, schema {told['schema']}{size}."))
    console.print(clean(f"Embedding model: {told['model'] or 'none yet'}."))
    for share in (NodeShare(**item) for item in told.get("nodes", ())):
        size = f"{share.bytes / 1e6:,.1f} MB"
        console.print(clean(f"Node {share.node}: {share.namespaces:,} namespaces with memories, {size}."))
    if not told["namespaces"]:
        console.print("No namespace holds memories.")
        return
    table = Table.grid(padding=(0, 2))
    table.add_row("namespace", "revision", "last changed", "memories", "versions", "links")
    for item in told["namespaces"]:
        changed, rows = item["changed_at"], item["rows"]
        counts = (str(rows[name]) for name in ("memories", "versions", "relations"))
        when = f"{changed:%Y-%m-%d %H:%M:%S}" if changed else ""
        table.add_row(clean(f"{item['tenant']}:{item['path']}"), str(item["revision"]), when, *counts)
    console.print(table)
    if large := told.get("large"):
        console.print(clean(f"{LARGE}: {', '.join(large)}."), soft_wrap=True)


def _print_findings(wrong: Sequence[HealthFinding], mended: RepairReport | None, unseen: str) -> None:
    console = printer()
    for item in mended.done if mended else ():
        console.print(clean(f"Mended: {item.said}: {item.mend}."))
    if mended and mended.copy:
        console.print(clean(f"As it was before, the store is kept in {mended.copy}."))
    for entry in wrong:
        console.print(Text(clean(f"WRONG in {entry.where}: {entry.said}."), style="bold red"))
    if any(item.mend for item in wrong):
        console.print("memwarden doctor --repair mends what can be mended, after a copy was made.")
    if any(not item.mend for item in wrong):
        console.print(NOT_REPAIRABLE)
    if unseen:
        console.print(clean(f"What is wrong with it was not looked for: {unseen}."))
    elif not wrong:
        console.print("Nothing is wrong with it.")


async def _leaks(options: Options) -> int:
    async with options.open(existing=True) as warden:
        found = await look_for_leaks(warden)
        # Read while it is open; the report says which walls were tried.
        enforced = warden.store.promises.rows_enforced
    if options.as_json:
        paths = [item._asdict() for item in found.tried]
        print_json({"leaks": found.leaks, "rows_enforced": enforced, "canaries_left": found.left, "paths": paths})
    else:
        _print_leaks(found, enforced)
    return FAILED if found.leaks or found.left else 0


def _print_leaks(found: LeakReport, enforced: bool) -> None:
    console = printer()
    if found.leaks:
        table = Table.grid(padding=(0, 2))
        table.add_row("across", "path", "tried", "leaked")
        for item in found.tried:
            leaked = Text(str(len(item.leaks)), style="bold red" if item.leaks else "")
            table.add_row(item.boundary, item.path, str(item.tried), leaked)
        console.print(table)
    for entry in found.tried:
        if entry.leaks:
            console.print(clean(f"LEAK across {entry.boundary} by {entry.path}: {entry.leaks[0]}"))
    tried = sum(item.tried for item in found.tried)
    boundaries = len({item.boundary for item in found.tried})
    said = f"{found.leaks or 'no'} {'leak' if found.leaks == 1 else 'leaks'}"
    alone = not (enforced or found.leaks or found.left)
    second = " This engine has no row security: it holds for calls through memwarden." if alone else ""
    console.print(f"{tried:,} attempts across {boundaries} boundaries, {said}.{second}", soft_wrap=True)
    if found.left:
        console.print(clean(f"The canaries were NOT removed: {found.left}"))
    if not enforced and (found.leaks or found.left):
        console.print(Text(NO_ROW_SECURITY, style="dim"))
