"""Shares a token budget among the tiers and chooses what goes in. Pure functions, no I/O.

The task, the project and global memory get 40, 40 and 20 % of the budget, or the requested shares; a user who takes
part gets half of the project's. Shares can be learned, too (:func:`learn_shares`). Each tier takes its items in their
order as long as they fit its share; an item that does not fit is skipped. Unused parts of the shares go to skipped
items: of the task first, then of the user, the project, and global memory. A tier with a share of 0 takes part in
neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.recall.answer.frame import NOTICE, QUOTED, clean_line
from memwarden.recall.answer.template import TASK_CLOSE as CLOSE
from memwarden.recall.answer.template import TASK_OPEN as OPEN
from memwarden.text.tokenizer import TokenCounter
from memwarden.tiers.backend import ContextItem

TIERS: Final = ("task", "project", "global")
# The tiers of a context in which a user takes part.
TIERS_WITH_USER: Final = ("task", "user", "project", "global")
# The default shares of the budget, and those with a user.
DEFAULT_SHARES: Final[Mapping[str, float]] = {"task": 0.4, "project": 0.4, "global": 0.2}
SHARES_WITH_USER: Final[Mapping[str, float]] = {"task": 0.4, "user": 0.2, "project": 0.2, "global": 0.2}
# What can leave an item out besides the gates of recall, with its meaning.
GATES: Final[Mapping[str, str]] = {
    "budget": "it does not fit into what is left of the token budget",
    "share": "its tier has no share of the budget",
    "copy": "an earlier tier says it in the same words",
    "rank": "enough others that matter more were looked at to fill the budget",
}
# Fewer judged contexts say too little, and older ones no longer count.
MIN_JUDGED, MAX_JUDGED = 10, 200
# The least of the budget that a tier keeps when its share is learned.
MIN_LEARNED_SHARE = 0.1
# So many tokens of a tier weigh as much as what was of use in all tiers together.
PRIOR_TOKENS = 200
# Rounds of filling the room that is left since lines take fewer tokens together than counted apart.
MAX_ROUNDS = 3


class Offer(NamedTuple):
    """An item that could go in.

    line: its words, without line breaks. place: its position among the shown items of its tier.
    """

    item_id: str
    line: str
    place: int = 0


class Tier(NamedTuple):
    """The offers of a tier, most important first. title: the line above its items."""

    title: str
    offers: Sequence[Offer]


class ChosenOffer(NamedTuple):
    """An offer that went in. unused: it fills room of other shares. tokens: the size of its line."""

    tier: str
    offer: Offer
    unused: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class BudgetFill:
    """The result of filling a budget.

    Attributes:
        taken: by tier, in the order in which they are shown. dropped: (tier, offer, gate) for every other offer.
        text: the text for a prompt; empty when nothing fits. tokens: its size, never above the budget.
        allotted: the tokens of each share. used: the tokens that each tier took, with its title.
    """

    taken: tuple[ChosenOffer, ...]
    dropped: tuple[tuple[str, Offer, str], ...]
    text: str
    tokens: int
    allotted: Mapping[str, int]
    used: Mapping[str, int]


def read_shares(shares: Any, tiers: Sequence[str] = TIERS) -> Mapping[str, float]:
    """Return checked shares: ``{"task": 0.5, "project": 0.5}``; a missing tier gets 0.

    Raises InvalidInput for unknown tiers, numbers outside 0..1, a sum of 0 or above 1, and a user without a share.
    """
    usual = SHARES_WITH_USER if "user" in tiers else DEFAULT_SHARES
    if not isinstance(shares, Mapping) or not set(shares) <= set(tiers):
        raise InvalidInput(f"shares name {', '.join(tiers)}, such as {dict(usual)}, not {shares!r:.80}")
    if "user" in tiers and "user" not in shares:
        raise InvalidInput(f"a user takes part by a share, such as {dict(usual)}; these have none: {shares!r:.80}")
    for share in shares.values():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InvalidInput(f"a share is a number from 0 to 1, not {share!r:.80}")
    whole = sum(shares.values())
    if not 0 < whole <= 1 + 1e-9:
        raise InvalidInput(f"shares are together more than 0 and at most 1, not {whole:g}")
    return {name: float(shares.get(name, 0.0)) for name in tiers}


class TierUse(NamedTuple):
    """How many tokens of a tier stood in a context, and how many were of use; None: that is taken back."""

    tier: str
    tokens: int
    used: int | None


class BudgetSplit(NamedTuple):
    """The shares of a budget, and why they are so."""

    shares: Mapping[str, float]
    reason: str


def learn_shares(contexts: Sequence[Sequence[TierUse]], usual: Mapping[str, float]) -> BudgetSplit:
    """Return shares that follow what was of use of each tier: the usual share times the part of its tokens that was.

    No tier gets less than 10 %. Without enough judged contexts, or when nothing was of use, the usual shares hold.
    """
    if len(contexts) < MIN_JUDGED:
        return BudgetSplit(usual, f"the usual split: {len(contexts)} of the {MIN_JUDGED} judged contexts that it takes")
    given, used = (_sum_up(contexts, usual, field) for field in ("tokens", "used"))
    if not sum(used.values()):
        return BudgetSplit(usual, f"the usual split: nothing of {len(contexts)} judged contexts was of use")
    overall = sum(used.values()) / sum(given.values())
    rates = {name: (used[name] + PRIOR_TOKENS * overall) / (given[name] + PRIOR_TOKENS) for name in usual}
    told = ", ".join(f"{name} {used[name] / given[name]:.0%}" for name in usual if given[name])
    reason = f"learned from {len(contexts)} judged contexts; of use was of each tier: {told}"
    return BudgetSplit(_with_floor({name: usual[name] * rates[name] for name in usual}), reason)


def _sum_up(contexts: Sequence[Sequence[TierUse]], names: Iterable[str], field: str) -> dict[str, int]:
    uses = [use for context in contexts for use in context]
    return {name: sum(getattr(use, field) for use in uses if use.tier == name) for name in names}


def _with_floor(weights: Mapping[str, float]) -> dict[str, float]:
    """Return shares in proportion to weights, none below the least."""
    low: set[str] = set()
    while True:
        rest = sum(weight for name, weight in weights.items() if name not in low)
        room = 1 - MIN_LEARNED_SHARE * len(low)
        shares = {name: MIN_LEARNED_SHARE if name in low else room * weights[name] / rest for name in weights}
        below = {name for name, share in shares.items() if share < MIN_LEARNED_SHARE}
        if not below:
            return shares
        low |= below


def fill_budget(tiers: Mapping[str, Tier], shares: Mapping[str, float], budget: int, count: TokenCounter) -> BudgetFill:
    """Choose what goes in, by the rule of this module.

    The size of the whole text, tags and titles included, never exceeds ``budget``, whatever the counter.
    """
    filling = _Filling(tiers, shares, budget, count)
    for name in shares:
        filling.within_share(name)
    for _ in range(MAX_ROUNDS):
        for name in shares:
            filling.what_is_unused(name)
        if not filling.finds_room():
            break
    return filling.finish()


class _Filling:
    """A budget being spent. Lines are counted separately; the whole is counted at the end."""

    def __init__(
        self, tiers: Mapping[str, Tier], shares: Mapping[str, float], budget: int, count: TokenCounter
    ) -> None:
        # In the order in which they stand in the text.
        self._names = [name for name in TIERS_WITH_USER if name in shares]
        self._tiers = {name: tiers.get(name, Tier("", ())) for name in self._names}
        self._budget = budget
        self._count = count
        self._shares = shares
        self._room = max(0, budget - count(f"{OPEN}\n") - count(CLOSE))
        self._allotted = {name: int(self._room * shares[name]) for name in self._names}
        self._used = dict.fromkeys(self._names, 0)
        self._passed: dict[str, list[tuple[Offer, int]]] = {name: [] for name in self._names}
        self._taken: list[ChosenOffer] = []
        # The tier of each line that is in: a promoted copy stands once.
        self._lines: dict[str, str] = {}
        self._dropped: list[tuple[str, Offer, str]] = []

    def within_share(self, name: str) -> None:
        """Take a tier's offers as long as they fit its own share."""
        tier = self._tiers[name]
        if not self._shares[name]:
            self._dropped += [(name, offer, "share") for offer in tier.offers]
            return
        for offer in tier.offers:
            cost = self._count(_line(offer))
            if not self._take(name, offer, cost, self._allotted[name] - self._used[name], unused=False):
                self._passed[name].append((offer, cost))

    def what_is_unused(self, name: str) -> None:
        """Take skipped offers as long as they fit the room left by all shares."""
        passed, self._passed[name] = self._passed[name], []
        for offer, cost in passed:
            if not self._take(name, offer, cost, self._room - sum(self._used.values()), unused=True):
                self._passed[name].append((offer, cost))

    def finds_room(self) -> bool:
        """Count the whole text, and return whether it leaves more room than its parts did."""
        before, spare = self._room, self._budget - self._count(self._render())
        self._room = max(before, sum(self._used.values()) + spare) if self._taken else before
        return self._room > before

    def finish(self) -> BudgetFill:
        """Render, and drop the last offers as long as the whole is too large."""
        # Token counts do not add up: only the rendered text shows whether the whole fits.
        text = self._render()
        while self._taken and self._count(text) > self._budget:
            last = self._taken.pop()
            self._dropped.append((last.tier, last.offer, "budget"))
            text = self._render()
        self._dropped += [(name, offer, "budget") for name in self._names for offer, _ in self._passed[name]]
        shown = sorted(self._taken, key=lambda item: (self._names.index(item.tier), item.offer.place))
        return BudgetFill(
            tuple(shown), tuple(self._dropped), text, self._count(text), self._allotted, self._used_tokens()
        )

    def _take(self, name: str, offer: Offer, cost: int, left: int, *, unused: bool) -> bool:
        """Take an offer that fits, and return whether it is settled: in, or known to repeat what is in."""
        if self._lines.get(offer.line, name) != name:
            self._dropped.append((name, offer, "copy"))
            return True
        heading = 0 if self._used[name] else self._count(f"{self._tiers[name].title}\n")
        if heading + cost > left:
            return False
        self._used[name] += heading + cost
        self._taken.append(ChosenOffer(name, offer, unused, cost))
        self._lines[offer.line] = name
        return True

    def _used_tokens(self) -> dict[str, int]:
        kept = {item.tier for item in self._taken}
        return {
            name: (self._count(f"{tier.title}\n") if name in kept else 0)
            + sum(item.tokens for item in self._taken if item.tier == name)
            for name, tier in self._tiers.items()
        }

    def _render(self) -> str:
        parts = [f"{OPEN}\n"]
        for name in self._names:
            mine = sorted((item.offer for item in self._taken if item.tier == name), key=lambda item: item.place)
            parts += [f"{self._tiers[name].title}\n" if mine else "", *map(_line, mine)]
        if any(QUOTED in part for part in parts):
            parts.insert(1, f"{NOTICE}\n")
        return "".join([*parts, CLOSE]) if self._taken else ""


