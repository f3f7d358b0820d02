"""``memwarden graph``: which memories are related, as a tree, or as text for Mermaid and Graphviz."""

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
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

WIDEST_LABEL = 60


class As(StrEnum):
    """How a graph is written."""

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
        memories, relations = await around(options.scope(warden), memory_id, depth, most)
    if options.as_json:
        print_json({"memories": list(memories.values()), "relations": relations})
    elif as_ == As.TREE:
        printer().print(tree(memory_id, memories, relations))
    else:
        printer().print((mermaid if as_ == As.MERMAID else dot)(memories, relations), soft_wrap=True)


async def around(me: AsyncScope, memory_id: str, depth: int, most: int) -> tuple[dict[str, Memory], list[Relation]]:
    """The memories within some steps of one, nearest first, and the edges between them."""
    memories = {memory_id: await me.get(memory_id)}
    relations: dict[tuple[str, str, str], Relation] = {}
    edge = [memory_id]
    for step in range(depth + 1):
        found = [one for each in edge for one in await _relations(me, each)]
        found.sort(key=lambda one: -one.strength)
        edge = []
        for one in found:
            for other in (one.from_id, one.to_id):
                # The last round looks for edges between memories that are there, not for more of them.
                if other not in memories and len(memories) < most and step < depth and (read := await _read(me, other)):
                    memories[other] = read
                    edge.append(other)
            if one.from_id in memories and one.to_id in memories:
                relations[one.from_id, one.to_id, one.type] = one
    return memories, list(relations.values())


async def _relations(me: AsyncScope, memory_id: str) -> list[Relation]:
    """The edges of a memory; none when it was forgotten meanwhile."""
    try:
        return await me.relations(memory_id)
    except NotFound:
        return []


async def _read(me: AsyncScope, memory_id: str) -> Memory | None:
    try:
        return await me.get(memory_id)
    except NotFound:
        return None


def tree(root: str, memories: Mapping[str, Memory], relations: Sequence[Relation]) -> Tree:
    """The graph as a tree from one memory; a memory stands in it once."""
    grown = Tree(Text(_label(memories[root])))
    branches = {root: grown}
    waiting = list(relations)
    while waiting:
        ready = [one for one in waiting if one.from_id in branches or one.to_id in branches]
        if not ready:
            break
        for one in ready:
            waiting.remove(one)
            outward = one.from_id in branches
            near, far = (one.from_id, one.to_id) if outward else (one.to_id, one.from_id)
            if far not in branches:
                words = Text.assemble((_edge(one, outward), "dim"), " ", _label(memories[far]))
                branches[far] = branches[near].add(words)
    return grown


def mermaid(memories: Mapping[str, Memory], relations: Sequence[Relation]) -> str:
    """The graph as a Mermaid flowchart."""
    names = {key: f"m{number}" for number, key in enumerate(memories)}
    lines = ["flowchart LR"]
    lines += [f'  {names[key]}["{_quoted(_label(one))}"]' for key, one in memories.items()]
    lines += [f'  {names[one.from_id]} -->|"{one.type} {one.strength:.2f}"| {names[one.to_id]}' for one in relations]
    return "\n".join(lines)


def dot(memories: Mapping[str, Memory], relations: Sequence[Relation]) -> str:
    """The graph for Graphviz."""
    names = {key: f"m{number}" for number, key in enumerate(memories)}
    lines = ["digraph memories {", "  rankdir=LR; node [shape=box];"]
    lines += [f'  {names[key]} [label="{_quoted(_label(one))}"];' for key, one in memories.items()]
    lines += [
        f'  {names[one.from_id]} -> {names[one.to_id]} [label="{one.type} {one.strength:.2f}"];' for one in relations
    ]
    return "\n".join([*lines, "}"])


def _edge(one: Relation, outward: bool) -> str:
    if one.type == RelationType.SUPERSEDES:
        return "replaced" if outward else "replaced by"
    return f"{one.type.replace('_', ' ')} {one.strength:.2f}"


def _label(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    over = f" (until {memory.valid_to:%Y-%m-%d})" if memory.valid_to else ""
    return clean(text if len(text) <= WIDEST_LABEL else text[: WIDEST_LABEL - 1] + "…") + over


def _quoted(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', "'")
