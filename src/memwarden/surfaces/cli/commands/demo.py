"""Command ``demo``: observes a shipped history, asks it questions and checks the answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memwarden.api.scope import AsyncScope
from memwarden.records import ContextBlock, Memory
from memwarden.surfaces.cli import output
from memwarden.surfaces.cli.commands.observe import Summary, plan_sessions, store_sessions
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import Printer, clean, print_json, printer, progress
from memwarden.surfaces.conversation_files import recognise

USER = "demo"
FOLDER = "memwarden.surfaces.cli.demo"
NEXT_STEPS = """
Where to go next
  memwarden observe chat.json                         remember a conversation of your own
  memwarden query "Where does Ana work?" --explain    ask about it, with reasons
  memwarden context chat.json                         the block for your next prompt"""


@dataclass(frozen=True, slots=True)
class DemoAnswer:
    """A question of the demo with its known answer and the block that was put before it.

    Attributes:
        expect: ids of the messages that hold the answer. Empty where the history does not hold one.
        found: those of ``expect`` that are in the block.
        missing: the others.
        right: whether an expected message is in the block, or nothing is where nothing is expected.
    """

    question: str
    answer: str
    expect: tuple[str, ...]
    found: tuple[str, ...]
    missing: tuple[str, ...]
    right: bool
    block: ContextBlock


@command
async def demo(
    options: Options,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the demo's store, to ask it more.")] = False,
    budget_tokens: Annotated[int, typer.Option(help="The most tokens that a block may take.")] = 500,
    threshold: Annotated[
        float | None, typer.Option(help="The least chance, 0..1. [default: calibrated]", show_default=False)
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show each block whole, with reasons and cuts.")] = False,
) -> None:
    """Observe a shipped history and ask it questions, with reasons.

    Two people and an assistant talk over eight months about a bread stall, a dog and a move. Plans change and facts
    are corrected. Each question shows what was found and whether it holds the answer. Two have no answer: then nothing
    may be put in. With --full each block is shown whole, with the reason of each memory and what was cut.

    \b
    Examples:
      memwarden demo
      memwarden demo --full
      memwarden demo --keep
      memwarden demo --embedder none          words only
      memwarden demo --json
    """
    with ExitStack() as stack:
        url = options.db or _new_store(stack, keep)
        stays = (keep or options.db is not None) and url != "memory://"
        mine = replace(options, db=url, user=options.user or USER)
        async with mine.open() as warden:
            conversation = recognise(_content("history.json"), "demo", where="history.json")[0]
            with progress("observing", conversation.turns) as tick:
                plans = list(plan_sessions([conversation], mine.user, None))
                summary = await store_sessions(warden, mine, [conversation], plans, tick)
            me = mine.scope(warden)
            answers = [await ask(me, item, budget_tokens, threshold) for item in _content("questions.json")]
            memories = {memory.id: memory for memory in await me.find(limit=10_000)} if full else {}
    if options.as_json:
        right = sum(item.right for item in answers)
        print_json({"db": url if stays else None, "observed": summary, "right": right, "questions": answers})
        return
    show_demo(printer(), summary, answers, memories, full=full)
    if stays:
        print_kept_store(mine)


async def ask(me: AsyncScope, item: Mapping[str, Any], budget_tokens: int, threshold: float | None) -> DemoAnswer:
    """Ask a question of ``questions.json`` and compare the block with the expected messages."""
    message = {"role": "user", "content": item["question"]}
    block = await me.context([message], budget_tokens, threshold=threshold, explain=True)
    return check_answer(item, block)


def check_answer(item: Mapping[str, Any], block: ContextBlock) -> DemoAnswer:
    """Compare a block with the expected messages of a question."""
    sources = {source for shown in block.items for source in shown.sources}
    expect = tuple(item["expect"])
    found = tuple(source for source in expect if source in sources)
    missing = tuple(source for source in expect if source not in sources)
    right = bool(found) if expect else not block
    return DemoAnswer(item["question"], item["answer"], expect, found, missing, right, block)


def show_demo(
    console: Printer, summary: Summary, answers: Sequence[DemoAnswer], memories: Mapping[str, Memory], *, full: bool
) -> None:
    """Print the answers; ``full``: with blocks, reasons and cuts."""
    console.print(
        f"Two people talk with an assistant over eight months. Observed {summary.stored + summary.known} turns of "
        f"{summary.sessions} sessions in {summary.seconds:.1f} s into an SQLite file. No key, no download, no network."
    )
    for item in answers:
        (_show_whole if full else _show_in_short)(console, item, memories)
    known = [item for item in answers if item.expect]
    unknown = [item for item in answers if not item.expect]
    console.print(
        f"\nA message with the answer is in the block for {sum(item.right for item in known)} of {len(known)} "
        f"questions. Nothing was put in for {sum(item.right for item in unknown)} of {len(unknown)} without an answer."
    )
    console.print(NEXT_STEPS)


def print_kept_store(kept: Options) -> None:
    """Print how to ask the store that stays."""
    where = f"--db {kept.db} --user {kept.user}"
    printer().print(f'\nThe store stays. Ask it more:\n  memwarden query "Who is Bruno?" {where}', soft_wrap=True)


def _show_in_short(console: Printer, item: DemoAnswer, _memories: Mapping[str, Memory]) -> None:
    answering = [shown for shown in item.block.items if set(shown.sources) & set(item.expect)]
    best = next(iter((*answering, *item.block.items)), None)
    text = "nothing relevant" if best is None else " ".join(best.memory.text.split())
    console.print(Text(item.question, style="bold"))
    console.print(Text(clean(f"  {text}")), no_wrap=True, overflow="ellipsis", crop=True)
    line = f"  {_verdict(item)} ({item.block.tokens} of {item.block.budget_tokens} tokens): {item.answer}"
    console.print(Text(line, style="dim"), no_wrap=True, overflow="ellipsis")


def _show_whole(console: Printer, item: DemoAnswer, memories: Mapping[str, Memory]) -> None:
    block = item.block
    console.print(Text(f"\n{item.question}", style="bold"))
    console.print(Text(f"Known answer: {item.answer}", style="dim"))
    if block:
        title = f"put before the question: {block.tokens} of {block.budget_tokens} tokens"
        console.print(output.block_panel(block.text, title))
        console.print("Why each is in:")
        console.print(output.items_table(console, block.items, reasons=True, texts=False))
    else:
        console.print(f"Nothing relevant: nothing is put before the question (0 of {block.budget_tokens} tokens).")
    console.print("What was cut, the nearest first:")
    console.print(output.cut_table(console, block.cut, memories, most=3))
    missing = f" Missing: {', '.join(item.missing)}." if item.missing else ""
    console.print(Text(f"{_verdict(item).upper()}.{missing}", style="bold green" if item.right else "bold red"))


def _verdict(item: DemoAnswer) -> str:
    return "right" if item.right else "wrong"


def _new_store(stack: ExitStack, keep: bool) -> str:
    """Return the URL of a new file, which is removed after the demo unless it is kept."""
    if keep:
        folder = tempfile.mkdtemp(prefix="memwarden-demo-")
    else:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memwarden-demo-"))
    return f"sqlite:///{Path(folder) / 'demo.db'}"


def _content(name: str) -> Any:
    return json.loads(resources.files(FOLDER).joinpath(name).read_text(encoding="utf-8"))
