"""The options that all commands share, and the decorator that makes commands of async functions."""

from __future__ import annotations

import asyncio
import inspect
import json
import shlex
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Concatenate, ParamSpec, get_type_hints

import typer

from memwarden import AsyncWarden, filters
from memwarden import settings as config
from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidFilter, InvalidInput, NotFound
from memwarden.records import MemoryState
from memwarden.settings import Settings
from memwarden.stores.url import place_of

MAX_NAMED = 5
# Seconds that a command waits for vectors.
VECTOR_SECONDS = 10.0
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME|REVISION", help="Answer from the past: a time, or a revision's number.")
]
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of every command."""

    db: str | None = None
    user: str | None = None
    agent: str | None = None
    tenant: str = "default"
    embedder: str | None = None
    as_json: bool = False

    @property
    def settings(self) -> Settings:
        """Return the settings in force with these options."""
        return config.load(db=self.db, embedder=self.embedder)

    @property
    def named_store(self) -> str:
        """The option that names the store again, for a command that is told; without a login."""
        if not self.db:
            return ""
        return " --db URL" if "@" in self.db else f" --db {shlex.quote(self.db)}"

    def open(self, *, existing: bool = False, lasting: bool = False) -> AsyncWarden:
        """Return a warden, to be used as an async context manager.

        Without ``--embedder`` a store is opened with its own.

        existing: refuse a file or folder that is not there, so that a question to a mistyped path makes no empty store.
            Else a store in a new folder is announced.
        lasting: the command goes on for long, so that jobs may run beside it.
        """
        settings = self.settings
        if not lasting:
            settings = replace(settings, upkeep="off", vector_seconds=max(VECTOR_SECONDS, settings.vector_seconds))
        url = settings.db or config.default_db()
        if existing:
            self.check_there(url)
        else:
            self.announce_new_store()
        return AsyncWarden.open(url, settings, follow_store=self.embedder is None, prepare=False)

    def announce_new_store(self) -> None:
        """Write to stderr that a store is made unnamed or in a new folder, which a mistyped path may be."""
        named = self.settings.db
        url = named or config.default_db()
        place = place_of(url)
        if place is None or place.exists():
            return
        if not named:
            sys.stderr.write(f"No store was named: a new one is made at {url}; --db URL names another.\n")
        elif not place.parent.is_dir():
            sys.stderr.write(f"The folder {place.parent} was not there: it is made, with a new store at {url}.\n")

    def check_there(self, url: str) -> None:
        """Raise NotFound for a file or folder that is not there."""
        place = place_of(url)
        # Databases have no place to look at; they refuse by themselves.
        if place is not None and not place.exists():
            where = "" if self.settings.db else ", where memwarden looks when no store is named"
            mend = "memwarden observe FILE makes it, --db URL names another store"
            raise NotFound(f"there is no store at {url!r} yet{where}; {mend}")

    def scope(
        self,
        warden: AsyncWarden,
        *,
        user: str | None = None,
        thread: str | None = None,
        project: str | None = None,
        task: str | None = None,
    ) -> AsyncScope:
        """Return the scope that these options name; ``user`` overrides."""
        whose = user or self.user or "default"
        return warden.scope(user=whose, agent=self.agent, tenant=self.tenant, thread=thread, project=project, task=task)


async def find_id(warden: AsyncWarden, me: AsyncScope, given: str, *states: MemoryState) -> str:
    """Return the id that a short form stands for: its beginning or, since ids of an hour begin alike, its end.

    states: where to look; default: what is active. Raises NotFound, and InvalidInput with what it may stand for.
    """
    if not given.strip():
        raise InvalidInput("the id is empty; query and find show ids")
    allowed = warden.settings.categories.readable(me.who.agent, None)
    where = () if allowed is None else (filters.Condition("category", "$in", tuple(allowed)),)
    known = [
        item
        for state in states or (MemoryState.ACTIVE,)
        for item in await warden.store.find_ids(me.who.namespace, where, state=state)
    ]
    if given in known:
        return given
    found = [item for item in known if item.startswith(given)] or [item for item in known if item.endswith(given)]
    if len(found) > 1:
        named = ", ".join(found[:MAX_NAMED]) + (
            f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
        )
        raise InvalidInput(f"{given!r} is short for {len(found):,} memories: {named}; give more of it, or its end")
    return found[0] if found else given


def read_moment(text: str | None) -> int | str | None:
    """Read a moment: digits are a revision, anything else a time."""
    return int(text) if text is not None and text.isdigit() else text


_SharedOptions = Mapping[str, tuple[Any, Any]]
_SHARED: _SharedOptions = {
    "db": (
        Annotated[str | None, typer.Option(metavar="URL", help="The store, such as sqlite:///notes.db.")],
        None,
    ),
    "user": (Annotated[str | None, typer.Option(help="Whose memory. [default: default]", show_default=False)], None),
    "agent": (Annotated[str | None, typer.Option(help="The agent that asks; its allowlist decides.")], None),
    "tenant": (Annotated[str, typer.Option(help="Hard isolation; nothing is shared between tenants.")], "default"),
    "embedder": (Annotated[str | None, typer.Option(metavar="NAME", help="wordllama, minilm, openai or none.")], None),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")], False),
}
_ONE_PERSON: tuple[Any, Any] = (
    Annotated[str | None, typer.Option(help="One person alone. [default: everybody]", show_default=False)],
    None,
)


def command(action: Callable[Concatenate[Options, P], Coroutine[Any, Any, int | None]]) -> Callable[..., int]:
    """Make a command of an async function, which gets the shared options first.

    It may return an exit code.
    """
    return _make_command(action, _SHARED)


def command_for_everybody(
    action: Callable[Concatenate[Options, P], Coroutine[Any, Any, int | None]],
) -> Callable[..., int]:
    """Make a command that works on everybody of the tenant unless ``--user`` names a person."""
    return _make_command(action, {**_SHARED, "user": _ONE_PERSON})


def _make_command(action: Callable[..., Coroutine[Any, Any, int | None]], shared: _SharedOptions) -> Callable[..., int]:
    def run(**given: Any) -> int:
        options = Options(**{name: given.pop(name) for name in shared})
        bound: Any = action
        code = asyncio.run(bound(options, **given))
        sys.stdout.flush()
        return code or 0

    own = list(inspect.signature(action).parameters.values())[1:]
    # Annotations are strings here (from __future__); typer needs the types and their options.
    hints = get_type_hints(action, include_extras=True)
    # Keyword-only: typer passes by name, and shared options may then follow parameters without a default.
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [item.replace(kind=kind, annotation=hints[item.name]) for item in own]
    parameters += [
        inspect.Parameter(name, kind, default=default, annotation=hint) for name, (hint, default) in shared.items()
    ]
    run.__name__, run.__doc__ = action.__name__, action.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def read_argument(argument: str) -> str:
    """Return the argument itself, or all of stdin for ``-``."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin is no UTF-8 text (byte {error.start:,})") from None


def read_conditions(pairs: Sequence[str] | None) -> Mapping[str, Any] | None:
    """Parse filters given as ``name=value``; a value may be JSON. Raises InvalidFilter."""
    return read_pairs(pairs, "filter", InvalidFilter)


def read_pairs(
    pairs: Sequence[str] | None, what: str, error: type[InvalidInput] = InvalidInput
) -> Mapping[str, Any] | None:
    """Parse ``name=value`` pairs; a value may be JSON. Raises the error."""
    read: dict[str, Any] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise error(f"a {what} is name=value, such as kind=decision, not {pair!r}")
        if name in read:
            raise error(f'{what} {name!r} is given twice; for several values: {name}=["a", "b"]')
        read[name] = _value(name, value)
    return read or None


def _value(name: str, value: str) -> Any:
    """Parse a value as JSON where it is JSON, but keep ``thread_id=2026`` a text."""
    try:
        parsed = json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return value
    field = filters.ALIASES.get(name, name)
    is_text = filters.FIELDS.get(field) in (filters.TEXT, filters.TIME, filters.MANY)
    return value if is_text and isinstance(parsed, int | float) else parsed
