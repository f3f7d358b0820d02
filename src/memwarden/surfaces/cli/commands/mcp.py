"""``memwarden mcp``: serves memory to clients of the Model Context Protocol."""

from __future__ import annotations

import signal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from memwarden.errors import missing_extra
from memwarden.surfaces.cli.options import Options, command

if TYPE_CHECKING:
    from memwarden.agent.tools import Permission


@command
async def mcp(
    options: Options,
    thread: Annotated[str, typer.Option(help="The conversation that is written to.")] = "mcp",
    project: Annotated[str | None, typer.Option(help="Search the memory of this project as well.")] = None,
    task: Annotated[str | None, typer.Option(help="Search the memory of this task as well.")] = None,
    profile: Annotated[
        str, typer.Option(help="default (three tools), full, or graph (those of the reference memory server).")
    ] = "default",
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer no tool that changes something.")] = False,
    trust_user_words: Annotated[
        bool,
        typer.Option("--trust-user-words", help="What the model remembers counts as the person's own words."),
    ] = False,
) -> None:
    """Serve memory over stdio to a client of the Model Context Protocol, until it closes the pipe.

    Whose memory it is, is decided here: no tool takes a user, an agent or a store. On stdout is the protocol, which is
    JSON with --json and without; the option makes JSON of an error at the start.

    \b
    Examples:
      memwarden mcp
      memwarden mcp --user ana --db sqlite:////home/ana/memory.db
      memwarden mcp --agent researcher --read-only
      memwarden mcp --project apollo
      memwarden mcp --profile graph
    """
    if find_spec("mcp") is None:
        raise missing_extra("memwarden mcp", "mcp")
    from memwarden.surfaces.mcp.profiles import serve_scope

    warden = options.open(lasting=True)
    me = options.scope(warden, thread=thread, project=project, task=task)
    permission: Permission = "read" if read_only else "write"
    server = serve_scope(warden, me, permission, profile, personal=trust_user_words)
    # The package waits for stdin in a thread that no exception ends; acknowledged writes are on the disk already.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    await server.run_stdio_async()
