"""``memwarden query`` and ``memwarden context``, also of a task: relevant memories and blocks for prompts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import ContextBlock, Cut, Memory, QueryResult
from memwarden.settings import DEFAULT_BLOCK_TOKENS
from memwarden.surfaces.cli import output
from memwarden.surfaces.cli.options import AsOf, Options, command, read_argument, read_conditions, read_moment
from memwarden.surfaces.cli.output import Printer, clean, print_json, printer
from memwarden.tiers import ContextPackage, ContextRequest, Task
from memwarden.tiers.budget import TIERS

# So many of what was left out are named; the others are counted.
MAX_SHOWN = 10
# The gates of what is not relevant enough: their score tells more than their name.
_BARS = {"relevance", "threshold"}


async def show(warden: AsyncWarden, options: Options, task: Task, request: ContextRequest, *, explain: bool) -> None:
    """Print the context; ``explain`` adds the reason for each included and omitted item."""
    package = await warden.tiers.assembler(tenant=options.tenant).build_context(task, request)
    if options.as_json:
        print_json(_package_json(package))
    elif explain:
        _explain(printer(), package)
    elif package.text:
        sys.stdout.write((clean(package.text) if sys.stdout.isatty() else package.text) + "\n")
    else:
        printer(sys.stderr).print(_nothing(package))


def read_shares(given: str | None) -> Mapping[str, float] | None:
    """Read ``40/40/20`` as the shares of task, project and global. Raises InvalidInput for another form."""
    if given is None:
        return None
    try:
        numbers = [float(word) / 100 for word in given.split("/")]
        return dict(zip(TIERS, numbers, strict=True))
    except ValueError:
        raise InvalidInput(
            f"--shares takes the per cent of task, project and global, such as 40/40/20, not {given!r:.80}"
        ) from None


def _package_json(package: ContextPackage) -> dict[str, Any]:
    """Return the package as a mapping for JSON."""
    told = {name: getattr(package, name) for name in package.__dataclass_fields__ if name != "find_left_out"}
    told["included"] = [item._asdict() for item in package.included]
    told["left_out"] = [item._asdict() for item in package.left_out]
    return told


def _explain(console: Printer, package: ContextPackage) -> None:
    title = f"{package.tokens} of {package.budget_tokens} tokens"
    console.print(output.block_panel(package.text, title) if package.text else _nothing(package))
    shares = " · ".join(f"{tier} {package.used[tier]} of {package.allotted[tier]}" for tier in TIERS)
    console.print(Text(f"{shares} · {package.compression_ratio:.0%} of what was looked at", style="dim"))
    if package.included:
        console.print("\nWhy each is in:")
        console.print(_included_table(package))
    if package.left_out:
        console.print("\nLeft out:")
        console.print(_left_out(package))


def _nothing(package: ContextPackage) -> str:
    if package.left_out:
        return f"No context: of {len(package.left_out):,} items none goes in; --explain says why."
    return "No context: there is nothing in the task, its project and global memory."


def _included_table(package: ContextPackage) -> Table:
    table = _table()
    for number, item in enumerate(package.included, 1):
        said = Text(clean(f"{item.item.kind} {item.item.context_item_id}"))
        table.add_row(
            Text(f"{number}"), Text(item.tier), Text("\n").join([said, Text(clean(item.reason), style="dim")])
        )
    return table


def _left_out(package: ContextPackage) -> Table:
    table = _table()
    for item in package.left_out[:MAX_SHOWN]:
        score = "" if item.score is None else f" {item.score:.2f}"
        table.add_row(
            Text("-"), Text(item.tier), Text(clean(f"{item.gate:<{output.GATE_WIDTH}} {item.item_id}{score}"))
        )
    notes = [f"{gate}: {reason}" for gate, reason in {item.gate: item.reason for item in package.left_out}.items()]
    others = Counter(f"{item.tier} {item.gate}" for item in package.left_out[MAX_SHOWN:])
    if others:
        counted = ", ".join(f"{what} {count:,}" for what, count in others.most_common())
        notes.insert(0, f"and {others.total():,} more: {counted}")
    table.add_row("", "", Text("\n".join(notes), style="dim"))
    return table


def _table() -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(justify="right", width=3)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    return table


Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="NAME=VALUE", help="Only memories with this; again for more. JSON values too."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Say why each item is in and what stopped every other.")]


@command
async def query(
    options: Options,
    questions: Annotated[
        list[str],
        typer.Argument(metavar="TEXT...", help="The question in words, or - for stdin; several share a budget."),
    ],
    category: Annotated[
        list[str] | None, typer.Option(help="Only memories of this category; again for more.", metavar="NAME")
    ] = None,
    filter_: Filters = None,
    top_k: Annotated[int, typer.Option(help="The most items wanted.")] = 3,
    threshold: Annotated[
        float | None, typer.Option(help="The least score, 0..1; 0: no bar. [default: calibrated]", show_default=False)
    ] = None,
    budget_tokens: Annotated[int, typer.Option(help="The most tokens that the answer may take.")] = 512,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, not a line each.")] = False,
    explain: Explain = False,
    as_of: AsOf = None,
) -> None:
    """Find the memories that answer a question, or several; nothing when none is relevant.

    \b
    Examples:
      memwarden query "Where does Ana work?"
      memwarden query "What did we decide?" --filter kind=decision --top-k 5
      memwarden query "What did he say in May?" --filter 'created_at={"$gte": "2026-05-01"}'
      memwarden query "Any allergies?" --agent supervisor --explain
      memwarden query "Where does Ana work?" --as-of 2026-03-01
      memwarden query "Any allergies?" "Who comes to dinner?" --budget-tokens 300
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        result = await me.query(
            queries=[read_argument(question) for question in questions],
            categories=category,
            filters=read_conditions(filter_),
            top_k=top_k,
            threshold=threshold,
            budget_tokens=budget_tokens,
            returns="full" if full else "bullets",
            explain=explain,
            as_of=read_moment(as_of),
        )
        if options.as_json:
            print_json(result)
            return
        console = printer()
        _show(console, result, explain)
        if explain:
            show_cuts(console, result.cut, await memories_of(me, result.cut))
        if not result:
            await _say_where_else(console, warden, options)


