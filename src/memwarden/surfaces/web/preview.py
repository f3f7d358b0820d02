"""What an agent would be given for a message: the exact text, its tokens by tier, reasons, and what was cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from starlette.responses import Response

from memwarden import AsyncScope
from memwarden.conversation.formats import detect_format
from memwarden.conversation.prompt_cache import decide_layout, delta_places
from memwarden.conversation.turn import WITH_MEMORY
from memwarden.errors import InvalidInput
from memwarden.observability.prompt_queue import MADE_PROMPTS
from memwarden.recall.answer.gates import GATES
from memwarden.recall.answer.template import CLASSIC_TEMPLATE, LEAN_TEMPLATE
from memwarden.records import OVERVIEW_ID, Channel, ContextBlock, Cut, Memory, RecallItem
from memwarden.settings import DEFAULT_BLOCK_TOKENS
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web.page import PageRoutes, WebPage, new_thread
from memwarden.text.tokenizer import estimate

routes = PageRoutes()
TEMPLATES: Final = {"lean": LEAN_TEMPLATE, "classic": CLASSIC_TEMPLATE}
# Where memories stand in the request, as the page shows it.
MODES: Final[Mapping[str, str]] = {
    "system_append": "after the system prompt",
    "context_message": "as a message of its own",
    "user_prefix": "before the user's words",
    "cache_stable": "at a fixed place, for a provider's cache",
}
SYSTEM: Final = "You are a helpful assistant."
MAX_CUT_SHOWN: Final = 8
CUT_ORDER: Final = tuple(GATES)
# The order is that of the bar, and of its colours.
TIER_NAMES: Final = (
    "Facts",
    "What was said",
    "Overview",
    "Profile",
    "Project",
    "Task",
    "All projects",
    "Changes",
    "Frame",
)
_PLACES: Final = (("project/", "Project"), ("task/", "Task"), ("global", "All projects"))


class BarPart(NamedTuple):
    """A part of a block. number: decides its colour."""

    name: str
    number: int
    tokens: int
    start: int


class GateView(NamedTuple):
    """What a gate left out: how many, why, and the best of them with their memories."""

    gate: str
    reason: str
    how_many: int
    nearest: tuple[tuple[Cut, Memory | None], ...]


class Preview(NamedTuple):
    """All that a page tells of a block."""

    block: ContextBlock
    prompt: Sequence[Mapping[str, Any]]
    tiers: Sequence[BarPart]
    tokens: Mapping[str, int]
    gates: Sequence[GateView]


class PreviewOptions(NamedTuple):
    """How a block is made."""

    budget: int
    overview: int
    threshold: float | None
    template: str
    mode: str


@routes.get("/preview")
async def preview(page: WebPage) -> Response:
    """Show the form, or what a message in the address would be given."""
    return await show_preview(page)


@routes.post("/preview", Operation.READ)
async def try_preview(page: WebPage) -> Response:
    """Show what a message would be given. It is sent as a form, so that no log and no address holds it."""
    return await show_preview(page)


async def show_preview(page: WebPage) -> Response:
    """Return the page, or its part with the answer."""
    message = page.asked("message")
    made = None if message is None else await make_preview(open_preview_scope(page), message, read_options(page))
    template = "preview_part.html" if page.is_fragment else "preview.html"
    return page.show(template, message=message or "", made=made, options=read_options(page), **choices(page))


def choices(page: WebPage) -> dict[str, Any]:
    """Return what the form offers."""
    agents = sorted(page.warden.settings.categories.allowlists)
    is_free = page.grant.user is None and page.grant.agent is None
    return {"modes": MODES, "templates": list(TEMPLATES), "agents": agents, "is_free": is_free}


def open_preview_scope(page: WebPage) -> AsyncScope:
    """Return the scope that is asked, in a new thread, as a new conversation would be: tasks and projects too."""
    project, task = page.asked("project"), page.asked("task")
    if project is not None or task is not None:
        page.caller(Operation.READ).check_unbound("the memory of tasks and projects")
    page.grant.check_operation(Operation.READ)
    return page.warden.scope(
        user=page.user, agent=page.agent, thread=new_thread(), project=project, task=task,
        tenant=page.grant.tenant,
    )  # fmt: skip


def read_options(page: WebPage, suffix: str = "") -> PreviewOptions:
    """Return how a form wants a block made. Raises InvalidInput."""
    template, mode = page.asked(f"template{suffix}") or "lean", page.asked(f"mode{suffix}") or "system_append"
    if template not in TEMPLATES or mode not in MODES:
        raise InvalidInput(f"a template is {' or '.join(TEMPLATES)}, a mode {', '.join(MODES)}")
    bar = page.asked(f"threshold{suffix}")
    try:
        threshold = None if bar is None else float(bar)
    except ValueError:
        raise InvalidInput("the bar is a number from 0 to 1, such as 0.4") from None
    return PreviewOptions(
        budget=page.whole(f"budget{suffix}", DEFAULT_BLOCK_TOKENS, 1, 100_000),
        overview=page.whole(f"overview{suffix}", 0, 0, 100_000),
        threshold=threshold,
        template=template,
        mode=mode,
    )


async def make_preview(scope: AsyncScope, message: str, options: PreviewOptions) -> Preview:
    """Return what a message would be given, and why."""
    looking = MADE_PROMPTS.set([])  # no model is given what is only looked at
    try:
        block = await scope.context(
            message,
            options.budget,
            explain=True,
            threshold=options.threshold,
            overview_tokens=options.overview,
            template=TEMPLATES[options.template],
        )
    finally:
        MADE_PROMPTS.reset(looking)
    said = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": message}]
    prompt = place_block(said, block, options)
    tokens = {item.id: count_tokens(item, block) for item in block.items}
    return Preview(block, prompt, find_tiers(block, tokens), tokens, await group_cuts(scope, block.cut))


def place_block(
    said: list[dict[str, str]], block: ContextBlock, options: PreviewOptions
) -> Sequence[Mapping[str, Any]]:
    """Return the request with a block where the mode puts it; with ``cache_stable`` as a conversation begins."""
    form = detect_format(said, None)
    if options.mode != "cache_stable":
        return cast("Sequence[Mapping[str, Any]]", form.with_block(said, block.text, options.mode))
    turns = form.read_turns(said)
    words = TEMPLATES[options.template]
    settings = replace(
        WITH_MEMORY,
        max_memory_tokens=options.budget,
        memory_context_prefix=words.prefix,
        memory_context_suffix=words.suffix,
        memory_format=words.format,
    )
    layout = decide_layout(None, turns, block, settings)
    if layout is None:
        return said
    placed = form.with_placed(said, layout.snapshot.text, delta_places(layout, turns))
    return cast("Sequence[Mapping[str, Any]]", placed)


def count_tokens(item: RecallItem, block: ContextBlock) -> int:
    """Return how many tokens an item takes, as the line that shows it."""
    begins = item.text.splitlines()[0][:40] if item.text else ""
    line = next((line for line in block.text.splitlines() if begins and begins in line), item.text)
    return min(estimate(line), block.tokens)


def find_tiers(block: ContextBlock, tokens: Mapping[str, int]) -> list[BarPart]:
    """Return the tokens of a block by where they come from, the frame's last, in the order of their colours."""
    sums: dict[str, int] = {}
    for item in block.items:
        name = tier_of(item)
        sums[name] = sums.get(name, 0) + tokens[item.id]
    if block.delta is not None:
        sums["Changes"] = estimate(block.delta.text)
    frame = block.tokens - sum(sums.values())
    if frame > 0:
        sums["Frame"] = frame
    found: list[BarPart] = []
    for number, name in enumerate(TIER_NAMES):
        if name in sums:
            found.append(BarPart(name, number % 5 + 1, sums[name], sum(tier.tokens for tier in found)))
    return found


