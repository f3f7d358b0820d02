"""``memwarden observe``: whole conversation files, word for word and once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden.records import ALREADY, CARD, EXTRACTED_BY, Channel, Memory, MemoryState, Outcome, WriteResult
from memwarden.remember.ingest.messages import read_messages
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import Tick, clean, print_json, printer, progress
from memwarden.surfaces.conversation_files import Conversation, Session, read_conversations

DONE_IN_PART = 5
STDIN = Path("/dev/stdin")


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """A session of a file with its user and thread."""

    user: str
    thread: str
    session: Session


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of the observed turns by outcome.

    Attributes:
        stored: turns that are new. known: turns that were stored before.
        chatter: of the new ones, greetings and thanks alone, which are kept but never recalled.
        left_out: what the file holds that is no turn of a person or an assistant, and how often.
        refused: messages that the store would not take, by reason.
        undated: of the new ones, those without a time of their own, which count as said now.
        users: whose memory they went to.
    """

    conversations: int
    sessions: int
    stored: int
    known: int
    chatter: int
    left_out: dict[str, int]
    refused: dict[str, int]
    undated: int
    users: tuple[str, ...]
    seconds: float
    turns_per_second: float


@command
async def observe(
    options: Options,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Conversation files, or - for stdin.")],
    thread: Annotated[
        str | None, typer.Option(help="Name of the thread, for a file with a single conversation.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be kept and why; write nothing.")] = False,
) -> int:
    """Remember conversations from files, word for word and once.

    Recognised by their content: OpenAI-style messages (also JSON Lines), exports of ChatGPT and Claude (the zip or its
    conversations.json), plain logs with USER: and ASSISTANT:, memwarden's own layout, LoCoMo and RealMem.
    Observing a file again stores nothing twice. A LoCoMo file holds several conversations: without --user each
    becomes a user of its own, named after the sample, and the summary says which --user to ask.

    \b
    Examples:
      memwarden observe chat.json
      memwarden observe chat.json --user ana --thread 2026-05-08
      memwarden observe locomo10.json && memwarden query "Where did they meet?" --user conv-26
      memwarden observe chatgpt-export.zip --user ana
      memwarden observe chat.json --dry-run
      cat chat.jsonl | memwarden observe -
    """
    read = [read_conversations(STDIN if file == "-" else Path(file)) for file in files]
    plans = [plan for conversations in read for plan in plan_sessions(conversations, options.user, thread)]
    flat = [conversation for conversations in read for conversation in conversations]
    if dry_run:
        return await rehearse(options, flat, plans)
    async with options.open() as warden:
        # All sessions before the first write: a file is observed whole or not at all.
        check_messages(plans, warden.settings.max_text_bytes)
        with progress("observing", sum(len(plan.session.messages) for plan in plans)) as tick:
            summary = await store_sessions(warden, options, flat, plans, tick)
    if options.as_json:
        print_json(summary)
    else:
        show(summary)
    return DONE_IN_PART if summary.refused else 0


def check_messages(plans: Sequence[SessionPlan], max_bytes: int) -> None:
    """Refuse a session with an invalid message before anything is written."""
    for plan in plans:
        if plan.session.messages:
            try:
                read_messages(plan.session.messages, max_bytes)
            except InvalidInput as error:
                raise InvalidInput(f"session {plan.thread!r}: {error}; nothing was stored") from error


def plan_sessions(conversations: Sequence[Conversation], user: str | None, thread: str | None) -> Iterator[SessionPlan]:
    """Choose the user and the thread of each session. Raises InvalidInput for an unclear thread."""
    sessions = sum(len(conversation.sessions) for conversation in conversations)
    if thread is not None and sessions > 1:
        raise InvalidInput(f"--thread names a single thread, but the file has {sessions} sessions; leave it out")
    # Each LoCoMo sample is a life of its own; in a shared namespace they would answer for each other.
    people = len(conversations) > 1 and conversations[0].layout == "LoCoMo"
    for conversation in conversations:
        # Samples of LoCoMo name their sessions alike, so that a shared user for all of them needs longer thread names.
        prefix = f"{conversation.name}/" if people and user else ""
        whose = user or (conversation.name if people else "default")
        for session in conversation.sessions:
            yield SessionPlan(whose, thread or prefix + session.thread, session)