@command
async def ask(
    options: Options,
    question: Annotated[str, typer.Argument(metavar="TEXT", help="The question in words, or - for stdin.")],
    seconds: Annotated[float, typer.Option(help="How long it may take.")] = 30.0,
) -> None:
    """Let the chat model answer a question from memory; it cites the memories that it used.

    Needs the setting chat_model. The model sees an overview of the person, asks several questions and answers from what
    they find, or says that it is not known.

    \b
    Examples:
      memwarden ask "What should I cook for Ana and Tomas?"
    """
    async with options.open(existing=True) as warden:
        answer = await options.scope(warden).ask(read_argument(question), seconds=seconds)
        if options.as_json:
            print_json(answer)
            return
        console = printer()
        console.print(clean(answer.text) if answer else "Not known: the memories that were found do not hold it.")
        if answer.items:
            console.print("\nIt rests on:")
            console.print(output.items_table(console, answer.items, reasons=False))


@command
async def overview(
    options: Options,
    about: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A name or a relation, for example Ines or sister.")
    ] = None,
    budget_tokens: Annotated[int, typer.Option(help="Maximum tokens of the overview.")] = 400,
) -> None:
    """Show what is certain of a person: facts, else quotations by topic, each with its day and source.

    Correct a line with memwarden edit ID TEXT --quote LINE, where LINE is what is wrong. Reject its memory with
    memwarden forget ID. memwarden undo takes either back.

    \b
    Examples:
      memwarden overview
      memwarden overview Ines --budget-tokens 100
    """
    async with options.open(existing=True) as warden:
        shown = await options.scope(warden).overview(about, budget_tokens=budget_tokens)
        if options.as_json:
            print_json(shown)
            return
        console = printer()
        if not shown:
            whom = f" about {clean(about)}" if about else ""
            console.print(f"Nothing is certain{whom}: no fact, and no plain statement of what lasts.")
            return
        for line in shown.lines:
            label = " ".join(filter(None, (line.about, line.attribute)))
            console.print(Text(clean(f"{label}: {line.value}" if label else line.value)))
            changed = ", changed lately" if line.changed else ""
            console.print(Text(f"  {line.said_at:%Y-%m-%d}{changed} · {line.source}", style="dim"))


