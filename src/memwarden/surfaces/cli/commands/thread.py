"""``memwarden thread``: lists conversations, and the facts that rest on their turns."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden.errors import NotFound
from memwarden.records import CARD, Channel
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

app = typer.Typer(help="Show conversations and what was made of them.", no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="THREAD", help="The name of a conversation.")]
MAX_TURNS = 10_000


@app.command("list")
@command
async def list_(
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


@app.command("show")
@command
async def show(
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
    for turn in reversed(said):
        who = turn.name or turn.role or "somebody"
        console.print(Text(clean(f"{turn.created_at:%Y-%m-%d %H:%M}  {who}"), style="dim"))
        console.print(Text(clean(turn.text)))
        for fact in facts:
            if turn.id in fact.sources or set(turn.sources) & set(fact.sources):
                console.print(Text(f"  -> {clean(fact.text)}", style="green"))


@app.command("look-through")
@command
async def look_through(
    options: Options,
    thread: Name,
    again: Annotated[bool, typer.Option("--again", help="Begin at the first turn; what is known is merged.")] = False,
) -> None:
    """Look through what is new in a conversation for facts, as observe does by itself.

    \b
    Examples:
      memwarden thread look-through 2026-05-08
      memwarden thread look-through 2026-05-08 --again
    """
    async with options.open(existing=True) as warden:
        result = await options.scope(warden, thread=thread).extract_pending(again=again)
    if options.as_json:
        print_json(result)
        return
    console = printer()
    console.print(f"{len(result.results)} things were decided.")
    for item in result.results:
        console.print(Text(clean(f"  {item.outcome}: {item.id} {item.reason}"), style="dim"))
