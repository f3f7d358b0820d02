"""``memwarden observe --dry-run``: shows what extraction would keep, and writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.records import CARD, EXTRACTED_BY, Channel, Memory, MemoryState
from memwarden.surfaces.cli.commands.observe import DONE_IN_PART, SessionPlan, Summary, check_messages, store_sessions
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.cli.output import clean, print_json, printer, progress
from memwarden.surfaces.conversation_files import Conversation

MAX_SHOWN = 40
"""So many items are printed; --json has all of them."""
NO_LIMIT = 10**6
IN_WORDS = {MemoryState.ACTIVE: "fact", MemoryState.CANDIDATE: "candidate", MemoryState.QUARANTINED: "quarantined"}


@dataclass(frozen=True, slots=True)
class DryRunItem:
    """A memory that extraction would keep beside the turns.

    what: fact, candidate, card or quarantined. sources: ids of the turns. why: what the rules say.
    """

    what: str
    text: str
    user: str
    thread: str | None
    sources: tuple[str, ...]
    why: str


async def rehearse(options: Options, conversations: Sequence[Conversation], plans: Sequence[SessionPlan]) -> int:
    """Observe into a store in memory and print the results; write nothing."""
    settings = replace(options.settings, db="memory://", extraction="every_turn")
    async with AsyncWarden.open("memory://", settings) as warden:
        check_messages(plans, settings.max_text_bytes)
        with progress("looking through", sum(len(plan.session.messages) for plan in plans)) as tick:
            summary = await store_sessions(warden, options, conversations, plans, tick)
        kept = [item for user in summary.users for item in await _dry_run_items(options, warden, user)]
    if options.as_json:
        print_json({"dry_run": True, "observed": summary, "kept": kept})
    else:
        _show(summary, kept)
    return DONE_IN_PART if summary.refused else 0


async def _dry_run_items(options: Options, warden: AsyncWarden, user: str) -> list[DryRunItem]:
    namespace = options.scope(warden, user=user).who.namespace
    reasons: dict[str, str] = {}
    for entry in await warden.store.journal(namespace, limit=NO_LIMIT):
        told = (entry.meta or {}).get("why") or ", ".join((entry.meta or {}).get("kinds", ()))
        if told:
            reasons.setdefault(entry.memory_id, str(told))
    kept = []
    for state, what in IN_WORDS.items():
        for item in await warden.store.find(
            namespace, limit=NO_LIMIT, order_by="written", descending=False, state=state
        ):
            if item.actor_id == EXTRACTED_BY or state == MemoryState.QUARANTINED:
                kept.append(_dry_run_item(item, CARD if CARD in item.tags else what, user, reasons.get(item.id, "")))
    return kept


def _dry_run_item(memory: Memory, what: str, user: str, why: str) -> DryRunItem:
    sources = (memory.id,) if memory.channel == Channel.TURN else memory.sources
    return DryRunItem(what, memory.text, user, memory.thread_id, sources, why)


def _show(summary: Summary, kept: Sequence[DryRunItem]) -> None:
    console = printer()
    for line in _lines(summary, kept):
        console.print(clean(line))
    shown = [item for item in kept if item.what != CARD][:MAX_SHOWN]
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for item in shown:
        where = f"{', '.join(item.sources)} in {item.thread}" + (f": {item.why}" if item.why else "")
        table.add_row(Text(item.what), Text(clean(item.text)))
        table.add_row("", Text(clean(where), style="dim"))
    console.print(table)
    if len(kept) > len(shown):
        console.print(Text(f"and {len(kept) - len(shown):,} more, cards among them: --json has all", style="dim"))


def _lines(summary: Summary, kept: Sequence[DryRunItem]) -> Iterator[str]:
    counts = Counter(item.what for item in kept)
    named = ", ".join(f"{count:,} x {what}" for what, count in counts.items()) or "nothing"
    yield f"Nothing was written. {summary.stored:,} turns would be kept word for word; beside them: {named}."
    for what, times in {**summary.left_out, **summary.refused}.items():
        yield f"  left out: {what} ({times:,})"
