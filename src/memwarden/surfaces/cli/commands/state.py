"""``memwarden state`` and ``sessions``: values that agents saved by key, and stored sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from memwarden.agent.plain_sessions import SessionMemory
from memwarden.agent.session_rules import MEMORY, agent_receives, cache_state, memory_state
from memwarden.agent.state import StateKey
from memwarden.errors import NotFound
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

app = typer.Typer(
    help="Values that agents saved by key: list, show, set and clear them.", no_args_is_help=True, rich_markup_mode=None
)
Key = Annotated[str, typer.Argument(metavar="KEY", help="The key of a value, as state list shows it.")]
Pattern = Annotated[
    str, typer.Argument(metavar="GLOB", help="Which keys: * any text, ? any sign, [ab] either of these.")
]


@app.command("list")
@command
async def list_values(options: Options, pattern: Pattern = "*") -> None:
    """List keys with size, time and the beginning of each value.

    \b
    Examples:
      memwarden state list
      memwarden state list "kudos*" --json
    """
    async with options.open(existing=True) as warden:
        keys = await options.scope(warden).state.list_keys(pattern, include_values=True)
    if options.as_json:
        print_json(keys)
    else:
        _list(keys)


@app.command("get")
@command
async def get_value(options: Options, key: Key) -> None:
    """Print a value as JSON. Exit code 3 when there is none.

    \b
    Example:
      memwarden state get kudos_givers_2025
    """
    async with options.open(existing=True) as warden:
        value = await options.scope(warden).state.load(key)
    print_json({"key": key, "value": value} if options.as_json else value)


@app.command("set")
@command
async def set_value(
    options: Options,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="JSON; what is none is taken as a text.")],
    description: Annotated[str | None, typer.Option(help="One line about what it is, by which it is found.")] = None,
    expires_in: Annotated[float | None, typer.Option(metavar="SECONDS", help="After which it is gone.")] = None,
) -> None:
    """Save a value under a key, replacing the earlier value.

    \b
    Examples:
      memwarden state set favorite_routes '["river loop", "hill climb"]' --description "where Ana likes to run"
      memwarden state set greeting hello --expires-in 3600
    """
    async with options.open() as warden:
        saved = await options.scope(warden).state.save(
            key, _value(value), description=description, expires_in=expires_in
        )
    if options.as_json:
        print_json(saved)
    else:
        printer().print(clean(f"Saved {saved.key} ({saved.size_bytes:,} bytes)."))


@app.command("clear")
@command
async def clear_values(
    options: Options,
    pattern: Annotated[str, typer.Argument(metavar="GLOB", help="Which keys; '*' for all of them.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which would be cleared.")] = False,
) -> None:
    """Clear the values with matching keys, and nothing else. memwarden restore state:KEY brings a value back.

    \b
    Examples:
      memwarden state clear "kudos*" --dry-run
      memwarden state clear "*"
    """
    async with options.open(existing=True) as warden:
        cleared = await options.scope(warden).state.clear(pattern, dry_run=dry_run)
    if options.as_json:
        print_json({"cleared": cleared, "dry_run": dry_run})
        return
    console = printer()
    for key in cleared:
        console.print(clean(key))
    console.print(f"{'Would clear' if dry_run else 'Cleared'} {len(cleared)}.")


def _value(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError:
        return said


def _list(keys: Sequence[StateKey]) -> None:
    if not keys:
        printer().print("No state is saved under such a key.")
        return
    table = Table.grid(padding=(0, 2))
    table.add_row("key", "bytes", "saved", "value")
    for key in keys:
        table.add_row(clean(key.key), f"{key.size_bytes:,}", key.updated_at[:16], clean(key.preview or ""))
    printer().print(table)


sessions_app = typer.Typer(help="Stored sessions: list and show them.", no_args_is_help=True, rich_markup_mode=None)


@sessions_app.command("list")
@command
async def list_sessions(options: Options) -> None:
    """List the ids of sessions, the most recently changed first.

    \b
    Example:
      memwarden sessions list --user ana
    """
    async with options.open(existing=True) as warden:
        ids = await options.scope(warden).sessions.list_ids()
    if options.as_json:
        print_json(ids)
        return
    for item in ids:
        printer().print(clean(item))
    if not ids:
        printer().print("No sessions are stored.")


@sessions_app.command("show")
@command
async def show_session(
    options: Options,
    session_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a session, as sessions list shows it.")],
    message: Annotated[str | None, typer.Option(help="What the user would say next.")] = None,
) -> None:
    """Show a session's memory, its cache and the prompt of its agent. Nothing is written.

    Exit code 3 when there is no such session.

    \b
    Example:
      memwarden sessions show ABC123 --user ana --message "And now?"
    """
    async with options.open(existing=True) as warden:
        stored = options.scope(warden).sessions
        if session_id not in await stored.list_ids():
            raise NotFound(f"no session is stored under {session_id!r:.80}")
        session = await stored.load(session_id)
    asked = message if message is not None else session[MEMORY]["current_cycle"]["user_question"]
    received = SessionMemory().prepare_messages_for_agent(session, asked)
    messages = received if asked else received[:-1]
    if options.as_json:
        print_json({"session": session, "agent_receives": messages})
        return
    for view in (memory_state(session), cache_state(session), agent_receives(messages)):
        printer().print(f"{clean(view)}\n", soft_wrap=True)
