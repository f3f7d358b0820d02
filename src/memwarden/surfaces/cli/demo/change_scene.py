"""The demo's second part: a fact changes; its history and its past answer are shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from rich.rule import Rule
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.records import Delta, HistoryEntry, MessageResult, QueryResult
from memwarden.surfaces.cli.commands.changes import history_table
from memwarden.surfaces.cli.output import Printer, clean

QUESTION = "What is Ines' favourite colour?"
THEN = datetime(2025, 12, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DemoStatement:
    """A statement and the time when it was learned."""

    text: str
    at: datetime


STATEMENTS = (
    DemoStatement("Ines' favourite colour is burnt orange.", datetime(2025, 10, 4, tzinfo=UTC)),
    DemoStatement("Ines' favorite color is burnt orange.", datetime(2025, 11, 2, tzinfo=UTC)),
    DemoStatement("Ines' favourite colour is now bottle green.", datetime(2026, 3, 14, tzinfo=UTC)),
)
"""A fact, the same in other words, and its new value; the history says them in sessions 2 and 8."""


@dataclass(frozen=True, slots=True)
class ChangeScene:
    """The outcomes of the statements of a changing fact."""

    became: tuple[MessageResult, ...]
    delta: Delta
    now: QueryResult
    then: QueryResult
    history: tuple[HistoryEntry, ...]


async def play_change_scene(me: AsyncScope) -> ChangeScene:
    """State a fact, repeat it and replace it; then read the results."""
    before = (await me._parts.store.head(me.who.namespace)).rev
    became = [
        (await me.remember(item.text, created_at=item.at, category="preferences", importance=0.6)).results[0]
        for item in STATEMENTS
    ]
    first = became[0].id
    assert first is not None
    return ChangeScene(
        became=tuple(became),
        delta=await me.journal.delta(before),
        now=await me.query(QUESTION, top_k=1, filters={"channel": "semantic"}),
        then=await me.query(QUESTION, top_k=1, filters={"channel": "semantic"}, as_of=THEN),
        history=tuple(await me.journal.history(first)),
    )


def show_change_scene(console: Printer, changing: ChangeScene) -> None:
    """Print the scene."""
    console.print()
    console.print(Rule(Text("a fact that changes"), align="left", style="dim"))
    for item, what in zip(STATEMENTS, changing.became, strict=True):
        console.print(Text(f"remember, {item.at:%d %b %Y}: {item.text}", style="bold"))
        reason = f" · {what.reason}" if what.reason else ""
        console.print(Text(clean(f"  {what.outcome}{reason}"), style="dim"))
    console.print("\nWhat the next answer begins with:")
    console.print(Text(clean(changing.delta.text), style="cyan"))
    console.print(f"\n{QUESTION}")
    console.print(f"  now                {_answer(changing.now)}")
    console.print(f"  as of {THEN:%d %b %Y}  {_answer(changing.then)}")
    console.print("\nThe history of the first; memwarden undo takes any of it back:")
    console.print(history_table(changing.history))


def _answer(found: QueryResult) -> str:
    return clean(found.items[0].memory.text) if found.items else "nothing relevant"
