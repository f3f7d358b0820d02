"""Memories: list, search and filter, a memory in detail, its correction, and decisions on many at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from memwarden import AsyncScope
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import CARD, Channel, Delta, HistoryEntry, Kind, Memory, Relation, RelationType, WriteResult
from memwarden.remember.echoes import list_echoes
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.routes.memories import list_memories
from memwarden.surfaces.http.routes.traces import TraceSearch
from memwarden.surfaces.web.page import ECHOES, MAX_ECHOES, PageRoutes, WebPage, not_found
from memwarden.surfaces.web.shown import MAX_OF_MEMORY, find_prompts

routes = PageRoutes()
PAGE_SIZE: Final = 50
MAX_FOUND: Final = 50
MAX_ROUND: Final = 200
MAX_ROUNDS: Final = 20
MAX_AT_ONCE: Final = 500
MAX_CHAIN: Final = 50
MAX_USES: Final = 50
MAX_TURNS: Final = 2_000
# Words of the filter, as the page shows them.
WHAT: Final[Mapping[str, str]] = {
    "": "facts",
    "turn": "what was said",
    "semantic": "semantic",
    "episodic": "episodic",
    "insight": "insight",
    "procedural": "procedural",
    "all": "everything",
}
TRUSTS: Final = ("person", "assistant", "external")
# The category of what agents save for themselves: pages of their own show it.
STATE: Final = "state"


class LinkedMemory(NamedTuple):
    """An edge as a memory's page shows it: the other end, and what leads there."""

    relation: Relation
    other: Memory


class FoundMemory(NamedTuple):
    """A memory in a list; score: how well it fits the words that were searched for, None without any."""

    memory: Memory
    score: float | None


@routes.get("/memories")
async def memories(page: WebPage) -> Response:
    """List memories by filter, or by how well they fit what was searched for."""
    scope, words = page.scope(), page.asked("q")
    filters = read_page_filters(page)
    cursor, further = None, False
    if words is None:
        found, cursor = await find_page(scope, filters, page.asked("cursor"))
    else:
        further = not page.asked("further")
        found = await search(scope, words, filters, None if further else 0.0)
    template = "memories_rows.html" if page.is_fragment else "memories.html"
    return page.show(
        template,
        found=found,
        talks=not found and await has_turns(scope),
        extraction=page.warden.settings.extraction,
        cursor=cursor,
        further=further,
        words=words,
        what=WHAT,
        kinds=list(Kind),
        trusts=TRUSTS,
        categories=sorted(page.warden.settings.categories.declared),
    )


async def has_turns(scope: AsyncScope) -> bool:
    """Whether anything that was said is kept."""
    listed = await list_memories(scope, 1, None, json.dumps({"channel": str(Channel.TURN)}))
    return bool(listed["items"])


async def find_page(
    scope: AsyncScope, filters: Mapping[str, Any], cursor: str | None
) -> tuple[list[FoundMemory], str | None]:
    """Return memories without index cards, of which there may be many in a row, and where the next page begins."""
    found: list[Memory] = []
    size = PAGE_SIZE
    for _ in range(MAX_ROUNDS):
        listed = await list_memories(scope, size, cursor, json.dumps(filters))
        found += [item for item in listed["items"] if CARD not in item.tags]
        cursor, size = listed["cursor"], MAX_ROUND
        if cursor is None or len(found) >= PAGE_SIZE:
            break
    return [FoundMemory(item, None) for item in found], cursor


def read_page_filters(page: WebPage) -> dict[str, Any]:
    """Return the filters that the list's form asks for. Raises InvalidInput."""
    what = page.asked("what") or ""
    if what not in WHAT:
        raise InvalidInput(f"what is one of {', '.join(filter(None, WHAT))}, not {what!r:.40}")
    found: dict[str, Any] = {}
    if what != "all":
        found["channel"] = what or {"$ne": str(Channel.TURN)}
    found["category"] = page.asked("category") or {"$ne": STATE}
    found |= {name: page.asked(name) for name in ("kind", "trust", "thread_id") if page.asked(name)}
    if page.asked("pinned"):
        found["pinned"] = True
    since, until = page.asked("since"), page.asked("until")
    if since or until:
        bounds = {"$gte": since, "$lte": f"{until}T23:59:59Z" if until else None}
        found["created_at"] = {op: bound for op, bound in bounds.items() if bound}
    return found


