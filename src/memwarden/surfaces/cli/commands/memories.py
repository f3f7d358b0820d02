"""``memwarden add``, ``get``, ``find``, ``forget``: single memories; ``thread``: conversations and their facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import CARD, Channel, Memory, Outcome, join_parts
from memwarden.surfaces.cli.options import (
    AsOf,
    Options,
    command,
    find_id,
    read_argument,
    read_conditions,
    read_moment,
    read_pairs,
)
from memwarden.surfaces.cli.output import clean, print_json, printer

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a memory, as query and find show it.")]


@command
async def add(
    options: Options,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember, or - for stdin.")],
    category: Annotated[str, typer.Option(help="A declared category; it decides which agents may read it.")] = (
        "activity"
    ),
    channel: Annotated[str, typer.Option(help="semantic, episodic, insight, procedural or state.")] = "semantic",
    kind: Annotated[
        str | None, typer.Option(help="Such as decision or preference. [default: by its words]", show_default=False)
    ] = None,
    importance: Annotated[float, typer.Option(help="0..1.")] = 0.5,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; again for more.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="First in line for a context block.")] = False,
    source: Annotated[str | None, typer.Option(help="Where it comes from, a path or URI.")] = None,
    created_at: Annotated[str | None, typer.Option(metavar="TIME", help="When it was learned. [default: now]")] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="TIME", help="Since when it is true.")] = None,
    expires_at: Annotated[str | None, typer.Option(metavar="TIME", help="Until when it is true.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A value of your own; again for more. JSON too.")
    ] = None,
    thread: Annotated[str | None, typer.Option(help="The conversation that it belongs to.")] = None,
) -> None:
    """Remember a statement, as given.

    \b
    Examples:
      memwarden add "Tomas is allergic to hazelnuts only."
      memwarden add "Ana works at the museum." --valid-from 2026-03-01 --metadata source=letter
      memwarden add "We use metric units." --category preferences --importance 0.8 --tag house --pinned
      pbpaste | memwarden add - --kind note --source https://example.org/page
    """
    async with options.open() as warden:
        result = await options.scope(warden, thread=thread).remember(
            read_argument(text),
            category=category,
            channel=channel,
            kind=kind,
            importance=importance,
            tags=tag or (),
            pinned=pinned,
            source=source,
            created_at=created_at,
            valid_from=valid_from,
            expires_at=expires_at,
            metadata=read_pairs(metadata, "metadata"),
        )
    if options.as_json:
        print_json(result)
        return
    (written,) = result.results
    said = {
        Outcome.REJECTED: f"Not kept: {written.reason}.",
        Outcome.QUARANTINED: f"Not remembered, kept apart as {written.id}: {written.reason}.",
        Outcome.MERGED: f"Known already as {written.id}: {written.reason}.",
    }
    reason = f": {written.reason}" if written.reason else ""
    printer().print(clean(said.get(Outcome(written.outcome), f"Remembered as {written.id}{reason}.")), soft_wrap=True)


@command
async def get(options: Options, memory_id: Id) -> None:
    """Show a memory.

    \b
    Examples:
      memwarden get 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden get 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --json
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory = await me.get(await find_id(warden, me, memory_id))
    if options.as_json:
        print_json(memory)
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, value in _details(memory):
        table.add_row(Text(name, style="dim"), Text(clean(value)))
    printer().print(table)


@command
async def find(
    options: Options,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NAME=VALUE", help="Only memories with this; again for more. JSON too."),
    ] = None,
    limit: Annotated[int, typer.Option(help="The most memories listed.")] = 100,
    order_by: Annotated[str, typer.Option(help="The field to order by.")] = "created_at",
    ascending: Annotated[bool, typer.Option("--ascending", help="The oldest or smallest first.")] = False,
    as_of: AsOf = None,
) -> None:
    """List memories by filter, without a question; the newest first.

    \b
    Examples:
      memwarden find --filter thread_id=2026-05-08 --ascending
      memwarden find --filter 'tags=["house", "garden"]' --filter 'importance={"$gte": 0.7}'
      memwarden find --filter kind=decision --order-by importance --json
      memwarden find --filter metadata.project=kitchen --as-of 2026-05-01
    """
    async with options.open(existing=True) as warden:
        found = await options.scope(warden).find(
            read_conditions(filter_), limit=limit, order_by=order_by, descending=not ascending, as_of=read_moment(as_of)
        )
    if options.as_json:
        print_json(found)
    else:
        _list(found)


