"""``memwarden events``: lists and counts operational events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.observability.records import DAY_SECONDS, OpCount, OpEvent
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import Printer, clean, print_json, printer

SPANS = {"minute": 60, "hour": 3600, "day": DAY_SECONDS}
AGE_UNITS = {"m": 60, "h": 3600, "d": DAY_SECONDS}
_STYLES = {"error": "red", "skipped": "dim"}
_BARS, _ASCII_BARS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
# So many spans of time are drawn, the last ones; all of them are counted.
MAX_BARS = 40


@command
async def events(
    options: Options,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From this time on, or as long ago as 30m, 12h or 7d.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before this time, or 30m, 12h, 7d ago.")] = None,
    node: Annotated[str | None, typer.Option(help="hotpath, context, episodic or worker.")] = None,
    op: Annotated[str | None, typer.Option(help="Such as search, create, update, merge, delete, model.")] = None,
    status: Annotated[str | None, typer.Option(help="ok, error or skipped.")] = None,
    thread: Annotated[str | None, typer.Option(help="Of this conversation.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="ID", help="Of this memory.")] = None,
    counts: Annotated[bool, typer.Option("--counts", help="How often what was done, over time.")] = False,
    every: Annotated[str, typer.Option(metavar="SPAN", help="With --counts: minute, hour or day.")] = "day",
    limit: Annotated[int, typer.Option(help="The most events listed, the newest.")] = 100,
) -> None:
    """Show operations on a user's memory: writes, searches, skips and failures. No content.

    \b
    Examples:
      memwarden events --since 7d --op update
      memwarden events --status error --json
      memwarden events --counts --every hour --since 1d
    """
    if every not in SPANS:
        raise InvalidInput(f"--every is any of {', '.join(SPANS)}, not {every!r:.80}")
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        if counts:
            counted = await me.journal.event_counts(
                seconds=SPANS[every], since=_time(since), until=_time(until), node=node, op=op, status=status,
                thread=thread, memory_id=memory,
            )  # fmt: skip
        else:
            found = await me.journal.events(
                since=_time(since), until=_time(until), node=node, op=op, status=status, thread=thread,
                memory_id=memory, limit=limit,
            )  # fmt: skip
    if options.as_json:
        print_json(counted if counts else found)
    elif not (counted if counts else found):
        printer().print("No events.")
    elif counts:
        _print_counts(printer(), counted, every)
    else:
        # The newest stand last, next to the prompt that the reader looks at.
        printer().print(event_table(found[::-1]))


def _time(text: str | None) -> str | float | None:
    """Read a time; ``12h`` means that long ago."""
    if text is None or not text[:-1].isascii() or not text[:-1].isdecimal() or text[-1] not in AGE_UNITS:
        return text
    # datetime overflows at less than ten thousand years; a billion seconds is long before any store.
    ago = min(int(text[:-1]), 10**9) * AGE_UNITS[text[-1]]
    now = clock.now()
    return (now - timedelta(seconds=min(ago, 10**9))).timestamp()


def event_table(found: Sequence[OpEvent]) -> Table:
    """Draw a row for each event: time, node, operation, status and details."""
    table = Table.grid(padding=(0, 1), expand=True)
    for _ in range(4):
        table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for item in found:
        style = _STYLES.get(item.status, "")
        table.add_row(
            Text(f"{item.ts:%Y-%m-%d %H:%M:%S}", style="dim"),
            Text(item.node),
            Text(item.op),
            Text(item.status, style=style),
            Text(_describe(item)),
        )
    return table


def _describe(event: OpEvent) -> str:
    parts = [
        event.reason,
        f"x{event.count}" if event.count > 1 else "",
        f"sim {event.sim:.2f}" if event.sim is not None else "",
        event.category or "",
        f"rev {event.rev}" if event.rev is not None else "",
        f"{event.ms:.1f} ms" if event.ms is not None else "",
        f"agent {event.agent_id}" if event.agent_id else "",
        f"in {event.thread_id}" if event.thread_id else "",
        event.memory_id or "",
    ]
    return clean(" · ".join(filter(None, parts)))


def _print_counts(console: Printer, counted: Sequence[OpCount], every: str) -> None:
    """Print a line for each node, operation and status, with a bar over time."""
    spans = _spans(counted, SPANS[every])
    sums: Counter[tuple[str, str, str]] = Counter()
    for item in counted:
        sums[item.node, item.op, item.status] += item.count
    at = {(item.ts.timestamp(), item.node, item.op, item.status): item.count for item in counted}
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column()
    table.add_column()
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_row("node", "op", "status", "count", "over time")
    for words, total in sorted(sums.items()):
        row = [at.get((moment, *words), 0) for moment in spans]
        table.add_row(*words[:2], Text(words[2], style=_STYLES.get(words[2], "")), f"{total:,}", _bars(console, row))
    console.print(table)
    form = "%Y-%m-%d" if every == "day" else "%Y-%m-%d %H:%M"
    first, last = (clock.parse(item, "a span").strftime(form) for item in (spans[0], spans[-1]))
    console.print(Text(f"One sign for each {every}, {first} to {last} UTC.", style="dim"))


def _spans(counted: Sequence[OpCount], seconds: int) -> list[float]:
    """Return the starts of the drawn spans of time, empty spans too."""
    times = [item.ts.timestamp() for item in counted]
    # Counted from the newest: an empty stretch since then would push the bars out of sight.
    last, many = max(times), min(MAX_BARS, round((max(times) - min(times)) / seconds) + 1)
    return [last - seconds * back for back in reversed(range(many))]


def _bars(console: Printer, row: Sequence[int]) -> str:
    """Draw counts over time, scaled to the highest of the row; legible in ASCII."""
    signs = _BARS if console.encoding.startswith("utf") else _ASCII_BARS
    most = max(row) or 1
    return "".join(signs[-(-item * (len(signs) - 1) // most)] for item in row)
