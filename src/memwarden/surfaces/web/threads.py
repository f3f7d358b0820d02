"""Conversations, stored sessions and saved state: what agents heard, and what they keep for themselves."""

from __future__ import annotations

import glob
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from starlette.responses import Response

from memwarden import AsyncScope
from memwarden.agent.plain_sessions import SessionMemory
from memwarden.agent.session_rules import MEMORY, agent_receives, cache_state, memory_state
from memwarden.errors import CategoryDenied, InvalidInput, NotFound
from memwarden.records import CARD, Channel, Delta, Memory, join_parts
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web.page import PageRoutes, WebPage, not_found
from memwarden.surfaces.web.render import why_hidden

routes = PageRoutes()
# The newest turns name the conversations; older ones are found by their name.
MAX_TURNS: Final = 2_000
MAX_SHOWN_TURNS: Final = 200
MAX_FACTS: Final = 500
TELLING_WORDS: Final = 7


class ThreadSummary(NamedTuple):
    """A conversation in a list. begins: the first of its words that say something; empty for none that may be shown."""

    name: str
    turns: int
    first: datetime
    last: datetime
    begins: str


@routes.get("/threads")
async def threads(page: WebPage) -> Response:
    """List conversations, the most recent first, and stored sessions."""
    scope = page.scope()
    turns = await scope.find({"channel": Channel.TURN}, limit=MAX_TURNS, order_by="written")
    try:
        sessions = await scope.sessions.list_ids()
    except CategoryDenied:
        sessions = []
    return page.show("threads.html", threads=summarize(turns), sessions=sessions)


def summarize(turns: Sequence[Memory]) -> list[ThreadSummary]:
    """Return the conversations of turns, which stand the newest first."""
    found: dict[str, list[Memory]] = {}
    for turn in turns:
        found.setdefault(turn.thread_id or "", []).append(turn)
    return [
        ThreadSummary(
            name,
            len(said),
            min(turn.created_at for turn in said),
            max(turn.created_at for turn in said),
            find_beginning(said[::-1]),
        )
        for name, said in found.items()
        if name
    ]


def find_beginning(said: Sequence[Memory]) -> str:
    """Return the first words of a conversation that are more than a greeting, the person's before an assistant's."""
    shown = [turn for turn in said if not why_hidden(turn)]
    telling = [turn for turn in shown if len(turn.text.split()) >= TELLING_WORDS]
    by_person = [turn for turn in telling if turn.role != "assistant"]
    return next((turn.text for turn in (*by_person, *telling, *shown)), "")


@routes.get("/thread")
async def thread(page: WebPage) -> Response:
    """Show a conversation, each turn with the facts that rest on it, and what was changed in it."""
    name = read_name(page, "thread")
    scope = page.scope()
    turns = await scope.find({"thread_id": name, "channel": Channel.TURN}, limit=MAX_SHOWN_TURNS, order_by="written")
    where = {"thread_id": name, "channel": {"$ne": Channel.TURN}}
    made = [item for item in await scope.find(where, limit=MAX_FACTS, order_by="written") if CARD not in item.tags]
    if not turns and not made:
        raise not_found("conversation")
    return page.show(
        "thread.html",
        name=name,
        turns=[(turn, [fact for fact in made if rests_on(fact, turn)]) for turn in join_parts(turns[::-1])],
        others=[fact for fact in made if not any(rests_on(fact, turn) for turn in turns)],
        delta=await find_changes_since(scope, turns[0]) if turns else None,
    )


async def find_changes_since(scope: AsyncScope, turn: Memory) -> Delta | None:
    """Return what changed since a turn was stored; None where its history is gone."""
    entries = await scope.journal.history(turn.id, limit=1)
    return await scope.journal.delta(entries[0].seq) if entries else None


def rests_on(fact: Memory, turn: Memory) -> bool:
    """Whether a fact was made of a turn."""
    return turn.id in fact.sources or bool(set(turn.sources) & set(fact.sources))


def read_name(page: WebPage, what: str) -> str:
    """Return a name that the address holds. Raises InvalidInput without any."""
    name = page.asked(what)
    if name is None:
        raise InvalidInput(f"this page needs the name of a {what}; open it from its list")
    return name


@routes.post("/thread/forget", Operation.WRITE)
async def forget_thread(page: WebPage) -> Response:
    """Forget a whole conversation; asked first, and undone as a whole."""
    name = read_name(page, "thread")
    scope = page.scope(Operation.WRITE)
    count = len(await scope.find({"thread_id": name, "channel": {"$ne": "none"}}, limit=MAX_TURNS))
    if not page.asked("sure"):
        return page.show("thread_sure.html", name=name, count=count)
    result = await scope.reset(confirm=scope.who.user, filters={"thread_id": name})
    return page.go("/threads", "forgotten", result)


@routes.get("/session")
async def session(page: WebPage) -> Response:
    """Show a stored session: its exchanges, summary, cached results of tools, and what its agent receives."""
    id, scope = read_name(page, "session"), page.scope()
    if id not in await scope.sessions.list_ids():
        raise not_found("session")
    stored = await scope.sessions.load(id)
    asked = page.asked("message") or stored[MEMORY]["current_cycle"]["user_question"]
    received = SessionMemory().prepare_messages_for_agent(stored, asked)
    views = (memory_state(stored), cache_state(stored), agent_receives(received if asked else received[:-1]))
    return page.show("session.html", id=id, memory=stored[MEMORY], views=views, message=page.asked("message") or "")


@routes.get("/state")
async def state(page: WebPage) -> Response:
    """List the values that agents saved by key."""
    pattern = page.asked("pattern") or "*"
    try:
        keys = await page.scope().state.list_keys(pattern, include_values=True)
    except CategoryDenied as error:
        return page.show("state.html", keys=[], pattern=pattern, refused=str(error))
    return page.show("state.html", keys=keys, pattern=pattern, refused="")


@routes.get("/state/value")
async def state_value(page: WebPage) -> Response:
    """Show a saved value, whole."""
    key = read_name(page, "key")
    value = json.dumps(await page.scope().state.load(key), indent=2, ensure_ascii=False)
    return page.show("state_value.html", key=key, value=value)


@routes.post("/state/clear", Operation.WRITE)
async def clear_state(page: WebPage) -> Response:
    """Remove a saved value; its history can bring it back."""
    key = read_name(page, "key")
    if not await page.scope(Operation.WRITE).state.clear(glob.escape(key)):
        raise NotFound("no value is saved under this key any more")
    return page.go("/state", "cleared")