@command
async def forget(options: Options, memory_id: Id) -> None:
    """Take a memory out of every answer.

    \b
    Example:
      memwarden forget 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id)
        result = await me.forget(memory_id)
    if options.as_json:
        print_json(result)
    else:
        reason = result.results[0].reason
        printer().print(clean(f"Forgotten: {memory_id}{f'; {reason}' if reason else ''}."))


@command
async def reset(
    options: Options,
    confirm: Annotated[
        str | None, typer.Option(metavar="USER", help="The user's name: without it nothing is forgotten.")
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NAME=VALUE", help="Only memories with this; again for more. JSON too."),
    ] = None,
) -> None:
    """Forget everything of a user, saved state and sessions too. For 30 days it can be restored.

    \b
    Examples:
      memwarden reset --user ana --confirm ana
      memwarden reset --user ana --confirm ana --filter run_id=r1
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        result = await me.reset(confirm=confirm, filters=read_conditions(filter_))
    if options.as_json:
        print_json(result)
    else:
        printer().print(clean(f"Forgotten: {len(result.results):,} memories of the user {me.who.user!r}."))


@command
async def users(options: Options) -> None:
    """List the users of whom something is kept, with their number of memories.

    \b
    Example:
      memwarden users
    """
    async with options.open(existing=True) as warden:
        names = await warden.users(tenant=options.tenant)
        spaces = [options.scope(warden, user=name).who.namespace for name in names]
        told = [
            {"user": name, "memories": await warden.store.count(space)}
            for name, space in zip(names, spaces, strict=True)
        ]
    if options.as_json:
        print_json(told)
        return
    table = Table("user", "memories", box=None)
    for row in told:
        table.add_row(*(clean(str(value)) for value in row.values()))
    printer().print(table if told else "Nothing is kept of anybody.")


def _list(found: Sequence[Memory]) -> None:
    console = printer()
    if not found:
        console.print("No memory fits.")
    for memory in found:
        who = memory.name or memory.role
        said = f"{who}: {memory.text}" if who else memory.text
        console.print(Text(clean(f"{memory.id}  {memory.created_at:%Y-%m-%d}  {memory.category}"), style="dim"))
        line = "  " + clean(" ".join(said.split()))
        # One line each: cut at the edge of a terminal, whole for whoever reads a pipe.
        console.print(line, no_wrap=True, overflow="ellipsis", soft_wrap=not console.is_terminal)


def _details(memory: Memory) -> Iterator[tuple[str, str]]:
    """Describe the fields of a memory that have a value."""
    yield "text", memory.text
    yield "said by" if memory.role else "stated by", memory.name or memory.role or memory.user_id or "somebody"
    yield "when", f"{memory.created_at:%Y-%m-%d %H:%M} UTC"
    yield "what", f"{memory.channel}, {memory.kind}, category {memory.category}"
    yield "importance", f"{memory.importance:.2g}" + (", pinned" if memory.pinned else "")
    yield "whose", f"{memory.namespace.path} in tenant {memory.namespace.tenant}"
    for name, value in (
        ("thread", memory.thread_id),
        ("tags", ", ".join(memory.tags)),
        ("source", memory.source),
        ("rests on", ", ".join(source for source in memory.sources if source != memory.id)),
        ("summary", memory.summary),
        ("context", memory.context),
        ("true until", f"{memory.valid_to:%Y-%m-%d %H:%M} UTC" if memory.valid_to else ""),
        ("version", str(memory.version)),
        ("id", memory.id),
    ):
        if value:
            yield name, value


thread_app = typer.Typer(
    help="Show conversations and what was made of them.", no_args_is_help=True, rich_markup_mode=None
)
Name = Annotated[str, typer.Argument(metavar="THREAD", help="The name of a conversation.")]
MAX_TURNS = 10_000
# Turns of which the conversations are looked through at once.
MAX_LOOKED_AT = 100_000