def _line(offer: Offer) -> str:
    return f"- {offer.line}\n"


def one_line(kind: str, words: str) -> str:
    """Return an item's words on a single line that cannot pass for another line or a tag of ours."""
    return clean_line(f"[{kind}] {words}")


def title(name: str, of: str = "") -> str:
    """Return the line above a tier's items."""
    return clean_line(f"{name.capitalize()} {of}:" if of else f"{name.capitalize()}:")


# The project of tasks that name none.
DEFAULT_PROJECT = "default"


@dataclass(frozen=True, slots=True)
class Task:
    """A task, as the assembler needs it; any object with these attributes will do.

    metadata: ``project_id`` in it names the project; the default is ``default``.
    """

    task_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A request for a context; any object with ``budget_tokens`` will do.

    Attributes:
        budget_tokens: maximum tokens of the rendered text, titles and tags included.
        query: choose answers to it from project and global memory. None: what matters most there.
        shares: of the budget, such as ``{"task": 0.4, "project": 0.4, "global": 0.2}``. None: those of the profile.
        profile: the name of a profile of the assembler. None: the default shares.
        learned_shares: share the budget by what was of use before (``record_uses``), where ``shares`` and the profile's
            say nothing. None: as the profile or the assembler's ``memory_config`` says, else no.
        user: whose own memory takes part, too, as the project's does: what was stated or learned, no turns.
        agent: only what this agent's allowlist lets it read. None: everything.
        threshold: with a query, the minimum score, 0..1; None: the calibrated bar, 0: no bar.
        head_tail_preserve: so many of the task's first and of its last items precede its others. None: as the profile
            or the assembler's ``memory_config`` says.
        explain: with a query, name every omitted item of project and global memory, not only answers and the 20 nearest
            others in each. Without a query all are named anyway.
    """

    budget_tokens: int
    query: str | None = None
    shares: Mapping[str, float] | None = None
    profile: str | None = None
    agent: str | None = None
    threshold: float | None = None
    head_tail_preserve: int | None = None
    explain: bool = False
    user: str | None = None
    learned_shares: bool | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """How the context of a kind of agent is made. See :class:`ContextRequest`."""

    shares: Mapping[str, float] | None = None
    head_tail_preserve: int | None = None
    learned_shares: bool | None = None


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """The policy of an assembler. head_tail_preserve, learned_shares: see :class:`ContextRequest`."""

    head_tail_preserve: int | None = None
    learned_shares: bool | None = None


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """The configuration of an assembler."""

    context_policy: ContextPolicy | None = None


class IncludedItem(NamedTuple):
    """An item of a context, and why. tokens: the size of its line. score: 0..1 with a query, else None."""

    tier: str
    item: ContextItem
    reason: str
    tokens: int
    score: float | None


class LeftOut(NamedTuple):
    """An omitted item. gate: the name of what stopped it; ``reason`` says it in words."""

    tier: str
    item_id: str
    gate: str
    reason: str
    score: float | None


@dataclass(frozen=True)
class ContextPackage:
    """The context of a task.

    Attributes:
        context_package_id: ``ctx-<task id>``.
        items: in the order of the text: the task's by time, the others by what matters most.
        summary: always None; part of the contract's shape.
        compression_ratio: cost of the items over the cost of all candidates, 0..1; 0.0 for none.
        text: the items as they go into a prompt; empty for none. tokens: its size, never above ``budget_tokens``.
        included: why each item is in, in their order. omissions: see ``left_out``.
        allotted: the tokens of each tier's share. used: what each tier took.
        split: why the shares are so. build_id: of this context among all that were built for the task.
    """

    context_package_id: str
    items: tuple[ContextItem, ...]
    summary: str | None
    compression_ratio: float
    text: str
    tokens: int
    budget_tokens: int
    included: tuple[IncludedItem, ...]
    find_left_out: Callable[[], tuple[LeftOut, ...]] = field(repr=False, compare=False)
    allotted: Mapping[str, int]
    used: Mapping[str, int]
    split: str = ""
    build_id: str = field(default="", compare=False)

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Why each other item of the tiers is not in; with a query see :class:`ContextRequest`."""
        return self.find_left_out()

    def __getstate__(self) -> dict[str, Any]:
        # The search refers to every item that was looked at: a copy holds what came of it.
        return {**vars(self), "find_left_out": partial(tuple, self.left_out)}
