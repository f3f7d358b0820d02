"""``memwarden edit``, ``restore``, ``pin``, ``undo``, ``history`` and ``delta``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import UNDOES, Channel, Event, HistoryEntry, Memory, MemoryState, WriteResult
from memwarden.surfaces.cli.commands.memories import Id
from memwarden.surfaces.cli.options import Options, command, find_id, read_argument
from memwarden.surfaces.cli.output import clean, print_json, printer

# Entries read to find the last decision. Undos are seldom many.
LAST_READ = 50
# What of a change's meta is told in words, in this order.
_REASONS = ("rule", "guards", "by", "of", "into", "to", "type", "near", "undoes")


@command
async def edit(
    options: Options,
    memory_id: Id,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The new text, or - for stdin.")] = None,
    quote: Annotated[
        str | None, typer.Option(metavar="WORDS", help="The words that TEXT takes the place of. [default: all]")
    ] = None,
    category: Annotated[str | None, typer.Option(help="A declared category.")] = None,
    kind: Annotated[str | None, typer.Option(help="Such as decision or preference.")] = None,
    importance: Annotated[float | None, typer.Option(help="0..1.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag, in place of those that it has; again for more.")] = None,
    summary: Annotated[str | None, typer.Option(help="A short form for a context block.")] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="TIME", help="Since when it is true.")] = None,
    valid_to: Annotated[str | None, typer.Option(metavar="TIME", help="Since when it is true no longer.")] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Empty valid_from, valid_to, summary or context; again for more."),
    ] = None,
    version: Annotated[int | None, typer.Option(help="Refuse unless this is the stored version.")] = None,
) -> None:
    """Correct a memory; its old content stays in its history.

    A message stays as it was said and answers no question any more. TEXT becomes a memory in its place, of the day of
    the message. With --quote the rest of the message stays. One memwarden undo takes all of it back.

    \b
    Examples:
      memwarden edit 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 "Ana's dentist is Dr. Webber."
      memwarden edit 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 "I live in Basel." --quote "I live in Bern."
      memwarden edit 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --importance 0.9 --tag health
      memwarden edit 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --valid-to 2026-05-02
      memwarden edit 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --valid-from 2026-03-01 --clear valid_to
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id)
        result = await me.update(
            memory_id,
            text=None if text is None else read_argument(text),
            quote=quote,
            category=category,
            kind=kind,
            importance=importance,
            tags=tag,
            summary=summary,
            valid_from=valid_from,
            valid_to=valid_to,
            clear=clear or (),
            expected_version=version,
        )
    corrected = result.results[0]
    replaced = "" if corrected.id == memory_id else f" It {corrected.reason}"
    _say(options, result, f"Changed: {corrected.id}.{replaced}")


@command
async def restore(options: Options, memory_id: Id) -> None:
    """Bring a forgotten memory back, as it was.

    \b
    Example:
      memwarden restore 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id, MemoryState.SOFT_DELETED, MemoryState.ACTIVE)
        result = await me.restore(memory_id)
    reason = result.results[0].reason
    _say(options, result, f"Not changed: {reason}." if reason else f"Restored: {memory_id}.")


@command
async def pin(
    options: Options,
    memory_id: Id,
    off: Annotated[bool, typer.Option("--off", help="Take the pin away.")] = False,
) -> None:
    """Put a memory first in line for a context block; it never expires.

    \b
    Examples:
      memwarden pin 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden pin 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --off
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id)
        result = await me.pin(memory_id, not off)
    _say(options, result, f"{'No longer pinned' if off else 'Pinned'}: {memory_id}.")


@command
async def undo(
    options: Options,
    change: Annotated[
        int | None, typer.Argument(metavar="[CHANGE]", help="The number of a change, as history shows it.")
    ] = None,
) -> None:
    """Undo a whole decision: a merge, a new value, a correction, a forgetting. Default: the last decision.

    Once more takes back the decision before it. An undo, and what was said, are taken back only by the number of their
    change.

    \b
    Examples:
      memwarden undo
      memwarden undo 17
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        # The last change that this scope sees: an agent cannot take back what it may not read.
        number = change if change is not None else await _last(me)
        result = await me.journal.undo(number)
    if options.as_json:
        print_json(result)
        return
    console = printer()
    console.print(f"Undone: change {number}.")
    for item in result.results:
        console.print(Text(clean(f"  {item.outcome}: {item.id} ({item.reason})"), style="dim"))


@command
async def history(
    options: Options,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The id of a memory. Without: all of them.")
    ] = None,
    since: Annotated[int, typer.Option(metavar="CHANGE", help="Only what came after this change.")] = 0,
    limit: Annotated[int, typer.Option(help="The most changes listed.")] = 100,
) -> None:
    """Show the changes of a memory or a user: when, who, which rule, and the earlier text.

    \b
    Examples:
      memwarden history 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden history --since 40 --json
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        wanted = None if memory_id is None else await find_id(warden, me, memory_id, *MemoryState)
        entries = await me.journal.history(wanted, since=since, limit=limit)
    if options.as_json:
        print_json(entries)
        return
    console = printer()
    if not entries:
        console.print("Nothing happened.")
        return
    console.print(history_table(entries))
    # A full page may be the whole history; only the next page could tell.
    if len(entries) == limit:
        console.print(Text(f"There may be more: memwarden history --since {entries[-1].seq}", style="dim"))


