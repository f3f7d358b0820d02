"""``memwarden backup``: copies a store into a file, checks and restores such files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from memwarden import settings
from memwarden.errors import NotFound
from memwarden.stores.transfer.backup import Manifest, Tick, read_manifest, require_backup
from memwarden.stores.url import store_at, without_login
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer, progress

app = typer.Typer(
    help="Copy a store into a file, check such a file, restore it.", no_args_is_help=True, rich_markup_mode=None
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]


@app.command("create")
@command
async def create(
    options: Options, file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not be there yet.")]
) -> None:
    """Copy a store as it stands at a moment into a file, while others write to it.

    The file holds everything of the store, also what was forgotten and can be brought back. Only this user may read it.

    \b
    Examples:
      memwarden backup create monday.mwbackup
      memwarden backup create monday.mwbackup --db postgresql://memwarden:secret@db/memwarden
    """
    url = options.settings.db or settings.default_db()
    # Opening would make an empty store of a mistyped path, and back that up.
    options.check_there(url)
    with _progress("Copying") as tick:
        manifest = await require_backup(store_at(url)).back_up(file, tick)
    _print_manifest(
        manifest, file, {"db": without_login(url)}, f"Copied {without_login(url)} to {file}", as_json=options.as_json
    )


@app.command("check")
def check(file: _File, as_json: _Json = False) -> None:
    """Check every byte of a backup and show its contents. Exit code 1 when it is damaged.

    \b
    Example:
      memwarden backup check monday.mwbackup
    """
    _print_manifest(_read_backup(file), file, {}, f"{file} is whole", as_json=as_json)


@app.command("restore")
def restore(
    file: _File,
    target: Annotated[str, typer.Option("--to", metavar="URL", help="Where to; there must be no store yet.")],
    as_json: _Json = False,
) -> None:
    """Make a store of a backup, whole or not at all. Nothing is overwritten; the backup stays as it is.

    An older backup is brought up to date. A backup of SQLite becomes a file, that of PostgreSQL goes into a
    database without a schema named memwarden.

    \b
    Examples:
      memwarden backup restore monday.mwbackup --to sqlite:///restored.db
      memwarden backup restore monday.mwbackup --to postgresql://memwarden:secret@db/restored
    """
    if not file.exists():
        raise NotFound(f"there is no file {file}")
    with _progress("Restoring") as tick:
        manifest = asyncio.run(_restore(file, target, tick))
    _print_manifest(
        manifest, file, {"to": without_login(target)}, f"Restored {file} to {without_login(target)}", as_json=as_json
    )


async def _restore(file: Path, target: str, tick: Tick) -> Manifest:
    return await require_backup(store_at(target)).restore(file, tick)


def _read_backup(file: Path) -> Manifest:
    if not file.exists():
        raise NotFound(f"there is no file {file}")
    return read_manifest(file)


@contextmanager
def _progress(what: str) -> Iterator[Tick]:
    """Show progress in per cent, whatever the unit of the steps."""
    shown = 0
    with progress(what, 100) as more:

        def tick(done: int, total: int) -> None:
            nonlocal shown
            now = 100 * done // max(total, 1)
            more(now - shown)
            shown = now

        yield tick


def _print_manifest(manifest: Manifest, file: Path, names: dict[str, str], said: str, *, as_json: bool) -> None:
    rows = {name: table.rows for name, table in manifest.tables.items()}
    if as_json:
        told: dict[str, Any] = {"file": str(file), "bytes": file.stat().st_size, **names}
        spaces = [
            {"tenant": namespace.tenant, "path": namespace.path, "revision": namespace.rev}
            for namespace in manifest.namespaces
        ]
        print_json(
            {
                **told,
                "engine": manifest.engine,
                "made_at": manifest.made_at,
                "schema": manifest.schema,
                "model": manifest.model,
                "rows": rows,
                "namespaces": spaces,
            }
        )
        return
    console = printer()
    console.print(clean(f"{said}: {file.stat().st_size / 1e6:,.1f} MB."))
    console.print(
        clean(
            f"{manifest.engine}, schema {manifest.schema}, of {manifest.made_at}: {len(manifest.namespaces)} "
            f"namespaces, {rows.get('memories', 0):,} memories, {manifest.revisions:,} changes."
        )
    )
