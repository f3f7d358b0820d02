"""The demo's last part: a proposed change waits for consent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.rule import Rule
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.records import Consent, Memory, UserContext
from memwarden.surfaces.cli.commands.consent import change
from memwarden.surfaces.cli.output import Printer, clean

SAID = "they call me Nessie, I don't know yet if I allow it"
"""What Ines says in the history: a name that somebody might set too soon."""
PATCH = {"preferred_name": "Nessie"}


@dataclass(frozen=True, slots=True)
class ConsentScene:
    """The proposal, and the user context until a decision."""

    said: str
    waiting: tuple[Consent, ...]
    context: UserContext


async def play_consent_scene(me: AsyncScope, memories: Mapping[str, Memory]) -> ConsentScene:
    """Propose a change as an eager assistant would."""
    (turn,) = [memory for memory in memories.values() if SAID in memory.text]
    await me.consent.propose(PATCH, sources=[turn.id], confident=True)
    return ConsentScene(turn.text, tuple(await me.consent.proposals()), await me.consent.user_context())


def show_consent_scene(console: Printer, asked: ConsentScene) -> None:
    """Print the scene."""
    console.print()
    console.print(Rule(Text("what waits for consent"), align="left", style="dim"))
    console.print(Text(clean(f"Ines: {asked.said}"), style="bold"))
    for item in asked.waiting:
        until = f", until {item.expires_at:%d %b %Y}" if item.expires_at else ""
        console.print(clean(f"  proposed           {change(item)}: it waits for her word{until}"))
    console.print(f"  what holds         preferred_name = {asked.context.preferred_name or 'nothing'}")
    console.print(Text("memwarden consent list shows it, memwarden consent approve or decline decides.", style="dim"))
