"""``memwarden sessions``: a person's stored sessions, in three views."""

from __future__ import annotations

from typing import Annotated

import typer

from memwarden.agent.sessions.plain_sessions import SessionMemory
from memwarden.agent.sessions.rules import MEMORY, agent_receives, cache_state, memory_state
from memwarden.errors import NotFound
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

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
