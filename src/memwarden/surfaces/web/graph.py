"""The relations of memories as a graph: around a memory, or of what was written last."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from memwarden import AsyncScope
from memwarden.records import Memory, Relation
from memwarden.surfaces.web.page import PageRoutes, WebPage
from memwarden.surfaces.web.render import why_hidden

routes = PageRoutes()
MAX_NODES: Final = 700
MAX_READ: Final = 10_000
MAX_LABEL: Final = 60
DEFAULT_STEPS: Final = 2


@routes.get("/graph")
async def graph(page: WebPage) -> Response:
    """Show the page of the graph at once; its picture and its list follow."""
    id = page.asked("id") or ""
    if id:
        await page.scope().get(id)
    return page.show("graph.html", id=id)


@routes.get("/graph/list")
async def graph_list(page: WebPage) -> Response:
    """Return the edges as a list, for whoever sees no picture."""
    memories, edges = await collect(page)
    named = [(memories[edge.from_id], edge, memories[edge.to_id]) for edge in edges]
    template = "graph_list.html" if page.is_fragment else "graph_page.html"
    return page.show(template, edges=named)


@routes.get("/graph.json")
async def graph_data(page: WebPage) -> Response:
    """Return what the script of the page draws."""
    memories, edges = await collect(page)
    return JSONResponse(
        {
            "nodes": [_node(page, memory) for memory in memories.values()],
            "edges": [_edge(edge) for edge in edges],
        }
    )


async def collect(page: WebPage) -> tuple[dict[str, Memory], list[Relation]]:
    """Return memories with their edges: near a memory, or the related ones among those written last."""
    scope, id = page.scope(), page.asked("id")
    if id is not None:
        return await collect_around(scope, id, page.whole("steps", DEFAULT_STEPS, 1, 3))
    return await collect_once(page, scope)


async def collect_once(page: WebPage, scope: AsyncScope) -> tuple[dict[str, Memory], list[Relation]]:
    """Return the newest related memories; the picture, its list and those who come back read them once a revision."""
    entries = await scope.journal.history(limit=1, descending=True)
    key = (scope.who.namespace, scope.who.agent, entries[0].seq if entries else 0)
    state = page.request.app.state
    kept: tuple[Any, asyncio.Task[Any]] | None = getattr(state, "newest_graph", None)
    if kept is None or kept[0] != key or (kept[1].done() and (kept[1].cancelled() or kept[1].exception())):
        kept = state.newest_graph = (key, asyncio.create_task(collect_newest(scope)))
    found: tuple[dict[str, Memory], list[Relation]] = await asyncio.shield(kept[1])
    return found


async def collect_newest(scope: AsyncScope) -> tuple[dict[str, Memory], list[Relation]]:
    """Return the related ones among the memories that were written last."""
    where = {"channel": ["semantic", "episodic", "insight"], "valid_to": {"$ne": "1970-01-01"}}
    known = {memory.id: memory for memory in await scope.find(where, limit=MAX_READ, order_by="written")}
    edges = [edge for edge in await scope.relations(list(known)) if {edge.from_id, edge.to_id} <= known.keys()]
    return limit_nodes(known, sorted(edges, key=_order))


def limit_nodes(known: dict[str, Memory], edges: Sequence[Relation]) -> tuple[dict[str, Memory], list[Relation]]:
    """Return the memories that edges join, as many as a picture takes; the edges stand the strongest first."""
    joined: dict[str, None] = {}
    for edge in edges:
        ends = dict.fromkeys((edge.from_id, edge.to_id))
        if len(joined | ends) <= MAX_NODES:
            joined |= ends
    inside = [edge for edge in edges if edge.from_id in joined and edge.to_id in joined]
    return {id: known[id] for id in joined}, inside


async def collect_around(scope: AsyncScope, id: str, steps: int) -> tuple[dict[str, Memory], list[Relation]]:
    """Return a memory with what is related to it within so many steps. Raises NotFound."""
    memories, edges, border = {id: await scope.get(id)}, set[Relation](), [id]
    for _ in range(steps):
        found = await scope.relations(border)
        edges.update(found)
        border = []
        for edge in sorted(found, key=lambda item: -item.strength):
            for end in (edge.from_id, edge.to_id):
                if end not in memories and len(memories) < MAX_NODES:
                    memories[end] = await scope.get(end)
                    border.append(end)
    inside = [edge for edge in edges if {edge.from_id, edge.to_id} <= memories.keys()]
    return memories, sorted(inside, key=_order)


def _order(edge: Relation) -> tuple[float, str, str]:
    return -edge.strength, edge.from_id, edge.to_id


def _node(page: WebPage, memory: Memory) -> dict[str, Any]:
    words = why_hidden(memory) or " ".join(memory.text.split())
    label = words if len(words) <= MAX_LABEL else f"{words[: MAX_LABEL - 1]}…"
    kind = "closed" if memory.valid_to else str(memory.channel)
    return {"id": memory.id, "label": label, "kind": kind, "link": page.at("/memory", id=memory.id)}


def _edge(edge: Relation) -> dict[str, Any]:
    kind = str(edge.type)
    key = json.dumps([edge.from_id, edge.to_id, kind])
    return {"id": key, "source": edge.from_id, "target": edge.to_id, "kind": kind, "strength": edge.strength}
