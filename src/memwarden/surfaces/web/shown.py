"""What models were shown: which memories stood in prompts, for which question, and why each was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from memwarden import AsyncScope, clock
from memwarden.errors import InvalidInput
from memwarden.records import Memory
from memwarden.surfaces.http.routes.traces import TraceLog, TraceSearch
from memwarden.surfaces.web.page import PageRoutes, WebPage
from memwarden.surfaces.web.preview import find_by_id

routes = PageRoutes()
MAX_PROMPTS: Final = 50
MAX_OF_MEMORY: Final = 10
# What stands below in a prompt is opened by a click: sixteen items of each prompt would be a page of nothing else.
FIRST_ITEMS: Final = 6


class ShownItem(NamedTuple):
    """A memory in a prompt. place: 1 for the best. memory: None once it is gone, or not for the visitor."""

    place: int
    score: float
    words: Sequence[str]
    features: Sequence[dict[str, Any]]
    note: str
    memory: Memory | None


class ShownPrompt(NamedTuple):
    """What a prompt was given. question: its beginning; empty where none was kept."""

    trace: str
    at: datetime
    thread: str | None
    agent: str | None
    question: str
    tokens: int
    items: Sequence[ShownItem]


@routes.get("/shown")
async def shown(page: WebPage) -> Response:
    """List what models were shown, the newest first: of a day, of a conversation, of a memory."""
    day = read_day(page)
    end = None if day is None else (day + timedelta(days=1)).isoformat()
    search = TraceSearch(
        page.asked("id"), page.asked("thread"), None if day is None else day.isoformat(), end, MAX_PROMPTS
    )
    scope = page.scope()
    today = clock.now().date()
    return page.show(
        "shown.html",
        prompts=await find_prompts(page, scope, search),
        most=MAX_PROMPTS,
        first=FIRST_ITEMS,
        day="" if day is None else day.isoformat(),
        days={"today": today.isoformat(), "yesterday": (today - timedelta(days=1)).isoformat()},
    )


def read_day(page: WebPage) -> date | None:
    """Return the day that is asked for. Raises InvalidInput."""
    given = page.asked("day")
    try:
        return None if given is None else date.fromisoformat(given)
    except ValueError:
        raise InvalidInput(f"a day is written 2026-03-14, not {given!r:.40}") from None


async def find_prompts(page: WebPage, scope: AsyncScope, search: TraceSearch) -> list[ShownPrompt]:
    """Return what was put into prompts, each with the memories as they stand now."""
    traces = await TraceLog(page.warden.store).find(scope, search)
    ids = dict.fromkeys(item["id"] for trace in traces for item in trace["items"])
    memories = await find_by_id(scope, list(ids))
    return [_read_prompt(trace, memories) for trace in traces]


def _read_prompt(trace: dict[str, Any], memories: dict[str, Memory]) -> ShownPrompt:
    # The items stand in the order of the prompt, which puts what was said last first.
    ranks = {item["id"]: rank for rank, item in enumerate(sorted(trace["items"], key=lambda item: -item["score"]), 1)}
    items = [_read_item(item, ranks[item["id"]], memories.get(item["id"])) for item in trace["items"]]
    return ShownPrompt(
        trace["trace"],
        datetime.fromisoformat(trace["at"]),
        trace["thread_id"],
        trace["agent_id"],
        trace["question"],
        trace["tokens"],
        sorted(items, key=lambda item: item.place),
    )


def _read_item(item: dict[str, Any], place: int, memory: Memory | None) -> ShownItem:
    if memory is None:  # its words and reasons tell of it too
        return ShownItem(place, item["score"], (), (), "", None)
    return ShownItem(place, item["score"], item["words"], item["features"], item["note"], memory)