def history_table(entries: Sequence[HistoryEntry]) -> Table:
    """Draw a row for each change: number, time, operation, actor, reason and both texts."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for entry in entries:
        table.add_row(Text(str(entry.seq)), Text(entry.event), Text("\n").join(_describe(entry)))
    return table


def _describe(entry: HistoryEntry) -> Iterator[Text]:
    by = f" by {entry.actor}" if entry.actor else ""
    yield Text(clean(f"{entry.at:%Y-%m-%d %H:%M:%S}{by} · {entry.memory_id}"), style="dim")
    told = ", ".join(f"{name} {_short(entry.meta[name])}" for name in _REASONS if entry.meta and name in entry.meta)
    if told:
        yield Text(clean(told), style="dim")
    old, new = entry.old, entry.new
    if old is not None and new is not None:
        yield from _differences(old, new)
    elif new is not None:
        yield Text(f"+ {_line(new.text)}", style="green")
    elif old is not None:
        yield Text(f"- {_line(old.text)}", style="red")


def _differences(old: Memory, new: Memory) -> Iterator[Text]:
    if old.text != new.text:
        yield Text(f"- {_line(old.text)}", style="red")
        yield Text(f"+ {_line(new.text)}", style="green")
    else:
        yield Text(f"  {_line(new.text)}")
    for name in ("category", "kind", "importance", "pinned", "tags", "sources", "valid_from", "valid_to", "summary"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield Text(clean(f"  {name}: {_short(before)} -> {_short(after)}"))


@command
async def delta(
    options: Options,
    thread: Annotated[str | None, typer.Option(help="The conversation that asks. [default: default]")] = None,
    since: Annotated[
        int | None, typer.Option(metavar="REVISION", help="Since this revision. [default: since the thread looked]")
    ] = None,
) -> None:
    """Show the changes since a thread's last look, as they precede an answer.

    \b
    Examples:
      memwarden delta --thread 2026-05-08
      memwarden delta --since 40
    """
    async with options.open(existing=True) as warden:
        told = await options.scope(warden, thread=thread).journal.delta(since)
    if options.as_json:
        print_json(told)
    else:
        printer().print(clean(told.text) if told else f"Nothing changed since revision {told.since}.")


async def _last(me: AsyncScope) -> int:
    """Return the last change that the scope may see, without undos and what they took back."""
    undone: set[int] = set()
    first: int | None = None
    async for entry in _read_back(me):
        first = entry.seq if first is None else first
        taken_back = (entry.meta or {}).get(UNDOES)
        if taken_back is not None and entry.step not in undone:
            undone.add(int(taken_back))
        if taken_back is not None or entry.step in undone:
            continue
        if entry.event == Event.ADD and entry.new is not None and entry.new.channel == Channel.TURN:
            raise InvalidInput(
                f"the last change stored what was said; to take that back, name it: memwarden undo {entry.seq}"
            )
        return entry.seq
    if first is None:
        raise NotFound(f"nothing was ever changed in {me.who.namespace.path}")
    raise NotFound(f"nothing more to undo; to take the last undo back, name it: memwarden undo {first}")


async def _read_back(me: AsyncScope) -> AsyncIterator[HistoryEntry]:
    """Yield the history, the newest first."""
    limit = LAST_READ
    seen = 0
    while True:
        entries = await me.journal.history(descending=True, limit=limit)
        for entry in entries[seen:]:
            yield entry
        if len(entries) < limit:
            return
        seen, limit = len(entries), 4 * limit


def _say(options: Options, result: WriteResult, words: str) -> None:
    if options.as_json:
        print_json(result)
    else:
        printer().print(clean(words))


def _line(text: str) -> str:
    return clean(" ".join(text.split()))


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
