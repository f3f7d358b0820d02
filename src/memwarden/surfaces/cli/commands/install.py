"""``memwarden install``: adds memory to the settings of a coding agent."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memwarden.errors import InvalidInput
from memwarden.stores.url import place_of
from memwarden.surfaces.cli.commands.hook import hook_command
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import print_json, printer

if TYPE_CHECKING:
    from memwarden.surfaces.hooks.install import Change

_PASSWORD = re.compile(r"^\w+://[^@]*:[^@]*@|password=", re.IGNORECASE)


@command
async def install(
    options: Options,
    program: Annotated[
        str, typer.Argument(metavar="AGENT", help="claude-code, codex, cursor, gemini-cli or opencode.")
    ],
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="The project's folder.")] = Path(),
    project: Annotated[
        str | None, typer.Option(help="The project. [default: the repository of the session]", show_default=False)
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the files. Without it they are only shown.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take out what this command added.")] = False,
) -> None:
    """Show what gives a coding agent memory in a project, and write it with --write.

    The agent's settings get hooks (memwarden hook) and the MCP server (memwarden mcp, extra mcp), Claude Code a skill
    as well. Other settings stay as they are, and so does a file that cannot be read. An entry of the same
    name that this command did not make is refused, and so is a --db with a password.

    \b
    Examples:
      memwarden install claude-code
      memwarden install claude-code --write
      memwarden install claude-code --undo --write
      memwarden install codex --folder ~/shop --db sqlite:////home/ana/memory.db --write
    """
    from memwarden.surfaces.hooks.install import Commands, apply_changes, plan_changes

    if not undo:
        options = replace(options, db=_check_store(options.db))
    commands = Commands(hook_command(options, project), ("memwarden", "mcp", *_server_options(options, project)))
    place = folder.expanduser()
    changes = plan_changes(program, place, commands, undo=undo)
    if write:
        apply_changes(place, changes)
    if options.as_json:
        print_json([{"path": str(change.path), "after": change.after, "written": write} for change in changes])
        return
    for change in changes:
        printer().print(_show(change), markup=False, highlight=False, soft_wrap=True)
    printer().print(_end_line(len(changes), write), markup=False)


def _check_store(url: str | None) -> str | None:
    """Return a URL that means the same in every folder. Raises InvalidInput for one with a password."""
    if url is None:
        return None
    if _PASSWORD.search(url):
        raise InvalidInput(
            "--db has a password, which would be in files of the project; leave --db out and set MEMWARDEN_DB for the"
            " agent, or give a URL without a password and keep that in ~/.pgpass"
        )
    place = place_of(url)
    return url if place is None else f"{url.partition(':')[0]}:///{place.absolute().as_posix()}"


def _server_options(options: Options, project: str | None) -> list[str]:
    named = {
        "--project": project,
        "--db": options.db,
        "--user": options.user,
        "--agent": options.agent,
        "--tenant": None if options.tenant == "default" else options.tenant,
        "--embedder": options.embedder,
    }
    return [part for name, value in named.items() if value for part in (name, value)]


def _show(change: Change) -> str:
    """Return a change as a unified diff."""
    path = change.path.as_posix()
    lines = unified_diff(
        (change.before or "").splitlines(),
        (change.after or "").splitlines(),
        "/dev/null" if change.before is None else path,
        "/dev/null" if change.after is None else path,
        lineterm="",
    )
    return "\n".join(lines)


def _end_line(count: int, write: bool) -> str:
    if not count:
        return "Nothing to change."
    files = "1 file" if count == 1 else f"{count} files"
    return f"{files} written." if write else f"{files} to change. Nothing is written without --write."
