"""``memwarden review``: a person's decision on candidates and quarantined texts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from memwarden.records import MemoryState, Outcome, PendingReview, WriteResult
from memwarden.surfaces.cli.options import Options, command, find_id
from memwarden.surfaces.cli.output import clean, print_json, printer

# So many characters of a text are printed; --json has all of them.
MAX_SHOWN_TEXT = 1_000
HELP = "Decide on candidates and on quarantined texts."
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
# The commands under their names of 0.1.0.
renamed_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id that memwarden review list shows.")]


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
      memwarden review list
      memwarden review list --state quarantined --json
    """
    async with options.open(existing=True) as warden:
        found = await options.scope(warden).review.pending(None if state == "all" else state, limit=limit)
    if options.as_json:
        print_json(found)
    else:
        _list(found)


@app.command("approve")
@command
async def approve(
    options: Options,
    memory_id: Id,
    vouch: Annotated[
        bool, typer.Option("--vouch", help="Vouch for its words: they count as a person's and are shown whole.")
    ] = False,
) -> None:
    """Make it a memory like others. Of a quarantined text prompts still leave out what reads like an order.

    \b
    Examples:
      memwarden review approve 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden review approve 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --vouch
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id, MemoryState.CANDIDATE, MemoryState.QUARANTINED)
        result = await me.review.approve(memory_id, vouch=vouch)
    (written,) = result.results
    reason = f": {written.reason}" if written.reason else ""
    known = written.outcome == Outcome.MERGED
    _say(options, result, f"Known already as {written.id}{reason}." if known else f"Approved: {written.id}{reason}.")


@app.command("reject")
@command
async def reject(options: Options, memory_id: Id) -> None:
    """Remove it. For 30 days that can be undone.

    \b
    Example:
      memwarden review reject 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id, MemoryState.CANDIDATE, MemoryState.QUARANTINED)
        result = await me.review.reject(memory_id)
    _say(options, result, f"Rejected: {memory_id}.")


@renamed_app.callback()
def _say_new_name() -> None:
    """Use memwarden review; this name goes with the next release."""
    printer(sys.stderr).print("memwarden: waiting list, release and discard are now review list, approve and reject")


renamed_app.command("list")(list_)
renamed_app.command("release")(approve)
renamed_app.command("discard")(reject)


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