@command
async def context(
    options: Options,
    message: Annotated[
        str | None, typer.Argument(metavar="TEXT|FILE", help="The message to answer, a file, or - for stdin.")
    ] = None,
    budget_tokens: Annotated[int, typer.Option(help="The most tokens that the block may take.")] = DEFAULT_BLOCK_TOKENS,
    overview_tokens: Annotated[
        int, typer.Option(help="The most tokens of an overview of the person, whatever is asked; 150 tell much.")
    ] = 0,
    threshold: Annotated[
        float | None,
        typer.Option(help="The least score of the best memory, 0..1. [default: calibrated]", show_default=False),
    ] = None,
    participant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only memories in which this person takes part.")
    ] = None,
    filter_: Filters = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="The context of this task instead.")] = None,
    project: Annotated[str | None, typer.Option(metavar="ID", help="The task's project. [default: default]")] = None,
    shares: Annotated[
        str | None, typer.Option(metavar="T/P/G", help="Per cent for task, project, global. [default: 40/40/20]")
    ] = None,
    head_tail: Annotated[
        int | None, typer.Option(metavar="N", help="The task's first and last N items come before all others.")
    ] = None,
    explain: Explain = False,
) -> None:
    """Print the <memories> block to put before a message; empty when nothing is relevant.

    The last message and the talk just before it are searched for. FILE is a conversation so far, the message to
    answer last. The block alone goes to stdout, so that it can be piped into a prompt.

    With --task the context of a task is assembled: of the task itself, and what answers TEXT in its project and in
    global memory; without TEXT what matters most there. The calibrated bar holds unless --threshold is given.

    \b
    Examples:
      memwarden context "Can I bring a walnut cake for Tomas?"
      memwarden context chat.json --budget-tokens 200
      memwarden context "What shall we cook?" --participant Tomas --explain
      memwarden context "Where do sessions live?" --task fix-login --project shop --explain
    """
    if task is not None:
        # Refused, not passed over: whoever filters would take the whole context for a filtered one.
        if participant or filter_:
            raise InvalidInput("--participant and --filter choose memories of a user; a task's context has none")
        query = None if message is None else read_argument(message)
        request = ContextRequest(
            budget_tokens, query, read_shares(shares), None, options.agent, threshold, head_tail, explain
        )
        async with options.open(existing=True) as warden:
            whose = Task(task, {} if project is None else {"project_id": project})
            await show(warden, options, whose, request, explain=explain)
        return
    if message is None or (project, shares, head_tail) != (None, None, None):
        raise InvalidInput("give the message to answer; --project, --shares and --head-tail go with --task ID")
    messages = _messages(message)
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        block = await me.context(
            messages,
            budget_tokens,
            threshold=threshold,
            participants=participant,
            filters=read_conditions(filter_),
            explain=explain,
            overview_tokens=overview_tokens,
        )
        if options.as_json:
            print_json(block)
        elif explain:
            await _explain_block(me, block)
        elif block:
            # Piped text goes into a prompt as it is; on a terminal its control signs could do harm.
            sys.stdout.write((clean(block.text) if sys.stdout.isatty() else block.text) + "\n")
        else:
            # To stderr: an empty stdout is what a script puts into its prompt.
            print_nothing(printer(sys.stderr), block, threshold)


def show_cuts(console: Printer, cut: Sequence[Cut], memories: Mapping[str, Memory]) -> None:
    """Draw the omitted memories."""
    if cut:
        console.print("\nLeft out, the nearest first:")
        console.print(output.cut_table(console, cut, memories, most=10))


