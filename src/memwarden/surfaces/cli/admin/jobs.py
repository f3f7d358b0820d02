"""``memwarden job`` and ``memwarden worker``: run jobs now, or beside everything else."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden.observability.records import Status
from memwarden.settings import default_db
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer
from memwarden.upkeep.jobs import JOBS
from memwarden.upkeep.records import JobRun, JobStatus
from memwarden.upkeep.shared_worker import SharedWorker
from memwarden.upkeep.worker import DEFAULT_EVERY_SECONDS, lower_priority, wait_for_end, work

FAILED = 1
# So many changes are printed; --json has all of them.
MAX_SHOWN = 20
app = typer.Typer(
    help="Jobs that keep memory clean: run them now, see when each ran.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("run")
@command
async def run(
    options: Options,
    name: Annotated[str, typer.Argument(metavar="JOB", help=f"{', '.join(JOBS)}.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show what would change.")] = False,
) -> int:
    """Run a job now, whether it is due or not: on --user, or on everything of the tenant.

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
    return FAILED if any(item.status == Status.ERROR for item in runs) else 0


@app.command("status")
@command
async def status(options: Options) -> None:
    """Show when each job ran last, what it changed, and when it is due.

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
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if with_parent:
        wait_for_end(sys.stdin.buffer, stop)
    failed, url = False, options.settings.db or default_db()
    async with options.open(existing=True) as warden:
        if url.startswith(("postgresql://", "postgres://")):
            await SharedWorker(warden.jobs, url, every).run(stop, once=once)
            return 0
        async for runs in work(warden.jobs, stop, every, once=once):
            failed = failed or any(item.status == Status.ERROR for item in runs)
            if options.as_json:
                print_json(runs)
            elif runs:
                printer().print(_summary(runs))
    return FAILED if once and failed else 0


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
    console.print(("Would change: " if dry_run else "") + _summary(runs))


def _summary(runs: Sequence[JobRun]) -> str:
    """Say what the runs changed."""
    counted = Counter(f"{item.job} {change.verb.replace('_', ' ')}" for item in runs for change in item.changes)
    told = ", ".join(f"{count:,} {verb}" for verb, count in counted.items())
    return f"{told or 'nothing to do'} in {len({item.namespace for item in runs}):,} namespaces."


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
