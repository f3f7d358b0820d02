"""Prints the demo for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.rule import Rule
from rich.text import Text

from memwarden.records import Memory
from memwarden.surfaces.cli import output
from memwarden.surfaces.cli.commands.observe import Summary
from memwarden.surfaces.cli.demo.play import DemoResult, MissingMessage
from memwarden.surfaces.cli.demo.scenes import (
    ChangeScene,
    ConsentScene,
    QuarantineScene,
    show_change_scene,
    show_consent_scene,
    show_quarantine_scene,
)
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.cli.output import Printer, printer
from memwarden.surfaces.conversation_files import Conversation


def show_demo(
    history: Conversation,
    summary: Summary,
    played: Sequence[DemoResult],
    memories: Mapping[str, Memory],
    changing: ChangeScene,
    held: QuarantineScene,
    asked: ConsentScene,
    kept: Options | None,
) -> None:
    """Print the whole demo. ``kept``: how to reach the store when it stays."""
    console = printer()
    _introduce(console, history, summary)
    for number, item in enumerate(played, 1):
        _question(console, number, len(played), item, memories)
    show_change_scene(console, changing)
    show_quarantine_scene(console, held)
    show_consent_scene(console, asked)
    _conclude(console, played, kept)


def _introduce(console: Printer, history: Conversation, summary: Summary) -> None:
    first, last = history.sessions[0].at, history.sessions[-1].at
    span = f", {first:%B %Y} to {last:%B %Y}" if first and last else ""
    console.print(Text("memwarden demo", style="bold"))
    console.print(
        f"{' and '.join(history.people)} talk with an assistant{span}: {summary.sessions} sessions. Observed "
        f"{summary.stored + summary.known} turns in {summary.seconds:.1f} s into an SQLite file; "
        f"{summary.chatter} are greetings or thanks alone, kept but never recalled. No key, no download, no network."
    )


def _question(console: Printer, number: int, of: int, played: DemoResult, memories: Mapping[str, Memory]) -> None:
    asked, block = played.asked, played.block
    console.print()
    console.print(Rule(Text(f"{number} of {of}"), align="left", style="dim"))
    console.print(Text(asked.question, style="bold"))
    console.print(Text(f"Known answer: {asked.answer} ({asked.note}).", style="dim"))
    if block:
        title = f"put before the question: {block.tokens} of {block.budget_tokens} tokens"
        console.print(output.block_panel(block.text, title))
        console.print("Why each is in:")
        console.print(output.items_table(console, block.items, reasons=True, texts=False))
    else:
        console.print(f"\nNothing relevant: nothing is put before the question (0 of {block.budget_tokens} tokens).")
    console.print("What was cut, the nearest first:")
    console.print(output.cut_table(console, block.cut, memories, most=3))
    console.print(Text(verdict(played), style="bold green" if played.right else "bold red"))


def verdict(played: DemoResult) -> str:
    """Say whether the expected messages are in the block."""
    asked = played.asked
    if not asked.expect:
        return (
            "RIGHT: nothing was said on it, and nothing is put in."
            if played.right
            else ("WRONG: nothing was said on it, so nothing should be put in.")
        )
    count = f"{len(played.found)} of {len(asked.expect)}" if len(asked.expect) > 1 else ""
    found = ", ".join(played.found)
    missed = "; ".join(map(_missing, played.missed))
    if not played.found:
        return f"MISSING: {missed}."
    return f"IN THE BLOCK: {f'{count} messages with the answer: ' if count else ''}{found}" + (
        f". Missing: {missed}." if missed else "."
    )


def _missing(message: MissingMessage) -> str:
    if not message.place:
        return f"{message.source} is not stored"
    return f"{message.source}, cut by {message.gate} with {message.score:.2f}, number {message.place} of what was cut"


def _conclude(console: Printer, played: Sequence[DemoResult], kept: Options | None) -> None:
    answerable = [item for item in played if item.asked.expect]
    silent = [item for item in played if not item.asked.expect]
    console.print()
    console.print(Rule(style="dim"))
    console.print(
        f"A message with the answer is in the block for {sum(item.right for item in answerable)} of {len(answerable)} "
        f"questions; nothing was put in for {sum(item.right for item in silent)} of {len(silent)} without an answer."
    )
    where = f" --db {kept.db} --user {kept.user}" if kept else ""
    console.print(Text("\nWhere to go next", style="bold"))
    for line, about in (
        ("memwarden observe chat.json", "remember a conversation of your own"),
        ('memwarden query "Where does Ana work?" --explain', "ask about it, with reasons"),
        ("memwarden context chat.json", "the block for your next prompt"),
    ):
        console.print(f"  {line:<52}{about}")
    if kept:
        console.print(
            f'\nThe demo\'s store stays. Ask it more:\n  memwarden query "Who is Bruno?"{where}', soft_wrap=True
        )
