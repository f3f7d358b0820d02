"""``memwarden export`` and ``memwarden import``: everything of a person, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memwarden.errors import InvalidInput
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

DONE_IN_PART = 5


@command
async def export(
    options: Options, file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not be there yet.")]
) -> int:
    """Write everything that is remembered of a user into a file, to read, to keep, or to import elsewhere.

    The file is a zip: memories.jsonl is for reading, pages.jsonl holds all with history and vectors. What frameworks
    keep beside the memories, and operational events, are not in it; they are counted. The exit code is 5 when
    checkpoints or items stay behind.

    \b
    Example:
      memwarden export ana.zip --user ana
    """
    if options.user is None or options.agent is not None:
        raise InvalidInput("say whose memory is exported: --user NAME, without --agent")
    async with options.open(existing=True) as warden:
        done = await warden.export(file, user=options.user, tenant=options.tenant)
    if options.as_json:
        print_json({"file": str(file), **{name: getattr(done, name) for name in ("manifest", "left_behind")}})
    else:
        said = f"{done.manifest.memories:,} memories and {done.manifest.rev:,} changes of {done.manifest.path}"
        printer().print(clean(f"Exported to {file}: {said}."))
        for name, count in done.left_behind.items():
            printer().print(clean(f"Not in it: {count:,} {name}."))
    # What was done when is a log of the store's, and no memory of the person's.
    return DONE_IN_PART if set(done.left_behind) - {"events"} else 0


@command
async def import_(
    options: Options,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What memwarden export wrote.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file, and say how much is new.")] = False,
) -> None:
    """Read a file that export wrote, with dates and history, and compare both sides.

    The whole file is checked before anything is written. What was broken off goes on where it was.

    \b
    Examples:
      memwarden import ana.zip --dry-run
      memwarden import ana.zip --db postgresql://memwarden:secret@db/memwarden
    """
    if options.user is not None or options.agent is not None:
        raise InvalidInput("the file says whose memory it is; leave out --user and --agent")
    async with options.open() as warden:
        done = await warden.import_(file, dry_run=dry_run)
    if options.as_json:
        print_json({"file": str(file), "manifest": done.manifest, "new": done.new, "dry_run": dry_run})
    else:
        verb = "Would import" if dry_run else "Imported"
        said = f"{done.new:,} changes of {done.manifest.path}, {done.there:,} were there"
        printer().print(clean(f"{verb} {said}."))
