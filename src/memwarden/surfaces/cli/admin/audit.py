"""``memwarden audit``: lists inconsistent memories, each with a command that corrects it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.errors import Denied, NotFound
from memwarden.records import Audit, Fix, Memory, MemoryState
from memwarden.stores.url import without_login
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import Tick, clean, print_json, printer, progress, to_json_value

FAILED = 1
# The commands that are not called as the verb is.
_COMMAND_NAMES: Mapping[str, str] = {"update": "edit"}


@command
async def audit(
    options: Options,
    limit: Annotated[int, typer.Option(help="Look at so many memories at most, those written last.")] = 10_000,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when something is wrong.")] = False,
    mend: Annotated[bool, typer.Option("--mend", help="Apply the fixes; undo takes each back.")] = False,
) -> int:
    """List wrong, double and stale memories, with the command that corrects each. Changes nothing without --mend.

    Each of these commands can be taken back with undo. Pinned memories, and what was undone before, stay as they are.

    \b
    Examples:
      memwarden audit
      memwarden audit --user shop --limit 1000 --json
      memwarden audit --strict
      memwarden audit --mend
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        # The bar can begin only when the audit says how far it goes, and has to end before the report.
        with ExitStack() as bars:
            found = await me.audit(limit=limit, progress=_ProgressBar(bars))
        if options.as_json:
            print_json(_with_commands(found, options))
        else:
            await _print(found, me, options)
        if mend:
            mended = await _mend(warden, me)
            if not options.as_json:
                printer().print(f"Mended {mended:,} of {len(found.findings):,}. memwarden undo takes a change back.")
    return FAILED if strict and found.findings else 0


async def _mend(warden: AsyncWarden, me: AsyncScope) -> int:
    """Apply the fixes, run by run, and return how many were applied. Raises Denied for an agent."""
    if me.who.agent is not None:
        raise Denied(f"agent {me.who.agent!r} may not mend: leave --agent out")
    mended = 0
    while True:
        (run,) = await warden.jobs.run("clean", user=me.who.user, tenant=me.who.namespace.tenant)
        mended += len(run.changes)
        if not (run.changes and run.reason):
            return mended


class _ProgressBar:
    """Shows the progress of the audit once its extent is known."""

    def __init__(self, bars: ExitStack) -> None:
        self._bars = bars
        self._tick: Tick | None = None
        self._done = 0

    def __call__(self, done: int, of: int) -> None:
        if self._tick is None:
            self._tick = self._bars.enter_context(progress("Looking", of))
        self._tick(done - self._done)
        self._done = done


def command_of(fix: Fix, options: Options) -> str:
    """Write a fix as a shell command, without the store's password."""
    words = ["memwarden", _COMMAND_NAMES.get(fix.verb, fix.verb)]
    db = None if options.db is None else without_login(options.db)
    given = {"db": db, "user": options.user, "agent": options.agent, "embedder": options.embedder}
    # A default that stands in every printed command would only hide the command.
    given["tenant"] = None if options.tenant == Options().tenant else options.tenant
    for name, value in given.items():
        words += [f"--{name}", value] if value is not None else []
    positional = [fix.memory_id] if fix.verb != "undo" else []
    for name, value in fix.arguments.items():
        if name in ("text", "change"):
            positional.append(str(value))
        elif name == "clear":
            words += [word for field in value for word in ("--clear", field)]
        else:
            words += [f"--{name.replace('_', '-')}", value.isoformat() if isinstance(value, datetime) else str(value)]
    # A text that begins with a dash would be read as an option without the double dash.
    return shlex.join([*words, *(["--"] if any(item.startswith("-") for item in positional) else []), *positional])


def _with_commands(found: Audit, options: Options) -> dict[str, Any]:
    told: dict[str, Any] = to_json_value(found)
    for item, finding in zip(told["findings"], found.findings, strict=True):
        item["command"] = command_of(finding.fix, options)
    return told


async def _print(found: Audit, me: AsyncScope, options: Options) -> None:
    console = printer()
    for finding in found.findings:
        console.print(Text(clean(f"{finding.kind.replace('_', ' ')}: {finding.why}"), style="bold"))
        for memory_id in finding.ids:
            console.print(clean(f"  {memory_id}  {await _text_of(me, memory_id)}"), no_wrap=True, overflow="ellipsis")
        console.print(f"  fix: {clean(command_of(finding.fix, options))}", soft_wrap=True)
        console.print()
    for line in _summary(found):
        console.print(line)


def _summary(found: Audit) -> Iterator[str]:
    by_kind: dict[str, int] = {}
    for finding in found.findings:
        by_kind[finding.kind] = by_kind.get(finding.kind, 0) + 1
    told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in by_kind.items())
    active = next(count.count for count in found.counts if count.state == MemoryState.ACTIVE)
    newest = f"the newest {found.looked_at:,} of {active:,}" if found.looked_at < active else f"{found.looked_at:,}"
    yield f"Looked at {newest} memories: {told or 'nothing is wrong'}."
    for state in found.counts:
        if state.state != MemoryState.ACTIVE and state.oldest is not None:
            yield f"{state.count:,} {state.state.replace('_', ' ')}, the oldest of {state.oldest:%Y-%m-%d}."


async def _text_of(me: AsyncScope, memory_id: str) -> str:
    """Return a memory's text without secrets, or its state when it is gone."""
    # Old texts may hold secrets from before they were redacted; the audit itself reports those.
    from memwarden.security.secrets import redact

    try:
        memory: Memory = await me.get(memory_id)
    except NotFound:
        return "(forgotten)"
    return " ".join(redact(memory.text).text.split())