def tier_of(item: RecallItem) -> str:
    """Return which part of memory an item comes from."""
    if item.id == OVERVIEW_ID:
        return "Overview"
    for begins, name in _PLACES:
        if item.memory.namespace.path.startswith(begins):
            return name
    if item.category == "profile":
        return "Profile"
    return "What was said" if item.channel == Channel.TURN else "Facts"


async def group_cuts(scope: AsyncScope, cuts: Sequence[Cut]) -> list[GateView]:
    """Return what was left out by gate, in the order in which the gates stand, the nearest of each with its memory."""
    by_gate: dict[str, list[Cut]] = {}
    for cut in cuts:
        by_gate.setdefault(cut.gate, []).append(cut)
    nearest = {gate: sorted(found, key=lambda cut: -cut.score)[:MAX_CUT_SHOWN] for gate, found in by_gate.items()}
    memories = await find_by_id(scope, [cut.id for found in nearest.values() for cut in found])
    order = sorted(by_gate, key=lambda gate: CUT_ORDER.index(gate) if gate in CUT_ORDER else len(CUT_ORDER))
    return [
        GateView(
            gate,
            by_gate[gate][0].reason,
            len(by_gate[gate]),
            tuple((cut, memories.get(cut.id)) for cut in nearest[gate]),
        )
        for gate in order
    ]


async def find_by_id(scope: AsyncScope, ids: Sequence[str]) -> dict[str, Memory]:
    """Return memories by their ids, those that are no longer true and saved values too."""
    if not ids:
        return {}
    where = {"id": list(ids), "valid_to": {"$ne": "1970-01-01"}, "channel": {"$ne": "none"}}
    return {item.id: item for item in await scope.find(where, limit=len(ids))}


@routes.get("/compare")
async def compare_form(page: WebPage) -> Response:
    """Show the form that compares two ways of asking."""
    return await show_comparison(page)


@routes.post("/compare", Operation.READ)
async def compare(page: WebPage) -> Response:
    """Show what two ways of asking find, side by side."""
    return await show_comparison(page)


async def show_comparison(page: WebPage) -> Response:
    """Return the page with both answers, where a message was given."""
    message, sides = page.asked("message"), []
    for side in ("a", "b"):
        options = read_options(page, f"_{side}")
        agent = page.grant.narrow_agent(page.asked(f"agent_{side}"))
        made = None
        if message is not None:
            page.grant.check_operation(Operation.READ)
            scope = page.warden.scope(user=page.user, agent=agent, thread=new_thread(), tenant=page.grant.tenant)
            made = await make_preview(scope, message, options)
        sides.append((side, agent, options, made))
    template = "compare_part.html" if page.is_fragment else "compare.html"
    return page.show(template, message=message or "", sides=sides, **choices(page))
