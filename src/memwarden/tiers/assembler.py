"""Assembles the context of a task from three tiers within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from memwarden import arguments, clock, filters
from memwarden.categories import OWN_RECORDS
from memwarden.checks import check_whole
from memwarden.errors import InvalidInput
from memwarden.observability.instrument import open_operation, record_event
from memwarden.observability.records import EventDraft, EventFilter, Node, Op, OpEvent, Status
from memwarden.recall.answer.frame import frame_external, is_bare_data
from memwarden.recall.answer.used import judge_texts
from memwarden.records import Channel, Kind, Memory, Namespace, RecallItem, Trust
from memwarden.remember.ingest.messages import checked_name, checked_names
from memwarden.remember.ingest.screening import trust_of_item
from memwarden.runtime.services import Runtime
from memwarden.text.language import checked_text
from memwarden.text.tokenizer import TokenCounter, estimate
from memwarden.tiers import budget, items
from memwarden.tiers.backend import ITEMS, ContextItem, as_item
from memwarden.tiers.budget import (
    DEFAULT_PROJECT,
    TIERS,
    TIERS_WITH_USER,
    BudgetFill,
    BudgetSplit,
    ContextPackage,
    ContextRequest,
    IncludedItem,
    LeftOut,
    MemoryConfig,
    Offer,
    Profile,
    Tier,
    TierUse,
)
from memwarden.tiers.stores import AsyncTaskMemoryStore, ItemUses, TierScope, check_name

# Tokens of a usual line; a read fetches as many items as such lines fill the budget.
USUAL_LINE_TOKENS = 20
# The category of items, which carry none of their own.
ITEM_CATEGORY = "activity"
# Items per read at the least, and items considered at the most.
MIN_READ, MAX_READ = 20, 1_000

_STATED = filters.parse({"channel": {"$ne": Channel.TURN}})
_NO_STEPS = filters.parse({"channel": {"$ne": Channel.PROCEDURAL}})


# A user's namespace holds more than items.
_OF_USER = (*ITEMS, filters.Condition("category", "$ne", OWN_RECORDS))


class TierSearch(NamedTuple):
    """The candidates of a tier. whys: the reasons, in words; scores: with a query."""

    items: Sequence[ContextItem]
    trusts: Sequence[str]
    whys: Sequence[Callable[[], str]]
    scores: Sequence[float | None]
    left_out: Callable[[], list[LeftOut]]


class ContextPlan(NamedTuple):
    """A checked request."""

    budget: int
    shares: Mapping[str, float]
    query: str | None
    agent: str | None
    threshold: float | None
    ends: int
    explain: bool
    user: str | None
    learned: bool
    reason: str

    @property
    def at_once(self) -> int:
        """Items of a tier per read."""
        return max(MIN_READ, min(MAX_READ, self.budget // USUAL_LINE_TOKENS))


class AsyncContextAssembler:
    """Makes the contexts of tasks. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.assembler`."""

    def __init__(
        self,
        runtime: Runtime,
        uses: ItemUses,
        tenant: str,
        profiles: Mapping[str, Profile],
        memory_config: MemoryConfig | None,
        count: TokenCounter = estimate,
    ) -> None:
        self._runtime = runtime
        self._uses = uses
        self._tenant = tenant
        self._profiles = profiles
        self._config = memory_config
        self._count = count

    async def build_context(self, task: Any, request: Any) -> ContextPackage:
        """Choose from a task, its project and global memory what fits a budget. Never writes a memory.

        It leaves an operational event in the task's namespace.

        Args:
            task: a :class:`memwarden.tiers.Task`, or anything with ``task_id`` and ``metadata``.
            request: a :class:`memwarden.tiers.ContextRequest`, or anything with ``budget_tokens``.

        The task's memory is always considered. Of the other tiers, answers to the query go in, in recall's order;
        without a query pinned items, then by importance, then by age. How the budget is shared:
        :mod:`memwarden.tiers.budget`.

        Raises InvalidInput, UnknownAgent, StoreError.
        """
        task_id = check_name(getattr(task, "task_id", None), "task_id")
        project_id = check_name(_project_id(task), "project_id")
        plan = self._plan(request)
        events = self._runtime.events
        if not events.takes:
            return await self._build(task_id, project_id, plan)
        place = TierScope(tenant=self._tenant, agent=plan.agent, path=f"task/{task_id}")
        with open_operation(events.put, place, Node.CONTEXT, Op.SEARCH) as call:
            package = await self._build(task_id, project_id, plan)
        call.emit(draft_event(package))
        return package

    async def _build(self, task_id: str, project_id: str, plan: ContextPlan) -> ContextPackage:
        split = BudgetSplit(plan.shares, plan.reason)
        if plan.learned:
            split = budget.learn_shares(await self._judged(project_id), plan.shares)
        titles = {"task": task_id, "user": plan.user or "", "project": project_id, "global": ""}
        titles = {name: titles[name] for name in plan.shares}
        paths = {name: f"{name}/{of}" if of else name for name, of in titles.items()}
        looked = {item: await self._look(item, paths[item], plan) for item in paths}
        tiers = {item: Tier(budget.title(item, titles[item]), _offers(item, looked[item])) for item in paths}
        filled = budget.fill_budget(tiers, split.shares, plan.budget, self._count)
        package = _package(f"ctx-{task_id}", plan.budget, looked, filled, self._count)
        package = replace(package, split=split.reason, build_id=clock.new_id())
        for item in paths:
            given = [each.item.context_item_id for each in package.included if each.tier == item]
            self._uses.record_use(Namespace(self._tenant, paths[item]), given, clock.now())
        return package

    async def record_uses(
        self,
        task: Any,
        package: ContextPackage,
        *,
        answer: str | None = None,
        said: Sequence[str] = (),
        used: Collection[str] | None = None,
        withdraw: bool = False,
    ) -> tuple[TierUse, ...]:
        """Record which items of a context were of use, from which shares are learned; it replaces what was said before.

        It is an operational event of the project, which changes no memory and may be lost. With the setting ``events``
        off nothing is recorded.

        Args:
            task: as for :meth:`build_context`. package: what that returned.
            answer: the answer to the prompt: items whose own words it repeats were of use. said: what was said in the
                prompt beside the context; words of it prove nothing.
            used: in place of an answer, the ids of the items that were of use.
            withdraw: in place of both, take back what was recorded of this context.

        Raises InvalidInput, StoreError.
        """
        project_id = check_name(_project_id(task), "project_id")
        if not isinstance(package, ContextPackage) or not package.build_id:
            raise InvalidInput(f"package is what build_context returned, not {package!r:.80}")
        if sum((answer is not None, used is not None, bool(withdraw))) != 1:
            raise InvalidInput("say what was of use by exactly one of answer, used and withdraw")
        if answer is not None:
            answer = checked_text(answer, "answer", self._runtime.settings.max_text_bytes)
        of_use = None if withdraw else _items_of_use(package, answer, said, used)
        uses = _sum_uses(package, of_use)
        await self._record(project_id, package.build_id, uses)
        return uses

    async def _record(self, project_id: str, build_id: str, uses: Sequence[TierUse]) -> None:
        """Record what was of use of each tier of a context, beside the project's journal."""
        events = self._runtime.events
        if not events.takes:
            return
        who = TierScope(tenant=self._tenant, path=f"project/{project_id}", thread=build_id)
        for use in uses:
            record_event(events.put, who, Node.CONTEXT, _draft_use(use))
        await events.flush()  # the next context learns from it

    async def _judged(self, project_id: str) -> list[list[TierUse]]:
        """Return the uses of the last judged contexts of a project."""
        since = clock.now() - timedelta(days=self._runtime.settings.events_days)
        where = EventFilter(since=since, node=Node.CONTEXT, op=Op.USE)
        most = budget.MAX_JUDGED * len(TIERS_WITH_USER)
        place = Namespace(self._tenant, f"project/{project_id}")
        return read_uses(await self._runtime.store.events(place, where, limit=most))

    async def cleanup_task(self, task_id: str) -> None:
        """Clear the memory of a finished task."""
        task_id = check_name(task_id, "task_id")
        place = TierScope(tenant=self._tenant, path=f"task/{task_id}")
        await AsyncTaskMemoryStore(self._runtime, place, self._uses, task_id).clear()

    def _plan(self, request: Any) -> ContextPlan:
        asked = read_request(request)
        profile = Profile() if asked.profile is None else self._profiles.get(asked.profile)
        if profile is None:
            known = ", ".join(map(repr, self._profiles)) or "none"
            raise InvalidInput(f"there is no profile {asked.profile!r:.80}; profiles are: {known}")
        user = checked_name(asked.user, "user")
        usual, tiers = (budget.DEFAULT_SHARES, TIERS) if user is None else (budget.SHARES_WITH_USER, TIERS_WITH_USER)
        stated = next((item for item in (asked.shares, profile.shares) if item is not None), None)
        policy = getattr(self._config, "context_policy", None)
        learns = (asked.learned_shares, profile.learned_shares, getattr(policy, "learned_shares", None))
        learned = arguments.check_truth(next((item for item in learns if item is not None), False), "learned_shares")
        ends = (asked.head_tail_preserve, profile.head_tail_preserve, getattr(policy, "head_tail_preserve", None))
        most = self._runtime.settings.max_text_bytes
        return ContextPlan(
            budget=check_whole(asked.budget_tokens, "budget_tokens", 1, None),
            shares=budget.read_shares(usual if stated is None else stated, tiers),
            query=None if asked.query is None else checked_text(asked.query, "query", most),
            agent=asked.agent,
            threshold=None if asked.threshold is None else arguments.check_share(asked.threshold, "threshold"),
            ends=check_whole(next((end for end in ends if end is not None), 0), "head_tail_preserve", 0, None),
            explain=arguments.check_truth(asked.explain, "explain"),
            user=user,
            learned=learned and stated is None,
            reason="the usual split" if stated is None else "as the request or its profile says",
        )

    async def _look(self, tier: str, path: str, plan: ContextPlan) -> TierSearch:
        place = TierScope(tenant=self._tenant, path=path, agent=plan.agent)
        readable = self._runtime.settings.categories.readable(plan.agent, None)
        if tier != "task" and plan.query is not None:
            return await self._ask(tier, place, readable, plan, plan.query)
        return await self._list(tier, place, readable, plan)

    async def _ask(
        self, tier: str, place: TierScope, readable: tuple[str, ...] | None, plan: ContextPlan, query: str
    ) -> TierSearch:
        """Return the answers to the query, best first, by recall."""
        from memwarden.recall.answer.request import Request
        from memwarden.recall.recall import SPARE_CANDIDATES

        category = self._runtime.settings.categories.declared.get(ITEM_CATEGORY)
        most = plan.at_once
        if category is not None and category.rag_length is not None:
            most = max(1, min(most, category.rag_length - SPARE_CANDIDATES))  # to look for more would find none
        request = Request(query, readable, _STATED, most, plan.threshold, None, True, plan.explain, news=False)
        found = await self._runtime.services.recall.query(place, request)
        return TierSearch(
            [_as_item(item.memory) for item in found.items],
            [item.memory.trust for item in found.items],
            [partial(_answers, item) for item in found.items],
            [item.score for item in found.items],
            lambda: [LeftOut(tier, item.id, item.gate, item.reason, item.score) for item in found.cut],
        )

    async def _list(
        self, tier: str, place: TierScope, readable: tuple[str, ...] | None, plan: ContextPlan
    ) -> TierSearch:
        """Return the items that matter most without a query; of a task its two ends first."""
        # They load numpy, which a process that only writes does without.
        from memwarden.recall.answer.gates import GATES, in_categories
        from memwarden.recall.default_order import order_memories

        now = clock.now()
        where = _OF_USER if tier == "user" else ()
        ends = plan.ends if tier == "task" else 0
        valid = filters.Condition("valid_to", filters.UNSET_OR_AFTER, now)
        open_ = (*_STATED, *_NO_STEPS, *in_categories(readable), *where, valid)
        services = self._runtime.services
        first = await services.larges.find_first(place.namespace, open_, MAX_READ, ends)
        index = first or await services.indexes.current(place.namespace)
        order = order_memories(index, readable, now, ends, where)
        read, looked_at = await self._enough(place.namespace, order.ids, plan)
        edges = {*order.ids[: order.edges]}
        rest = order.ids[looked_at:]
        return TierSearch(
            [_as_item(item) for item in read],
            [item.trust for item in read],
            [partial(_matters, item, item.id in edges, now) for item in read],
            [None] * len(read),
            lambda: (
                [LeftOut(tier, item, "rank", budget.GATES["rank"], None) for item in rest]
                + [LeftOut(tier, item, gate, GATES[gate], None) for item, gate in order.left_out]
            ),
        )

    async def _enough(self, namespace: Namespace, ids: Sequence[str], plan: ContextPlan) -> tuple[list[Memory], int]:
        """Read memories in order until they alone would fill the budget. Returns also the number of ids read."""
        read: list[Memory] = []
        cost, looked_at = 0, 0
        while cost < plan.budget and looked_at < min(MAX_READ, len(ids)):
            some = await self._runtime.store.get(namespace, ids[looked_at : looked_at + plan.at_once])
            if self._runtime.settings.external == "off":
                some = [item for item in some if item.trust != Trust.EXTERNAL]
            costs = (self._count(budget.one_line(item.kind, item.text)) for item in some)
            cost += sum(each for each in costs if each <= plan.budget)  # what is larger than all fits nowhere
            looked_at = min(looked_at + plan.at_once, len(ids))
            read += some
        return read, looked_at


def draft_event(package: ContextPackage) -> EventDraft:
    """Return the event of a built context: the best answer's score, never its content."""
    near = max((item.score for item in package.included if item.score is not None), default=None)
    if package.included:
        return EventDraft(Op.SEARCH, Status.OK, "", sim=near)
    return EventDraft(Op.SEARCH, Status.SKIPPED, "nothing_fits" if package.left_out else "nothing_there")


async def record_tier_uses(
    assembler: AsyncContextAssembler, project_id: str, build_id: str, uses: Sequence[TierUse]
) -> None:
    """Record what was of use of a context, for programs whose contexts are judged elsewhere, such as a server."""
    for use in uses:
        if use.used is not None and use.used > use.tokens:
            raise InvalidInput(f"of {use.tokens} tokens of the {use.tier} no {use.used} can have been of use")
    await assembler._record(check_name(project_id, "project_id"), build_id, uses)


def _items_of_use(
    package: ContextPackage, answer: str | None, said: Sequence[str], used: Collection[str] | None
) -> set[str]:
    """Return the ids of the items that were of use: as named, or as an answer repeats them."""
    known = [item.item.context_item_id for item in package.included]
    if answer is not None:
        words = [items.item_words(item.item) for item in package.included]
        judged = judge_texts(words, said, answer)
        return {item for item, (was_used, _) in zip(known, judged, strict=True) if was_used}
    named = set(checked_names(used, "used"))
    if not named <= set(known):
        raise InvalidInput(f"used names items of the context; not among them: {sorted(named - set(known))!r:.200}")
    return named


def _sum_uses(package: ContextPackage, of_use: set[str] | None) -> tuple[TierUse, ...]:
    """Return the tokens of each tier, and those of items that were of use."""
    tiers = dict.fromkeys(item.tier for item in package.included)
    listed = {tier: [item for item in package.included if item.tier == tier] for tier in tiers}
    return tuple(
        TierUse(
            tier,
            sum(item.tokens for item in mine),
            None if of_use is None else sum(item.tokens for item in mine if item.item.context_item_id in of_use),
        )
        for tier, mine in listed.items()
    )


def _draft_use(use: TierUse) -> EventDraft:
    status = Status.OK if use.used else Status.SKIPPED
    share = None if use.used is None else use.used / max(use.tokens, 1)
    return EventDraft(Op.USE, status, use.tier, sim=share, many=use.tokens)


def read_uses(events: Sequence[OpEvent]) -> list[list[TierUse]]:
    """Return what events, the newest first, tell of the use of contexts; of each context the last word counts."""
    last: dict[tuple[str, str], OpEvent] = {}
    for event in events:
        if event.memory_id is None and event.thread_id is not None and event.reason in TIERS_WITH_USER:
            last.setdefault((event.thread_id, event.reason), event)
    contexts: dict[str, list[TierUse]] = {}
    for (build_id, tier), event in last.items():
        if event.sim is not None:
            use = TierUse(tier, event.count, round(event.sim * event.count))
            contexts.setdefault(build_id, []).append(use)
    return list(contexts.values())


def read_request(request: Any) -> ContextRequest:
    """Return a request made of anything with ``budget_tokens``. Raises InvalidInput."""
    if isinstance(request, ContextRequest):
        return request
    if not hasattr(request, "budget_tokens"):
        raise InvalidInput(f"request is a ContextRequest, or has budget_tokens, not {request!r:.80}")
    known = {field: getattr(request, field) for field in ContextRequest.__dataclass_fields__ if hasattr(request, field)}
    return ContextRequest(**known)


def _project_id(task: Any) -> Any:
    metadata = getattr(task, "metadata", None)
    found = metadata.get("project_id") if isinstance(metadata, Mapping) else None
    return DEFAULT_PROJECT if found is None else found


def _offers(tier: str, looked: TierSearch) -> list[Offer]:
    """Return the candidates as lines. A task's are shown by time, the others in their order."""
    pairs = zip(looked.items, looked.trusts, strict=True)
    lines = [budget.one_line(item.kind, _prompt_words(item, trust)) for item, trust in pairs]
    shown = range(len(lines))
    places = dict(enumerate(shown))
    if tier == "task":
        by_time = sorted(shown, key=lambda number: (looked.items[number].timestamp, number))
        places = {number: place for place, number in enumerate(by_time)}
    return [Offer(item.context_item_id, lines[n], places[n]) for n, item in enumerate(looked.items)]


def _package(
    package_id: str, budget_tokens: int, looked: Mapping[str, TierSearch], filled: BudgetFill, count: TokenCounter
) -> ContextPackage:
    known = {
        (tier, item.context_item_id): (item, why, score)
        for tier, found in looked.items()
        for item, why, score in zip(found.items, found.whys, found.scores, strict=True)
    }
    included = []
    for taken in filled.taken:
        item, why, score = known[taken.tier, taken.offer.item_id]
        where = "in what other shares left" if taken.unused else f"within the {taken.tier}'s share"
        included.append(IncludedItem(taken.tier, item, f"{why()}; {where}", taken.tokens, score))

    def left_out() -> tuple[LeftOut, ...]:
        dropped = (
            LeftOut(tier, offer.item_id, gate, budget.GATES[gate], known[tier, offer.item_id][2])
            for tier, offer, gate in filled.dropped
        )
        return (*dropped, *(item for found in looked.values() for item in found.left_out()))

    whole = sum(_cost(item, count) for found in looked.values() for item in found.items)
    cost = sum(_cost(item.item, count) for item in included)
    return ContextPackage(
        context_package_id=package_id,
        items=tuple(item.item for item in included),
        summary=None,
        compression_ratio=cost / whole if whole else 0.0,
        text=filled.text,
        tokens=filled.tokens,
        budget_tokens=budget_tokens,
        included=tuple(included),
        find_left_out=left_out,
        allotted=filled.allotted,
        used=filled.used,
    )


def _cost(item: ContextItem, count: TokenCounter) -> int:
    return count(items.item_words(item)) if item.token_cost is None else item.token_cost


def _answers(item: RecallItem) -> str:
    words = ", ".join(f"‘{word}’" for word in item.why.words)
    return f"bears on the query, score {item.score:.2f}" + (f" (matches {words})" if words else "")


def _matters(memory: Memory, edge: bool, now: datetime) -> str:
    from memwarden.recall.answer.render import format_age

    said = f"importance {memory.importance:.2f}, {format_age(memory.created_at, now)}"
    return ("pinned, " if memory.pinned else "") + ("at an end of the task, " if edge else "") + said


def _as_item(memory: Memory) -> ContextItem:
    """Return a memory as an item; what is known of a user has its words beside the payload."""
    item = as_item(memory)
    return replace(item, payload={"text": memory.text}) if memory.namespace.path.startswith("user/") else item


def _prompt_words(item: ContextItem, trust: str) -> str:
    """Return an item's words for a prompt; external words without sentences that read like orders."""
    said = items.item_words(item)
    shorten = items.shorten_output if item.kind == Kind.TOOL_OUTPUT else str
    own = trust != Trust.EXTERNAL and trust_of_item(item.kind, item.source) != Trust.EXTERNAL
    if own or is_bare_data(item.payload):
        return shorten(said)
    from memwarden.security.injection import (
        redact_for_prompt,  # its tables are for those alone who keep what came from outside
    )

    return frame_external(shorten(redact_for_prompt(said)), item.source)