async def search(
    scope: AsyncScope, words: str, filters: Mapping[str, Any], threshold: float | None
) -> list[FoundMemory]:
    """Return the answer of a query with these words, best first. threshold: the least score; None: that of a query."""
    answer = await scope.query(
        words, filters=filters, top_k=MAX_FOUND, threshold=threshold, budget_tokens=None, returns="full"
    )
    return [FoundMemory(item.memory, item.score) for item in answer.items]


@routes.get("/memory")
async def memory(page: WebPage) -> Response:
    """Show a memory with where it comes from, what became of it and what it is related to."""
    scope, id = page.scope(), read_id(page)
    history = await scope.journal.history(id, limit=200, descending=True)
    shown = await find_shown(scope, id, history)
    is_there = shown.state == "active"
    links = await find_links(scope, id) if is_there else []
    return page.show(
        "memory.html",
        memory=shown,
        is_there=is_there,
        history=[entry for entry in history if entry.event not in ("LINK", "UNLINK")],
        sources=await find_sources(scope, shown),
        chain=await find_chain(scope, shown, links),
        related=[link for link in links if link.relation.type != RelationType.SUPERSEDES],
        uses=await scope.usage.uses(memory_id=id),
        prompts=await find_prompts(page, scope, TraceSearch(memory_id=id, limit=MAX_OF_MEMORY)),
        events=await scope.journal.events(memory_id=id, limit=MAX_USES),
        delta=await find_delta(scope, page.whole("change", 0, 0, 2**30)),
        categories=sorted(page.warden.settings.categories.declared),
        whole=bool(page.asked("whole")),
    )


async def find_delta(scope: AsyncScope, change: int) -> Delta | None:
    """Return what conversations are told of the decision that a change belongs to; None without any."""
    entries = await scope.journal.history(since=change - 1, limit=1) if change else []
    return await scope.journal.delta(entries[0].step - 1) if entries else None


def read_id(page: WebPage) -> str:
    """Return the id of a page's memory. Raises InvalidInput without any."""
    id = page.asked("id")
    if id is None:
        raise InvalidInput("the page of a memory needs its id; open it from the list")
    return id


async def find_shown(scope: AsyncScope, id: str, history: Sequence[HistoryEntry]) -> Memory:
    """Return a memory, or what it was before it was forgotten. Raises NotFound."""
    try:
        return await scope.get(id)
    except NotFound:
        for entry in history:
            if last := entry.new or entry.old:
                removed = await scope.journal.forgotten(memory_id=id)
                return removed[0] if removed else last
        raise not_found("memory") from None


async def find_sources(scope: AsyncScope, memory: Memory) -> list[tuple[str, Memory | None]]:
    """Return the turns that a memory rests on; None where a turn is not there any more."""
    if memory.channel == Channel.TURN or not memory.sources:
        return []
    found = {id: await find_or_none(scope, id) for id in memory.sources}
    if memory.thread_id is not None and None in found.values():
        # Turns have ids of the caller's, too, by which facts name them.
        where = {"thread_id": memory.thread_id, "channel": Channel.TURN}
        turns = await scope.find(where, limit=MAX_TURNS, order_by="written")
        named = {source: turn for turn in turns for source in turn.sources}
        found = {id: turn or named.get(id) for id, turn in found.items()}
    return list(found.items())


async def find_or_none(scope: AsyncScope, id: str) -> Memory | None:
    """Return a memory; None for what is not there, for this scope."""
    try:
        return await scope.get(id)
    except NotFound:
        return None


async def find_links(scope: AsyncScope, id: str) -> list[LinkedMemory]:
    """Return the edges of a memory with their other ends, strongest first."""
    found = []
    for edge in await scope.relations(id):
        other = await find_or_none(scope, edge.to_id if edge.from_id == id else edge.from_id)
        if other is not None:
            found.append(LinkedMemory(edge, other))
    return sorted(found, key=lambda link: -link.relation.strength)


async def find_chain(scope: AsyncScope, memory: Memory, links: Iterable[LinkedMemory]) -> list[Memory]:
    """Return the values that took each other's place, the oldest first; empty for a value that stands alone."""
    known = {memory.id: memory}
    edge = [link.other for link in links if link.relation.type == RelationType.SUPERSEDES]
    while edge and len(known) < MAX_CHAIN:
        item = edge.pop()
        if item.id in known:
            continue
        known[item.id] = item
        more = await find_links(scope, item.id)
        edge += [link.other for link in more if link.relation.type == RelationType.SUPERSEDES]
    return sorted(known.values(), key=lambda item: item.since) if len(known) > 1 else []


