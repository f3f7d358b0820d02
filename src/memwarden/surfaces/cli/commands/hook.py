"""``memwarden hook``: what coding agents start at the events of a session."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated

import typer

from memwarden.errors import MemwardenError
from memwarden.surfaces.cli.options import Options, command, read_argument

# An agent's program waits for its hooks.
MAX_SECONDS = 15
FAILED = 1


@command
async def hook(
    options: Options,
    project: Annotated[
        str | None, typer.Option(help="The project. [default: the repository of the session]", show_default=False)
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print the block for the agent's settings, and end.")
    ] = False,
) -> int:
    """Answer an event of a coding agent's session, given as JSON on stdin: Claude Code's format.

    At the start of a session and before a prompt the project's memory is put in; decisions and conventions in a prompt
    and failed commands are kept. An error never stops the agent: it is a line on stderr and exit code 1. What is
    written to stdout is JSON with --json and without.

    \b
    Examples:
      memwarden hook --settings > .claude/settings.json
      echo '{"hook_event_name": "SessionStart", "cwd": "."}' | memwarden hook
    """
    from memwarden.surfaces.hooks.session import agent_settings

    if settings:
        sys.stdout.write(json.dumps(agent_settings(_own_command(options, project)), indent=2) + "\n")
        return 0
    try:
        answer = await asyncio.wait_for(_answer(options, project, read_argument("-")), MAX_SECONDS)
    except (MemwardenError, TimeoutError) as error:
        # Exit code 2 would stop the prompt.
        sys.stderr.write(f"memwarden: {error or f'no answer within {MAX_SECONDS} seconds'}\n")
        return FAILED
    if answer:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0


async def _answer(options: Options, project: str | None, text: str) -> dict[str, object]:
    from memwarden.surfaces.hooks.session import CodingSession, is_of_interest, name_project, read_event

    event = read_event(text)
    if not is_of_interest(event):
        return {}
    async with options.open() as warden:
        return await CodingSession(warden, project or name_project(event), options.tenant).answer(event)


def _own_command(options: Options, project: str | None) -> str:
    """Return the command line that does the same as this."""
    from shlex import join

    named = {
        "--db": options.db,
        "--project": project,
        "--tenant": None if options.tenant == "default" else options.tenant,
        "--embedder": options.embedder,
    }
    given = [part for name, value in named.items() if value for part in (name, value)]
    return join(["memwarden", "hook", *given])
