"""``memwarden job`` and ``memwarden worker``: run jobs now, or beside everything else."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.observability.records import Status
from memwarden.settings import default_db
from memwarden.stores.url import place_of
from memwarden.surfaces.cli.options import Options, command, command_for_everybody
from memwarden.surfaces.cli.output import clean, print_json, printer, progress
from memwarden.upkeep.embedded import unpack_settings
from memwarden.upkeep.jobs import JOBS
from memwarden.upkeep.records import JobRun, JobStatus
from memwarden.upkeep.shared_worker import SharedWorker
from memwarden.upkeep.worker import DEFAULT_EVERY_SECONDS, lower_priority, wait_for_end, work

if TYPE_CHECKING:
    from memwarden.upkeep.reembedding import Reembedding, ReembeddingTick

FAILED = 1
# So many changes are printed; --json has all of them.
MAX_SHOWN = 20
app = typer.Typer(
    help="Jobs that keep memory clean: run them now, see when each ran.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("run")
@command_for_everybody
async def run(
    options: Options,
    name: Annotated[str, typer.Argument(metavar="JOB", help=f"{', '.join(JOBS)}.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show what would change.")] = False,
) -> int:
    """Run a job now, whether it is due or not. Without --user it runs on everybody of the tenant.

    \b
    Examples:
      memwarden job run expire --dry-run
      memwarden job run expire --user ana --json
    """
    async with options.open(existing=True) as warden:
        runs = await warden.jobs.run(name, user=options.user, tenant=options.tenant, dry_run=dry_run)
    if options.as_json:
        print_json(runs)
    else:
        _print_runs(runs, dry_run)
    return FAILED if any(item.status == Status.FAILED for item in runs) else 0


@app.command("status")
@command_for_everybody
async def status(options: Options) -> None:
    """Show when each job ran last, what it changed, and when it is due. Without --user it shows everybody.

    \b
    Examples:
      memwarden job status
      memwarden job status --user ana --json
    """
    async with options.open(existing=True) as warden:
        found = await warden.jobs.status(user=options.user, tenant=options.tenant)
    if options.as_json:
        print_json(found)
    else:
        _print_status(found)


@command
async def worker(
    options: Options,
    once: Annotated[bool, typer.Option("--once", help="Run what is due now, then end.")] = False,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long to rest between looks.")
    ] = DEFAULT_EVERY_SECONDS,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True, help="End when stdin closes.")] = False,
) -> int:
    """Run jobs when they are due, for every user and tenant, at low priority, until it is stopped.

    On PostgreSQL any number of workers share the work (extra worker).

    \b
    Examples:
      memwarden worker
      memwarden worker --once
    """
    lower_priority()
    stop = asyncio.Event()
    line = await asyncio.to_thread(sys.stdin.buffer.readline) if with_parent else b""
    if with_parent and not line.endswith(b"\n"):
        return 0  # it died before it said for which store; another is not opened
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if with_parent:
        wait_for_end(sys.stdin.fileno(), stop)
    settings = unpack_settings(line.decode()) if line else options.settings
    failed, url = False, settings.db or default_db()
    place = place_of(url) if url.startswith("sqlite:") else None
    opened = AsyncWarden.open(url, settings, follow_store=True, prepare=False) if line else options.open(existing=True)
    async with opened as warden:
        if url.startswith(("postgresql://", "postgres://")):
            await SharedWorker(warden.jobs, url, every).run(stop, once=once)
            return 0
        async for runs in work(warden.jobs, stop, every, place=place, once=once):
            failed = failed or any(item.status == Status.FAILED for item in runs)
            if options.as_json:
                print_json(runs)
            elif runs:
                printer().print(summarize(runs))
    return FAILED if once and failed else 0


@command
async def reembed(
    options: Options,
    to: Annotated[str, typer.Argument(metavar="EMBEDDER", help="wordllama, minilm, openai, ...")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show how far the move is.")] = False,
    rows_a_second: Annotated[
        float | None, typer.Option(metavar="N", min=0.1, help="Make at most so many vectors a second.")
    ] = None,
) -> None:
    """Move a store to another embedding model while it answers. Begun and broken off, it goes on where it was.

    Until every memory has a vector of the new model, all questions are answered by the old.

    \b
    Examples:
      memwarden reembed minilm --dry-run
      memwarden reembed minilm --rows-a-second 200
    """
    lower_priority()
    async with options.open(existing=True) as warden:
        if dry_run:
            move = await warden.jobs.reembed(to, dry_run=True)
        else:
            move = await _reembed(warden, to, rows_a_second)
    if options.as_json:
        print_json(move)
    else:
        printer().print(clean(_tell_move(move)), soft_wrap=True)


async def _reembed(warden: AsyncWarden, to: str, rows_a_second: float | None) -> Reembedding:
    rows = (await warden.jobs.reembed(to, dry_run=True)).rows
    at = 0
    with progress("Moving", 2 * rows) as advance:

        def tell(tick: ReembeddingTick) -> None:
            nonlocal at
            now = tick.done + (rows if tick.step == "tidy" else 0)
            advance(max(0, now - at))
            at = max(at, now)

        return await warden.jobs.reembed(to, rows_a_second=rows_a_second, progress=tell)


def _tell_move(move: Reembedding) -> str:
    memories = _count(move.rows, "memory", "memories")
    if not move.moved:
        ready = f"{move.rows - move.lacking:,} of {memories} have vectors of {move.model}"
        return f"The store answers with {move.source}. {ready}."
    made = f", {_count(move.made, 'vector', 'vectors')} made" if move.made else ""
    return f"The store answers with {move.model}: {memories}{made}."


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _print_runs(runs: Sequence[JobRun], dry_run: bool) -> None:
    console = printer()
    for item in runs:
        if item.reason:
            console.print(clean(f"{item.namespace.path}: {item.status}: {item.reason}"))
        for change in item.changes[:MAX_SHOWN]:
            verb = change.verb.replace("_", " ")
            console.print(clean(f"{item.namespace.path}: {verb} {change.memory_id} ({change.why})"), soft_wrap=True)
        if len(item.changes) > MAX_SHOWN:
            console.print(f"  and {len(item.changes) - MAX_SHOWN:,} more")
    console.print(summarize(runs, "Would change" if dry_run else "Changed"))


def summarize(runs: Sequence[JobRun], verb: str = "Changed") -> str:
    """Say what the runs changed, or in a dry run would change."""
    counted = Counter(_name_change(item.job, change.verb) for item in runs for change in item.changes)
    told = ", ".join(f"{count:,} {change}" for change, count in counted.items())
    where = _count(len({item.namespace for item in runs}), "namespace", "namespaces")
    return f"{verb}: {told}, in {where}." if told else f"Nothing to do in {where}."


def _name_change(job: str, verb: str) -> str:
    """Name a change by its job and what was done; a job that is named after what it does is named once."""
    words = verb.replace("_", " ")
    return words if job.startswith(verb) else f"{job} {words}"


def _print_status(found: Sequence[JobStatus]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_row("job", "namespace", "last run", "status", "changed", "due")
    for item in found:
        last = "never" if item.last is None else f"{item.last:%Y-%m-%d %H:%M}"
        never = "when asked for" if JOBS[item.job].every is None else "after the next change"
        due = never if item.due is None else f"{item.due:%Y-%m-%d %H:%M}"
        words = (item.job, item.namespace.path, last, item.status, f"{item.changed:,}", due)
        table.add_row(*(Text(clean(word)) for word in words))
    printer().print(table)
