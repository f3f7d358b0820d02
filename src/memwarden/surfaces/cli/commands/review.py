"""``memwarden review``: a person's decision on candidates and quarantined texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from memwarden.records import Outcome, PendingReview, WriteResult
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

MAX_SHOWN_TEXT = 1_000
"""So many characters of a text are printed; --json has all of them."""
HELP = "Decide on candidates, and on texts that were held back as attacks."
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of what waits, as waiting list shows it.")]


@app.command("list")
@command
async def list_(
    options: Options,
    state: Annotated[str, typer.Option(help="candidate, quarantined or all.")] = "all",
    limit: Annotated[int, typer.Option(help="The most listed.")] = 100,
) -> None:
    """List candidates and quarantined texts, newest first, with the reason. Keep them out of prompts.

    \b
    Examples:
      memwarden waiting list
      memwarden waiting list --state quarantined --json
    """
    async with options.open(existing=True) as warden:
        found = await options.scope(warden).waiting(None if state == "all" else state, limit=limit)
    if options.as_json:
        print_json(found)
    else:
        _list(found)


@app.command("release")
@command
async def release(
    options: Options,
    memory_id: Id,
    vouch: Annotated[
        bool, typer.Option("--vouch", help="Answer for its words: they count as a person's and are shown whole.")
    ] = False,
) -> None:
    """Let it in: from now on it is a memory like others. Of what was held back prompts show nothing like an order.

    \b
    Examples:
      memwarden waiting release 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden waiting release 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --vouch
    """
    async with options.open(existing=True) as warden:
        result = await options.scope(warden).release(memory_id, vouch=vouch)
    (written,) = result.results
    reason = f": {written.reason}" if written.reason else ""
    known = written.outcome == Outcome.MERGED
    _say(options, result, f"Known already as {written.id}{reason}." if known else f"Released: {written.id}{reason}.")


@app.command("discard")
@command
async def discard(options: Options, memory_id: Id) -> None:
    """Give it up. For 30 days that can be undone.

    \b
    Example:
      memwarden waiting discard 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    async with options.open(existing=True) as warden:
        result = await options.scope(warden).discard(memory_id)
    _say(options, result, f"Discarded: {memory_id}.")


def _say(options: Options, result: WriteResult, words: str) -> None:
    if options.as_json:
        print_json(result)
    else:
        printer().print(clean(words), soft_wrap=True)


def _list(found: Sequence[PendingReview]) -> None:
    console = printer()
    if not found:
        console.print("Nothing waits for a decision.")
    for item in found:
        memory = item.memory
        said = " ".join(memory.text.split())
        cut = (
            f"{said[:MAX_SHOWN_TEXT]}… ({len(said):,} characters, --json has all)"
            if len(said) > MAX_SHOWN_TEXT
            else said
        )
        head = f"{memory.id}  {memory.created_at:%Y-%m-%d}  {memory.state}, from {memory.source or memory.trust}"
        console.print(Text(clean(head), style="dim"), soft_wrap=True)
        console.print(clean(f"  {cut}"))
        if item.why:
            console.print(Text(clean(f"  {item.why}"), style="dim"))