def print_nothing(console: Printer, block: ContextBlock, threshold: float | None) -> None:
    """Say that nothing is relevant, and how likely an answer would have been.

    threshold: the bar that was given. Without one the confidence cuts nothing off, and no bar is named.
    """
    if _too_long(block.cut):
        console.print("Something relevant was found, but it does not fit the budget; give more with --budget-tokens.")
        return
    if stopped := _stopped_by(block.cut):
        console.print(f"Nothing for the prompt: no block. {stopped}")
        return
    bar = "" if threshold is None else f", the bar is {threshold:.2f}"
    console.print(f"Nothing relevant: no block (confidence {block.confidence:.2f}{bar}).")


def _stopped_by(cut: Sequence[Cut]) -> str:
    """Return what left out everything, when that was no bar but another gate; else an empty text."""
    gates = {item.gate: item.reason for item in cut}
    if gates.keys() & _BARS:
        return ""
    return " ".join(f"Left out by the gate {gate}: {reason}." for gate, reason in gates.items())


def _too_long(cut: Sequence[Cut]) -> bool:
    return any(item.gate == "budget" for item in cut)


async def memories_of(me: AsyncScope, cut: Sequence[Cut], most: int = 10) -> dict[str, Memory]:
    """Fetch the nearest omitted memories to show their words."""
    found: dict[str, Memory] = {}
    for item in cut[:most]:
        with suppress(NotFound):  # forgotten since
            found[item.id] = await me.get(item.id)  # what is no longer true too, which find leaves out
    return found


async def _explain_block(me: AsyncScope, block: ContextBlock) -> None:
    console = printer()
    nothing = "nothing fits the budget: no block" if _too_long(block.cut) else "nothing relevant: no block"
    title = f"{block.tokens} of {block.budget_tokens} tokens" if block else nothing
    console.print(output.block_panel(block.text, title) if block else title)
    if block:
        console.print("\nWhy each is in:")
        console.print(output.items_table(console, block.items, reasons=True, texts=False))
    show_cuts(console, block.cut, await memories_of(me, block.cut))


def _show(console: Printer, result: QueryResult, explain: bool) -> None:
    if result.items:
        console.print(output.items_table(console, result.items, reasons=explain))
    sure = f"confidence {result.confidence:.2f}"
    if result:
        limit = "" if result.budget_tokens is None else f" of {result.budget_tokens:,}"
        console.print(Text(f"{result.tokens:,}{limit} tokens · {sure} · preset {result.preset}", style="dim"))
    elif _too_long(result.cut):
        console.print(f"Something relevant was found ({sure}), but it does not fit; give more with --budget-tokens.")
    elif stopped := _stopped_by(result.cut):
        console.print(f"Nothing for an answer was found. {stopped}")
    else:
        console.print(f"Nothing relevant was found ({sure}).")


async def _say_where_else(console: Printer, warden: AsyncWarden, options: Options) -> None:
    """Point to other users of the store when this user has no memory."""
    # An agent is not told which other users there are.
    if options.agent is not None:
        return
    whose = options.scope(warden).who.namespace
    known = [namespace for namespace in await warden.store.namespaces() if namespace.tenant == whose.tenant]
    if whose not in known:
        others = ", ".join(item.path.removeprefix("user/") for item in known)
        console.print(
            clean(f"{whose.path.removeprefix('user/')!r} has no memory in this store; users are: {others or 'none'}.")
        )


def _messages(argument: str) -> list[Mapping[str, Any]]:
    """Read the conversation so far from a file, else from the argument."""
    path = Path(argument)
    if not _is_file(path):
        return [{"role": "user", "content": read_argument(argument)}]
    from memwarden.surfaces.conversation_files import read_conversations

    conversations = read_conversations(path)
    if len(conversations) > 1:
        raise InvalidInput(
            f"{argument!r} holds {len(conversations)} conversations; give a file with a single conversation"
        )
    # The message to answer stands at the end of the last session.
    return list(conversations[0].sessions[-1].messages)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a long message, or a zero byte, is no path
        return False
