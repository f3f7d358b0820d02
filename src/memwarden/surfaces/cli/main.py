"""``memwarden``: loads the named command only, and turns errors into exit codes."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from memwarden.errors import Denied, InvalidInput, MemwardenError, NotFound

HELP = """The memory of LLM agents: what to load, what to keep, and why.

Everything stays in an SQLite file on this machine. No key, no download, no network.
"""
EPILOG = """\b
Begin here:
  memwarden demo                            a shipped history is observed, then asked about
  memwarden observe chat.json               remember a conversation of your own
  memwarden query "Where does Ana work?"    ask about it
\b
Every command takes --db URL, --user, --agent, --tenant, --embedder and --json; migrate and backup restore
name their own stores.
Settings: option > environment MEMWARDEN_* > memwarden.toml > default; see memwarden config show.
Exit codes: 0 ok, 1 failure, 2 wrong use, 3 not found, 4 denied, 5 done in part, 130 interrupted.
"""

BENCHMARK = "memwarden_bench"
FAILED, MISUSED, NOT_FOUND, DENIED, INTERRUPTED = 1, 2, 3, 4, 130
EXIT_CODES: tuple[tuple[type[MemwardenError], int], ...] = (
    (NotFound, NOT_FOUND),
    (Denied, DENIED),
    (InvalidInput, MISUSED),
    (MemwardenError, FAILED),
)
# typer carries its own copy of click since 0.26; this is click's UsageError in either of them.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class CommandPlace(NamedTuple):
    """The location of a command (``module:name`` of a function or typer app) and its summary."""

    target: str
    about: str


_HERE = "memwarden.surfaces.cli"
COMMANDS: Mapping[str, CommandPlace] = {
    "demo": CommandPlace(
        f"{_HERE}.commands.demo:demo", "Observe a shipped history and ask it questions, with reasons."
    ),
    "observe": CommandPlace(
        f"{_HERE}.commands.observe:observe", "Remember conversations from files, word for word and once."
    ),
    "add": CommandPlace(f"{_HERE}.commands.memories:add", "Remember a statement, as given."),
    "query": CommandPlace(
        f"{_HERE}.commands.ask:query", "Find what answers a question; nothing when nothing is relevant."
    ),
    "ask": CommandPlace(f"{_HERE}.commands.ask:ask", "Let the chat model answer from memory; it cites what it used."),
    "context": CommandPlace(f"{_HERE}.commands.ask:context", "Print the <memories> block to put before a message."),
    "overview": CommandPlace(f"{_HERE}.commands.ask:overview", "Show what is certain of a person, with its sources."),
    "chat": CommandPlace(
        f"{_HERE}.commands.chat:chat", "Talk to a model that remembers; shows what it was given and what was kept."
    ),
    "get": CommandPlace(f"{_HERE}.commands.memories:get", "Show a memory."),
    "find": CommandPlace(f"{_HERE}.commands.memories:find", "List memories by filter, without a question."),
    "edit": CommandPlace(f"{_HERE}.commands.changes:edit", "Correct a memory; the old content stays in its history."),
    "forget": CommandPlace(f"{_HERE}.commands.memories:forget", "Take a memory out of every answer."),
    "reset": CommandPlace(f"{_HERE}.commands.memories:reset", "Forget everything of a user; it can be restored."),
    "users": CommandPlace(f"{_HERE}.commands.memories:users", "List the users of whom something is kept."),
    "restore": CommandPlace(f"{_HERE}.commands.changes:restore", "Bring a forgotten memory back."),
    "pin": CommandPlace(f"{_HERE}.commands.changes:pin", "Put a memory first in line for a context block."),
    "undo": CommandPlace(f"{_HERE}.commands.changes:undo", "Take a decision back: a merge, a new value, a correction."),
    "history": CommandPlace(f"{_HERE}.commands.changes:history", "Show what happened to a memory, by whom and why."),
    "events": CommandPlace(
        f"{_HERE}.admin.events:events", "Show what was done and when: writes, searches, skips, failures."
    ),
    "delta": CommandPlace(f"{_HERE}.commands.changes:delta", "Show what changed since a thread last looked."),
    "graph": CommandPlace(f"{_HERE}.commands.graph:graph", "Show what a memory is related to."),
    "consent": CommandPlace(
        f"{_HERE}.commands.consent:app", "Decide what may change in how you are called and spoken to."
    ),
    "review": CommandPlace(f"{_HERE}.commands.review:app", "Decide on candidates and on quarantined texts."),
    "state": CommandPlace(f"{_HERE}.commands.state:app", "Values that agents saved by key: list, show, set, clear."),
    "sessions": CommandPlace(
        f"{_HERE}.commands.state:sessions_app", "Stored sessions: list them, show what their agent receives."
    ),
    "doctor": CommandPlace(
        f"{_HERE}.admin.doctor:doctor", "Tell whether a store is well; --repair mends, --leaks tries its walls."
    ),
    "backup": CommandPlace(f"{_HERE}.admin.backup:app", "Copy a store into a file, check such a file, restore it."),
    "export": CommandPlace(f"{_HERE}.admin.bundle:export", "Write everything of a user into a file."),
    "import": CommandPlace(
        f"{_HERE}.admin.bundle:import_", "Read what another program keeps, or a file that export wrote."
    ),
    "erase": CommandPlace(f"{_HERE}.admin.erase:erase", "Remove a user for good, with a receipt."),
    "verify": CommandPlace(f"{_HERE}.admin.erase:verify", "Prove that what a receipt names is not there."),
    "migrate": CommandPlace(f"{_HERE}.admin.migrate:migrate", "Move everything of a store to another, and compare."),
    "thread": CommandPlace(f"{_HERE}.commands.memories:thread_app", "Show conversations and what was made of them."),
    "audit": CommandPlace(
        f"{_HERE}.admin.audit:audit", "Show what is wrong with what is remembered, and what would mend it."
    ),
    "job": CommandPlace(f"{_HERE}.admin.jobs:app", "Run a job that keeps memory clean, and see when each ran."),
    "worker": CommandPlace(f"{_HERE}.admin.jobs:worker", "Run jobs when they are due, beside everything else."),
    "reembed": CommandPlace(f"{_HERE}.admin.jobs:reembed", "Move a store to another embedding model while it answers."),
    "hook": CommandPlace(f"{_HERE}.commands.hook:hook", "Answer an event of a coding agent's session (on stdin)."),
    "install": CommandPlace(
        f"{_HERE}.commands.install:install", "Add memory to the settings of a coding agent, or take it out."
    ),
    "mcp": CommandPlace(f"{_HERE}.commands.mcp:mcp", "Serve memory to desktop clients and IDEs (MCP, over stdio)."),
    "serve": CommandPlace(f"{_HERE}.admin.server:serve", "Serve the store over HTTP (extra server)."),
    "key": CommandPlace(f"{_HERE}.admin.server:app", "Keys of the server: make, list and revoke them."),
    "integrations": CommandPlace(
        f"{_HERE}.commands.integrations:integrations", "List the adapters of frameworks, and what to install."
    ),
    "bench": CommandPlace(f"{BENCHMARK}.app:app", "Measure recall and speed (needs the package memwarden-bench)."),
    "config": CommandPlace(f"{_HERE}.admin.settings:app", "Show the settings in force and where they come from."),
    "version": CommandPlace(f"{_HERE}.admin.settings:version", "Show the version."),
}
# Commands of the release before, which say their new name and do not stand in the help.
RENAMED: Mapping[str, CommandPlace] = {"waiting": CommandPlace(f"{_HERE}.commands.review:renamed_app", "Now: review.")}

# Words for a command that are none, such as methods of the library with another name.
OTHER_NAMES: Mapping[str, str] = {
    "remember": "add",
    "save": "add",
    "store": "add",
    "search": "query",
    "recall": "query",
    "update": "edit",
    "correct": "edit",
    "delete": "forget",
    "remove": "forget",
    "list": "find",
}


class LazyCommands(TyperGroup):
    """The commands of :data:`COMMANDS`, each loaded on first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Names only: importing every command would load numpy and rich for --help.
        self.commands: Any = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        place = COMMANDS.get(cmd_name) or RENAMED.get(cmd_name)
        return None if place is None else _load(cmd_name, place)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if (name := OTHER_NAMES.get(args[0])) is not None:
            # By likeness of letters alone "remember" would be "reembed".
            ctx.fail(f"No such command {args[0]!r}. Did you mean {name!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.about) for name, place in COMMANDS.items()])


def _load(name: str, place: CommandPlace) -> Any:
    """Import a command. Raises MemwardenError for the benchmark where it is not installed."""
    module, _, attribute = place.target.partition(":")
    # Only the missing package itself is explained: an ImportError inside the benchmark is a fault to be seen.
    if module.startswith(BENCHMARK) and find_spec(BENCHMARK) is None:
        raise MemwardenError("the benchmark is a package of its own; install it with: pip install memwarden-bench")
    target = getattr(import_module(module), attribute)
    if isinstance(target, typer.Typer):
        # Rich would read [brackets] in help texts as markup.
        target.rich_markup_mode = None
        return typer.main.get_group(target)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(target)
    return typer.main.get_command(alone)


app = typer.Typer(
    name="memwarden", cls=LazyCommands, help=HELP, epilog=EPILOG, add_completion=False, rich_markup_mode=None
)


@app.callback()
def _root() -> None:
    """Do nothing before a command."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    # No word at all shows the help with exit code 0: it is a newcomer's first try, not a mistake.
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if given == ["--version"]:
        given = ["version"]
    _forgive_encoding()
    # A sixth of a short command went into looking for garbage among modules that were just loaded.
    gc.set_threshold(100_000)
    # asyncio would turn Ctrl-C into a cancellation, which does not wake a command that waits for stdin.
    signal.signal(signal.SIGINT, _interrupt)
    sys.exit(run(given))


def run(arguments: Sequence[str]) -> int:
    """Run a command and return the exit code."""
    # Read before parsing, so that a usage error of a program comes as JSON too.
    as_json = "--json" in arguments
    try:
        # Without standalone mode typer raises; exit codes and texts of errors are decided here.
        code = typer.main.get_command(app)(list(arguments), prog_name="memwarden", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except _UsageError as error:
        _say("Usage", _usage(error), as_json)
        return MISUSED
    except MemwardenError as error:
        _say(type(error).__name__, "; ".join([str(error), *getattr(error, "__notes__", ())]), as_json)
        return next(code for kind, code in EXIT_CODES if isinstance(error, kind))
    except BrokenPipeError:
        # Whoever reads has enough: "find | head" is no failure.
        let_go_of_stdout()
        return 0
    except OSError as error:
        if error.filename is not None:  # an error of a file, and not of stdout
            raise
        let_go_of_stdout()
        _say(type(error).__name__, f"the output cannot be written: {error.strerror or error}", as_json)
        return FAILED


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def let_go_of_stdout() -> int:
    """Replace a closed stdout with the null device, so that Python exits quietly."""
    # Python flushes stdout when it exits, and would print a traceback for the closed pipe there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _usage(error: Any) -> str:
    message = str(error.format_message()).strip().rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "memwarden")
    return f"{message}{'' if message.endswith('?') else ';'} see {path} --help"


def _say(kind: str, message: str, as_json: bool) -> None:
    if as_json:
        import json

        message = json.dumps({"error": {"type": kind, "message": message}})
    else:
        message = f"memwarden: {message}"
    print(message, file=sys.stderr)  # noqa: T201  # the only place where the command line itself speaks


def _forgive_encoding() -> None:
    """Replace characters that a terminal cannot show by question marks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
