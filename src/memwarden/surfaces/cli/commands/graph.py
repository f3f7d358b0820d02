"""``memwarden graph``: related memories as a tree, or for Mermaid and Graphviz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from memwarden.api.scope import AsyncScope
from memwarden.errors import NotFound
from memwarden.records import Memory, Relation, RelationType
from memwarden.surfaces.cli.commands.memories import Id
from memwarden.surfaces.cli.options import Options, command, find_id
from memwarden.surfaces.cli.output import clean, print_json, printer

MAX_LABEL = 60


class As(StrEnum):
    """Output formats of a graph."""

    TREE = "tree"
    MERMAID = "mermaid"
    DOT = "dot"


@command
async def graph(
    options: Options,
    memory_id: Id,
    depth: Annotated[int, typer.Option(min=1, max=5, help="How many steps away from the memory.")] = 2,
    as_: Annotated[As, typer.Option("--as", help="tree for the terminal, mermaid or dot for a picture.")] = As.TREE,
    most: Annotated[int, typer.Option(min=1, help="The most memories shown.")] = 50,
) -> None:
    """Show what a memory is related to, what it replaced and what replaced it.

    \b
    Examples:
      memwarden graph 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
      memwarden graph 019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69 --as dot | dot -Tsvg > graph.svg
    """
    async with options.open(existing=True) as warden:
        me = options.scope(warden)
        memory_id = await find_id(warden, me, memory_id)
        memories, relations = await collect_neighbours(me, memory_id, depth, most)
    if options.as_json:
        print_json({"memories": list(memories.values()), "relations": relations})
    elif as_ == As.TREE:
        printer().print(tree(memory_id, memories, relations))
    else:
        printer().print((mermaid if as_ == As.MERMAID else dot)(memories, relations), soft_wrap=True)


async def collect_neighbours(
    me: AsyncScope, memory_id: str, depth: int, most: int
) -> tuple[dict[str, Memory], list[Relation]]:
    """Collect the memories within ``depth`` steps, nearest first, and their edges."""
    memories = {memory_id: await me.get(memory_id)}
    relations: dict[tuple[str, str, str], Relation] = {}
    edge = [memory_id]
    for step in range(depth + 1):
        found = [relation for each in edge for relation in await _relations(me, each)]
        # With a limit on memories the strongest edges decide which of them are shown.
        found.sort(key=lambda item: -item.strength)
        edge = []
        for item in found:
            for other in (item.from_id, item.to_id):
                # The last round looks for edges between memories that are there, not for more of them.
                if (
                    other not in memories
                    and len(memories) < most
                    and step < depth
                    and (read := await _read_if_visible(me, other))
                ):
                    memories[other] = read
                    edge.append(other)
            if item.from_id in memories and item.to_id in memories:
                relations[item.from_id, item.to_id, item.type] = item
    return memories, list(relations.values())


async def _relations(me: AsyncScope, memory_id: str) -> list[Relation]:
    """Return a memory's edges; none when it was forgotten meanwhile."""
    try:
        return await me.relations(memory_id)
    except NotFound:
        return []


async def _read_if_visible(me: AsyncScope, memory_id: str) -> Memory | None:
    try:
        return await me.get(memory_id)
    except NotFound:
        return None


def tree(root: str, memories: Mapping[str, Memory], relations: Sequence[Relation]) -> Tree:
    """Draw the graph as a tree from the root; each memory appears once."""
    grown = Tree(Text(_label(memories[root])))
    branches = {root: grown}
    waiting = list(relations)
    while waiting:
        ready = [item for item in waiting if item.from_id in branches or item.to_id in branches]
        # What is left hangs together by edges of memories beyond the limit.
        if not ready:
            break
        for item in ready:
            waiting.remove(item)
            outward = item.from_id in branches
            near, far = (item.from_id, item.to_id) if outward else (item.to_id, item.from_id)
            if far not in branches:
                words = Text.assemble((_edge(item, outward), "dim"), " ", _label(memories[far]))
                branches[far] = branches[near].add(words)
    return grown


def mermaid(memories: Mapping[str, Memory], relations: Sequence[Relation]) -> str:
    """Write the graph as a Mermaid flowchart."""
    names = {key: f"m{number}" for number, key in enumerate(memories)}
    lines = ["flowchart LR"]
    lines += [f'  {names[key]}["{_quote(_label(item))}"]' for key, item in memories.items()]
    lines += [
        f'  {names[relation.from_id]} -->|"{relation.type} {relation.strength:.2f}"| {names[relation.to_id]}'
        for relation in relations
    ]
    return "\n".join(lines)


def dot(memories: Mapping[str, Memory], relations: Sequence[Relation]) -> str:
    """Write the graph for Graphviz."""
    names = {key: f"m{number}" for number, key in enumerate(memories)}
    lines = ["digraph memories {", "  rankdir=LR; node [shape=box];"]
    lines += [f'  {names[key]} [label="{_quote(_label(item))}"];' for key, item in memories.items()]
    lines += [
        f'  {names[relation.from_id]} -> {names[relation.to_id]} [label="{relation.type} {relation.strength:.2f}"];'
        for relation in relations
    ]
    return "\n".join([*lines, "}"])


def _edge(relation: Relation, outward: bool) -> str:
    if relation.type == RelationType.SUPERSEDES:
        return "replaced" if outward else "replaced by"
    return f"{relation.type.replace('_', ' ')} {relation.strength:.2f}"


def _label(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    over = f" (until {memory.valid_to:%Y-%m-%d})" if memory.valid_to else ""
    return clean(text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…") + over


def _quote(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', "'")