async def store_sessions(
    warden: AsyncWarden,
    options: Options,
    conversations: Sequence[Conversation],
    plans: Sequence[SessionPlan],
    tick: Tick,
) -> Summary:
    """Observe session after session and count what became of their turns."""
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    begun = time.perf_counter()
    for plan in plans:
        if plan.session.messages:
            me = options.scope(warden, user=plan.user, thread=plan.thread)
            _count(await me.observe(plan.session.messages), counts, refused)
            tick(len(plan.session.messages))
    seconds = time.perf_counter() - begun
    left_out: Counter[str] = Counter()
    for conversation in conversations:
        left_out.update({item.what: item.times for item in conversation.dropped if item.what.startswith("messages")})
    return Summary(
        conversations=len(conversations),
        sessions=len(plans),
        stored=counts["stored"],
        known=counts["known"],
        chatter=counts["chatter"],
        left_out=dict(left_out),
        refused=dict(refused),
        undated=counts["undated"],
        users=tuple(dict.fromkeys(plan.user for plan in plans)),
        seconds=round(seconds, 3),
        turns_per_second=round((counts["stored"] + counts["known"]) / max(seconds, 1e-6), 1),
    )


def _count(result: WriteResult, counts: Counter[str], refused: Counter[str]) -> None:
    from memwarden.remember.writer import SMALL_TALK_STORED

    counts["undated"] += result.undated
    for item in result.results:
        if item.outcome == Outcome.REJECTED:
            refused[item.reason] += 1
        elif item.reason == ALREADY:
            counts["known"] += 1
        else:
            counts["stored"] += 1
            counts["chatter"] += item.reason == SMALL_TALK_STORED


def show(summary: Summary) -> None:
    """Print a summary."""
    console = printer()
    for line in lines(summary):
        console.print(clean(line))


def lines(summary: Summary) -> Iterator[str]:
    """Describe in sentences what was observed."""
    yield (
        f"Stored {summary.stored:,} new turns of {_count_of(summary.sessions, 'session')} in {summary.seconds:.1f} s "
        f"({summary.turns_per_second:,.0f} turns/s); {summary.known:,} were already stored."
    )
    if summary.chatter:
        yield f"  {summary.chatter:,} of them are greetings or thanks alone: kept, never recalled."
    if summary.undated:
        has, counts = ("has", "counts") if summary.undated == 1 else ("have", "count")
        yield f"  {summary.undated:,} {has} no time, or one that lies ahead, and {counts} as said now."
    for what, times in {**summary.left_out, **summary.refused}.items():
        yield f"  left out: {what} ({times:,})"
    users = summary.users
    if len(users) > 1:
        yield f"Each conversation has a user of its own: {', '.join(users)}."
        yield f'Ask any of them: memwarden query "..." --user {users[0]}'
    elif users and users[0] != "default":
        yield f'Ask about it: memwarden query "..." --user {users[0]}'
    else:
        yield 'Ask about it: memwarden query "..."'


def _count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# So many items are printed; --json has all of them.
MAX_SHOWN = 40
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
    # Extraction is what a dry run is for, so it is on whatever the settings say.
    settings = replace(options.settings, db="memory://", extraction="every_turn")
    async with AsyncWarden.open("memory://", settings) as warden:
        check_messages(plans, settings.max_text_bytes)
        with progress("looking through", sum(len(plan.session.messages) for plan in plans)) as tick:
            summary = await store_sessions(warden, options, conversations, plans, tick)
            for plan in plans:  # a model reads beside the calls
                await options.scope(warden, user=plan.user, thread=plan.thread).extract_pending()
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
            # The turns themselves are kept in any case; the dry run shows what comes beside them.
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
