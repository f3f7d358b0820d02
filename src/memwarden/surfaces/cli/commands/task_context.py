"""``memwarden context --task``: the context of a task, its project and the global tier."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden.surfaces.cli import draw
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.cli.output import Printer, clean, print_json, printer
from memwarden.tiers import ContextPackage, ContextRequest, Task
from memwarden.tiers.budget import TIERS

# So many of what was left out are named; the others are counted.
MAX_SHOWN = 10


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
    console.print(draw.block_panel(package.text, title) if package.text else _nothing(package))
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
        table.add_row(Text("-"), Text(item.tier), Text(clean(f"{item.gate:<{draw.GATE_WIDTH}} {item.item_id}{score}")))
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
