"""``memwarden export`` and ``memwarden import``: everything of a person, in a file; and what other programs keep."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memwarden.errors import InvalidInput
from memwarden.stores.transfer.bundle import is_bundle
from memwarden.surfaces.cli.options import Options, command, read_pairs
from memwarden.surfaces.cli.output import Tick, clean, print_json, printer, progress

if TYPE_CHECKING:
    from memwarden.api.imports import ImportSummary, ImportTick

DONE_IN_PART = 5
BUNDLE = "memwarden"


@command
async def export(
    options: Options,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; must not be there yet.")],
    form: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="mem0, graph, markdown or markdown-zip.")
    ] = None,
) -> int:
    """Write everything that is remembered of a user into a file, to read, to keep, or to import elsewhere.

    The file is a zip: memories.jsonl is for reading, pages.jsonl holds all with history and vectors, beside.jsonl what
    LangGraph keeps. Operational events are not in it; they are counted. --format writes what other programs read, and
    counts what it cannot carry.

    \b
    Examples:
      memwarden export ana.zip --user ana
      memwarden export ~/ana-vault --user ana --format markdown
    """
    if options.user is None or options.agent is not None:
        raise InvalidInput("say whose memory is exported: --user NAME, without --agent")
    if form is not None:
        return await _export_format(options, file, form, options.user)
    async with options.open(existing=True) as warden:
        done = await warden.export(file, user=options.user, tenant=options.tenant)
    if options.as_json:
        print_json({"file": str(file), **{name: getattr(done, name) for name in ("manifest", "left_behind")}})
    else:
        said = f"{done.manifest.memories:,} memories and {done.manifest.rev:,} changes of {done.manifest.path}"
        printer().print(clean(f"Exported to {file}: {said}."), soft_wrap=True)
        beside = done.manifest
        if beside.items or beside.checkpoints:
            printer().print(clean(f"And {beside.items:,} items and {beside.checkpoints:,} checkpoints of LangGraph."))
        for name, count in done.left_behind.items():  # what was done when is a log of the store's
            printer().print(clean(f"Not in it: {count:,} {name}."))
    return 0


async def _export_format(options: Options, file: Path, form: str, user: str) -> int:
    async with options.open(existing=True) as warden:
        done = await warden.export_format(file, form, user=user, tenant=options.tenant)
    if options.as_json:
        print_json(done)
    else:
        printer().print(
            clean(f"Exported to {file} ({form}): {done.memories:,} memories, {done.turns:,} turns."), soft_wrap=True
        )
        for what, count in done.left_out.items():
            printer().print(clean(f"Not in it: {count:,} {what}."))
    return 0


@command
async def import_(
    options: Options,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, folders or zips; or a database's URL.")],
    form: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Of the files; else they are recognised.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the files, and say how much is new.")] = False,
    zone: Annotated[str, typer.Option(help="Zone of times that name none: Europe/Lisbon or +02:00.")] = "UTC",
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="Of dates such as 3/4/2024; else the file tells.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=NAME", help="Which column of a table is text, created_at, ...")
    ] = None,
    thread: Annotated[str | None, typer.Option(help="Name of the conversation of a log.")] = None,
    branches: Annotated[
        bool, typer.Option("--branches", help="Take branches of chats that are not shown too.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Import nothing if one entry is malformed.")] = False,
    trust: Annotated[
        str | None, typer.Option(metavar="WHO", help="Whom statements come from: person, assistant or external.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Until what came in is found by its meaning, too.")
    ] = True,
) -> int:
    """Read what another program keeps, or a file that export wrote, with its dates.

    Recognised by the content: exports of ChatGPT, Claude, Telegram, Slack and Open WebUI, transcripts of Claude Code,
    mails, documents (HTML, PDF, Word), mem0, Zep and Graphiti, LangMem and LangGraph items,
    Markdown vaults, the reference memory server's graph, messages of chat APIs, chats of WhatsApp, logs with USER: and
    ASSISTANT:, IRC logs, tables; and bundles of memwarden export, which must be alone.

    All is checked before anything is written. Importing again takes only what changed; what was broken off goes on.
    What was left out is counted. A malformed entry is left out and named, and the exit code is 5. At the end the
    meanings of what came in are read, some hundred messages a second. If you stop that, everything stays stored and is
    found by its words.

    \b
    Examples:
      memwarden import chatgpt-export.zip --user ana --dry-run
      memwarden import ~/vault --user ana
      memwarden import "WhatsApp Chat with Bo.txt" --user ana --zone Europe/Lisbon
      memwarden import notes.csv --column text=Note --column created_at=Day --user ana
      memwarden import postgresql://reader:secret@db/langgraph --dry-run
      memwarden import ana.zip --db postgresql://memwarden:secret@db/memwarden
    """
    if form in (None, BUNDLE) and any(is_bundle(Path(file)) for file in files):
        if len(files) > 1 or options.user is not None or options.agent is not None:
            raise InvalidInput("a bundle says whose memory it is: give it alone, without --user and --agent")
        return await _import_bundle(options, Path(files[0]), dry_run)
    if options.agent is not None:
        raise InvalidInput("an import writes for the person: leave out --agent")
    from memwarden.models.little_memory import keep_process_small
    from memwarden.remember.imports.source import ImportOptions

    keep_process_small()
    mapping = {name: str(value) for name, value in (read_pairs(column, "column") or {}).items()}
    said = ImportOptions(zone, day_first, mapping, thread, branches, strict=strict)
    async with options.open() as warden:
        with _shown_progress() as tick:
            done = await warden.import_files(
                files, user=options.user, tenant=options.tenant, format=form, options=said, trust=trust,
                dry_run=dry_run, progress=tick("importing"), wait=wait, encoding=tick("reading meanings"),
            )  # fmt: skip
    if options.as_json:
        print_json(done)
    else:
        for line in describe_import(done):
            printer().print(clean(line))
        if not dry_run:
            asked = f'memwarden query "..." --user {shlex.quote(done.users[0])}{options.named_store}'
            printer().print(clean(f"Ask about it: {asked}"), soft_wrap=True)
    return DONE_IN_PART if done.refused else 0


@contextmanager
def _shown_progress() -> Iterator[Callable[[str], ImportTick]]:
    """Show a bar for what is done now, once it is known how much there is of it."""
    with ExitStack() as stack:
        shown: dict[str, tuple[Tick, int]] = {}

        def make_tick(what: str) -> ImportTick:
            def tick(done: int, total: int) -> None:
                if what not in shown:
                    stack.close()  # a terminal shows a single bar
                    shown[what] = stack.enter_context(progress(what, total)), 0
                advance, last = shown[what]
                advance(done - last)
                shown[what] = advance, done

            return tick

        yield make_tick


def describe_import(done: ImportSummary) -> Iterator[str]:
    """Say in sentences what an import did."""
    verb = "Would import" if done.dry_run else "Imported"
    parts = [f"{done.stored:,} new", f"{done.known:,} known"] + ([f"{done.ended:,} ended"] if done.ended else [])
    counts = ((done.threads, "thread"), (done.documents, "document"))
    where = [f"{count:,} {what}{'s' if count > 1 else ''}" for count, what in counts if count]
    yield f"{verb} {', '.join(parts)} in {' and '.join(where) or 'a graph'} ({', '.join(done.formats)})."
    if done.nodes:
        yield f"  {done.nodes:,} new nodes of the graph"
    if done.linked:
        yield f"  {done.linked:,} new links"
    if done.first_at and done.last_at:
        yield f"  from {done.first_at[:10]} to {done.last_at[:10]}"
    if done.undated:
        yield f"  {done.undated:,} without a time of their own, which count as said now"
    for what, times in done.skipped.items():
        yield f"  left out: {what} ({times:,})"
    for what, times in done.refused.items():
        yield f"  refused: {what} ({times:,})"


async def _import_bundle(options: Options, file: Path, dry_run: bool) -> int:
    async with options.open() as warden:
        done = await warden.import_(file, dry_run=dry_run)
    if options.as_json:
        told = {"manifest": done.manifest, "new": done.new, "left_behind": done.left_behind, "dry_run": dry_run}
        print_json({"file": str(file), **told})
    else:
        verb = "Would import" if dry_run else "Imported"
        said = f"{done.new:,} changes of {done.manifest.path}, {done.there:,} were there"
        printer().print(clean(f"{verb} {said}."))
        for name, count in done.left_behind.items():
            printer().print(clean(f"This store keeps no {name} of LangGraph: {count:,} left out."))
    return DONE_IN_PART if done.left_behind else 0
