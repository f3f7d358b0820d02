"""``memwarden observe --dry-run``: what would be kept of a file, and why, in a store that goes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.records import CARD, EXTRACTED_BY, Channel, Memory, State
from memwarden.surfaces.cli.commands.observe import DONE_IN_PART, Plan, Summary, check, store
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.cli.output import clean, print_json, printer, progress
from memwarden.surfaces.conversation_files import Conversation

SHOWN = 40
"""So many items are printed; --json has all of them."""
ALL = 10**6
IN_WORDS = {State.ACTIVE: "fact", State.CANDIDATE: "candidate", State.QUARANTINED: "quarantined"}


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One thing that would be kept beside the words themselves.

    what: fact, candidate, card or quarantined. sources: ids of the turns. why: what the rules say.
    """

    what: str
    text: str
    user: str
    thread: str | None
    sources: tuple[str, ...]
    why: str


async def rehearse(options: Options, conversations: Sequence[Conversation], plans: Sequence[Plan]) -> int:
    """Observe into memory, print what became of it, and write nothing."""
    settings = replace(options.settings, db="memory://", extraction="every_turn")
    async with AsyncWarden.open("memory://", settings) as warden:
        check(plans, settings.max_text_bytes)
        with progress("looking through", sum(len(plan.session.messages) for plan in plans)) as tick:
            summary = await store(warden, options, conversations, plans, tick)
        kept = [one for user in summary.users for one in await _kept(options, warden, user)]
    if options.as_json:
        print_json({"dry_run": True, "observed": summary, "kept": kept})
    else:
        _show(summary, kept)
    return DONE_IN_PART if summary.refused else 0


async def _kept(options: Options, warden: AsyncWarden, user: str) -> list[Rehearsed]:
    namespace = options.scope(warden, user=user).who.namespace
    reasons: dict[str, str] = {}
    for entry in await warden.store.journal(namespace, limit=ALL):
        told = (entry.meta or {}).get("why") or ", ".join((entry.meta or {}).get("kinds", ()))
        if told:
            reasons.setdefault(entry.memory_id, str(told))
    kept = []
    for state, what in IN_WORDS.items():
        for one in await warden.store.find(namespace, limit=ALL, order_by="written", descending=False, state=state):
            if one.actor_id == EXTRACTED_BY or state == State.QUARANTINED:
                kept.append(_told(one, CARD if CARD in one.tags else what, user, reasons.get(one.id, "")))
    return kept


def _told(one: Memory, what: str, user: str, why: str) -> Rehearsed:
    sources = (one.id,) if one.channel == Channel.TURN else one.sources
    return Rehearsed(what, one.text, user, one.thread_id, sources, why)


def _show(summary: Summary, kept: Sequence[Rehearsed]) -> None:
    console = printer()
    for line in _lines(summary, kept):
        console.print(clean(line))
    shown = [one for one in kept if one.what != CARD][:SHOWN]
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for one in shown:
        where = f"{', '.join(one.sources)} in {one.thread}" + (f": {one.why}" if one.why else "")
        table.add_row(Text(one.what), Text(clean(one.text)))
        table.add_row("", Text(clean(where), style="dim"))
    console.print(table)
    if len(kept) > len(shown):
        console.print(Text(f"and {len(kept) - len(shown):,} more, cards among them: --json has all", style="dim"))


def _lines(summary: Summary, kept: Sequence[Rehearsed]) -> Iterator[str]:
    counts = Counter(one.what for one in kept)
    named = ", ".join(f"{count:,} x {what}" for what, count in counts.items()) or "nothing"
    yield f"Nothing was written. {summary.stored:,} turns would be kept word for word; beside them: {named}."
    for what, times in {**summary.left_out, **summary.refused}.items():
        yield f"  left out: {what} ({times:,})"