@thread_app.command("list")
@command
async def list_threads(
    options: Options,
    most: Annotated[int, typer.Option(min=1, help="So many of the newest turns are looked at.")] = MAX_TURNS,
) -> None:
    """List conversations, the most recent first.

    \b
    Example:
      memwarden thread list --user ana
    """
    async with options.open(existing=True) as warden:
        turns = await options.scope(warden).find({"channel": Channel.TURN}, limit=most, order_by="written")
    threads: dict[str, list[str]] = {}
    for turn in turns:
        threads.setdefault(turn.thread_id or "", []).append(f"{turn.created_at:%Y-%m-%d %H:%M}")
    told = [
        {"thread": name, "turns": len(times), "first": min(times), "last": max(times)}
        for name, times in threads.items()
    ]
    if options.as_json:
        print_json(told)
        return
    table = Table("thread", "turns", "first", "last", box=None)
    for row in told:
        table.add_row(*(clean(str(value)) for value in row.values()))
    nobody = f"No conversation of the user {clean(options.user or 'default')!r} was observed; --user names another."
    printer().print(table if told else nobody)


@thread_app.command("show")
@command
async def show_thread(
    options: Options,
    thread: Name,
    limit: Annotated[int, typer.Option(min=1, help="The last so many turns.")] = 50,
) -> None:
    """Show the turns of a conversation, each with the facts that rest on it.

    \b
    Example:
      memwarden thread show 2026-05-08
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        said = await me.find({"thread_id": thread, "channel": Channel.TURN}, limit=limit, order_by="written")
        where = {"thread_id": thread, "channel": {"$ne": Channel.TURN}}
        made = await me.find(where, limit=MAX_TURNS, order_by="written", descending=False)
    if not said:
        raise NotFound(f"no conversation {thread!r}; memwarden thread list names those that there are")
    facts = [item for item in made if CARD not in item.tags]
    if options.as_json:
        print_json({"turns": said[::-1], "facts": facts})
        return
    console = printer()
    for turn in join_parts(reversed(said)):
        who = turn.name or turn.role or "somebody"
        console.print(Text(clean(f"{turn.created_at:%Y-%m-%d %H:%M}  {who}"), style="dim"))
        console.print(Text(clean(turn.text)))
        for fact in facts:
            if turn.id in fact.sources or set(turn.sources) & set(fact.sources):
                console.print(Text(f"  -> {clean(fact.text)}", style="green"))


async def _threads_by_age(me: AsyncScope) -> list[str]:
    """The names of all conversations, that with the oldest turn first, so that later facts replace earlier."""
    turns = await me.find({"channel": Channel.TURN}, limit=MAX_LOOKED_AT, descending=False)
    return list(dict.fromkeys(turn.thread_id for turn in turns if turn.thread_id is not None))


@thread_app.command("look-through")
@command
async def look_through(
    options: Options,
    thread: Annotated[str | None, typer.Argument(metavar="[THREAD]", help="The name of a conversation.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Begin at the first turn; what is known is merged.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every conversation, the oldest first.")] = False,
) -> None:
    """Look through what is new in a conversation, or in all, for facts, as observe does by itself.

    \b
    Examples:
      memwarden thread look-through 2026-05-08
      memwarden thread look-through 2026-05-08 --again
      memwarden thread look-through --all
    """
    if (thread is None) != every:
        raise InvalidInput("give THREAD, the name of a conversation, or --all for every conversation")
    async with options.open(existing=True) as warden:
        names = [thread] if thread is not None else await _threads_by_age(options.scope(warden))
        looked = [await options.scope(warden, thread=name).extract_pending(again=again) for name in names]
    if not looked:
        raise NotFound("there is no conversation to look through")
    result = replace(looked[-1], results=tuple(item for each in looked for item in each.results))
    if options.as_json:
        print_json(result)
        return
    console = printer()
    console.print(f"{len(result.results)} things were decided.")
    for item in result.results:
        console.print(Text(clean(f"  {item.outcome}: {item.id} {item.reason}"), style="dim"))
