"""``memwarden hook``: what coding agents start at the events of a session."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, BinaryIO

import typer

from memwarden.errors import MemwardenError
from memwarden.surfaces.cli.options import Options, command

# Seconds. An agent's program waits for its hooks.
MAX_SECONDS = 14.0
FAILED = 1
_CHUNK = 65_536


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
    and failed commands are kept. An error never stops the agent: it is a line on stderr and exit code 1. The command
    ends within 15 seconds, whatever it waits for. What is written to stdout is JSON with --json and without.

    \b
    Examples:
      memwarden hook --settings > .claude/settings.json
      echo '{"hook_event_name": "SessionStart", "cwd": "."}' | memwarden hook
    """
    from memwarden.surfaces.hooks.session import agent_settings

    if settings:
        sys.stdout.write(json.dumps(agent_settings(hook_command(options, project)), indent=2) + "\n")
        return 0
    with _ended_in_time(MAX_SECONDS):
        try:
            answer = await _answer(options, project, read_event_text(sys.stdin.buffer))
        except (MemwardenError, TimeoutError) as error:
            # Exit code 2 would stop the prompt.
            sys.stderr.write(f"memwarden: {str(error) or type(error).__name__}\n")
            return FAILED
    if answer:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0


def read_event_text(stream: BinaryIO) -> str:
    """Return the event on a stream, as soon as its JSON is whole: some agents leave stdin open."""
    given = b""
    while chunk := stream.read1(_CHUNK) if hasattr(stream, "read1") else stream.read(_CHUNK):
        given += chunk
        if chunk.rstrip().endswith(b"}") and _is_json(given):
            break
    return given.decode("utf-8-sig", errors="replace")


def _is_json(given: bytes) -> bool:
    try:
        json.loads(given)
    except (ValueError, RecursionError):
        return False
    return True


@contextmanager
def _ended_in_time(seconds: float) -> Iterator[None]:
    """End the process when a step hangs, such as a locked store: threads that wait cannot be cancelled."""

    def end() -> None:
        os.write(2, f"memwarden: no answer within {seconds:g} seconds\n".encode())
        os._exit(FAILED)

    watch = threading.Timer(seconds, end)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


async def _answer(options: Options, project: str | None, text: str) -> dict[str, object]:
    from memwarden.surfaces.hooks.session import CodingSession, is_of_interest, name_project, read_event

    event = read_event(text)
    if not is_of_interest(event):
        return {}
    async with options.open() as warden:
        return await CodingSession(warden, project or name_project(event), options.tenant).answer(event)


def hook_command(options: Options, project: str | None) -> str:
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