@routes.post("/memory/correct", Operation.WRITE)
async def correct(page: WebPage) -> Response:
    """Correct a memory, or a line of the overview; what was written by others meanwhile is not overwritten."""
    scope, id = page.scope(Operation.WRITE), read_id(page)
    old = await scope.get(id)
    if line := page.asked("quote"):
        return await correct_line(page, scope, old, line)
    changes = read_correction(page, old)
    if not changes:
        return page.go("/memory", "unchanged", id=id)
    version = page.whole("version", old.version, 1, 10**8)
    result = await scope.update(id, **changes, expected_version=version)
    said = _said_of_correction(result)
    return page.go("/memory", said, result, id=result.results[0].id, **_echo_values(list_echoes(result)))


def _said_of_correction(result: WriteResult) -> str:
    return "corrected_repeated" if list_echoes(result) else "corrected"


def _echo_values(echoes: Sequence[str]) -> dict[str, str]:
    """Return the values of a URL by which its page links answers that repeat something."""
    return {ECHOES: ",".join(echoes[:MAX_ECHOES])} if echoes else {}


async def correct_line(page: WebPage, scope: AsyncScope, old: Memory, line: str) -> Response:
    """Correct a line of the overview, and stay there; the rest of its memory stays."""
    text = page.asked("text")
    if text in (None, line):
        return page.go("/overview", "unchanged")
    result = await scope.update(old.id, text=text, quote=line, expected_version=old.version)
    return page.go("/overview", _said_of_correction(result), result, **_echo_values(list_echoes(result)))


def read_correction(page: WebPage, old: Memory) -> dict[str, Any]:
    """Return what a form changes of a memory."""
    text = "\n".join((page.asked("text") or "").splitlines())
    tags = [tag.strip() for tag in (page.asked("tags") or "").split(",") if tag.strip()]
    changes: dict[str, Any] = {}
    if text and text != "\n".join(old.text.splitlines()):
        changes["text"] = text
    if old.channel == Channel.TURN:
        return changes
    if page.asked("category") not in (None, old.category):
        changes["category"] = page.asked("category")
    level = page.whole("importance", round(100 * old.importance), 0, 100)
    if level != round(100 * old.importance):
        changes["importance"] = level / 100
    if tags != list(old.tags):
        changes["tags"] = tags
    return changes


@routes.post("/memories/act", Operation.WRITE)
async def act(page: WebPage) -> Response:
    """Pin, forget or restore memories; forgetting asks first."""
    ids, action, scope = read_ids(page), page.asked("action"), page.scope(Operation.WRITE)
    back = page.asked("back") or "/memories"
    if back not in ("/memories", "/memory", "/overview", "/trash"):
        raise InvalidInput("that is no page to go back to")
    values = {"id": ids[0]} if back == "/memory" else {}
    if action == "forget" and not page.asked("sure"):
        named = [item for item in [await find_or_none(scope, id) for id in ids] if item is not None]
        return page.show("sure.html", memories=named, ids=ids, back=back)
    if action == "forget":
        result = await scope.forget(ids)
        echoes = list_echoes(result)
        return page.go(back, "forgotten_repeated" if echoes else "forgotten", result, **values, **_echo_values(echoes))
    if action == "restore":
        results = [await scope.restore(id) for id in ids]
        return page.go(back, "restored", results[-1], **values)
    if action in ("pin", "unpin"):
        results = [await scope.pin(id, action == "pin") for id in ids]
        return page.go(back, f"{action}ned", results[-1], **values)
    raise InvalidInput("choose what to do: pin, unpin, forget or restore")


def read_ids(page: WebPage) -> list[str]:
    """Return the memories that a form names. Raises InvalidInput for none and for too many."""
    ids = list(dict.fromkeys(str(id) for id in page.form.getlist("id")))
    if not 1 <= len(ids) <= MAX_AT_ONCE:
        raise InvalidInput(f"choose 1 to {MAX_AT_ONCE} memories, not {len(ids)}")
    return ids


@routes.post("/undo", Operation.WRITE)
async def undo(page: WebPage) -> Response:
    """Take a decision back, whole."""
    result = await page.scope(Operation.WRITE).journal.undo(page.whole("change", 0, 1, 2**30))
    if id := page.asked("id"):
        return page.go("/memory", "undone", result, id=id)
    return page.go("/overview" if page.asked("back") == "/overview" else "/memories", "undone", result)


@routes.get("/trash")
async def trash(page: WebPage) -> Response:
    """List what was forgotten and can be restored, with the day on which it goes for good."""
    return page.show("trash.html", forgotten=await page.scope().journal.forgotten(limit=200))
