"""Selects the memories of an answer by gates; the request, its masks and its conditions."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from memwarden.categories import OWN_RECORDS, Category
from memwarden.filters import UNSET_OR_AFTER, Condition, Where, is_inside, matches
from memwarden.recall.answer import render as block
from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.time.past import AsOf
from memwarden.records import (
    STANDING_IN,
    Channel,
    Memory,
    Namespace,
    RecallItem,
    RelationType,
    Trust,
)
from memwarden.settings import DEFAULT_THRESHOLD, WHOLE_BUDGET_EVIDENCE
from memwarden.text.tokenizer import (
    DENIAL,
    UNANSWERING,
    Flag,
    asks_for_questions,
    asks_question,
    content_terms,
    is_chatter,
)

# Every gate that can leave a memory out, in the order in which they stand, and what it means.
GATES: Mapping[str, str] = {
    "category": "its category is not among those searched",
    "filter": "a filter leaves it out",
    "validity": "it is no longer true: a newer fact took its place",
    "card": "an index card of an exchange whose turns answer by themselves; a filter by channel asks for cards",
    "procedural": "steps of how something is done: in an answer when the category procedural is asked for by its name",
    "state": "a value saved by key, which is loaded when a goal needs it; a filter by channel asks for it",
    "chatter": "greeting, thanks, small talk or a question alone: kept in the log, never recalled",
    "relevance": "nothing in this memory answers the question: the best candidates are below the bar",
    "threshold": "its score is below the threshold",
    "echo": "it repeats the question, what the prompt holds already, or a better memory in the answer",
    "covered": "a remembered fact that rests on this turn is in the answer",
    "ended": "what was remembered of this turn is forgotten or no longer true",
    "rag_length": "its category's rag_length is used up by better memories",
    "top_k": "enough better memories are in the answer",
    "budget": "it does not fit into what is left of the token budget",
}


# Places examined beyond the wanted number, so that near misses can be named.
MAX_NEARLY_IN = 20
# Scores are looked through in blocks of this many, to find the best few without sorting all.
BLOCK = 64


@dataclass(frozen=True)
class Gates:
    """Masks over the index's places; a place passes when it is in all of them.

    Attributes:
        readable: what the agent may read at all; others are not even named among what was left out.
        category: the categories that are asked for. filter: what fulfils the filters.
        worthy: what is neither small talk nor only a question. fresh: what does not only repeat the prompt.
        valid: what is not over; None when nothing in the namespace ever ends.
        own: what stands for itself: no index card and no quotation, unless a filter asks for its channel. None when
            there are none.
        steps: what holds no steps of how something is done, unless these are asked for. None when there are none.
        state: what is no value saved by key, unless a filter asks for its channel. None when there are none.
    """

    readable: Mask
    category: Mask
    filter: Mask
    worthy: Mask
    fresh: Mask
    valid: Mask | None = None
    own: Mask | None = None
    steps: Mask | None = None
    state: Mask | None = None

    @cached_property
    def open(self) -> Mask:
        """The places that pass all of them."""
        passing = self.readable & self.category & self.filter & self.worthy & self.fresh
        for mask in (self.valid, self.own, self.steps, self.state):
            if mask is not None:
                passing = passing & mask
        return passing


class Candidate(NamedTuple):
    """A place considered for the answer.

    Attributes:
        always: it is there by its category, whatever was asked.
        beside: for a related memory, the id of the item that it is related to.
        facts: for a turn, the candidates that rest on it; when any of them is in the answer, the turn is covered.
    """

    place: int
    score: float
    always: bool = False
    facts: tuple[int, ...] = ()
    beside: str | None = None


@dataclass(slots=True)
class Selection:
    """The candidates of an answer, and the memories left out with their gates.

    Attributes:
        always: memories of ``context: all`` categories, which fill what is left, in the order of trying.
        ranked: what bears on the question, best first, whatever its category.
    """

    always: list[Candidate]
    ranked: list[Candidate]
    left_out: list[tuple[Candidate, str]]

    def keep(self, places: Container[int]) -> None:
        """Drop the candidates at other places."""
        self.always = [alway for alway in self.always if alway.place in places]
        self.ranked = [item for item in self.ranked if item.place in places]

    def fold(self, dropped: Mapping[int, str], best: Mapping[int, float]) -> None:
        """Leave out the ranked places that are dropped, by their gate, and raise others to a score."""
        self.left_out += [(item, dropped[item.place]) for item in self.ranked if item.place in dropped]
        kept = [item for item in self.ranked if item.place not in dropped]
        raised = [item._replace(score=max(item.score, best.get(item.place, 0.0))) for item in kept]
        self.ranked = sorted(raised, key=lambda item: -item.score) if best else kept

    def reorder(self, judged: Sequence[float]) -> None:
        """Reorder the ranked candidates by numbers, higher first; the n-th best keeps the n-th best score.

        Raises ValueError unless there is a finite number for each.
        """
        if len(judged) != len(self.ranked) or not all(map(math.isfinite, judged)):
            raise ValueError(f"expected {len(self.ranked)} finite numbers")
        order = sorted(range(len(judged)), key=lambda number: (-judged[number], number))
        scores = sorted((item.score for item in self.ranked), reverse=True)
        self.ranked = [self.ranked[number]._replace(score=score) for number, score in zip(order, scores, strict=True)]


def select_candidates(
    index: NamespaceIndex,
    scores: Floats,
    gates: Gates,
    *,
    relevant: bool,
    threshold: float,
    declared: Mapping[str, Category],
    limit: int,
    everything: bool = False,
) -> Selection:
    """Choose the candidates for an answer.

    Args:
        scores: calibrated 0..1 a place.
        relevant: whether the namespace answers the question at all.
        limit: the most candidates wanted.
        everything: name the gate of every live place, not only of the nearest.
    """
    categories = index.columns.coded["category"]
    category_at = [declared.get(name) for name in categories.values]
    is_always = np.array([category is not None and category.always for category in category_at], np.bool_)
    always = gates.open & is_always[categories.codes] if is_always.any() else np.zeros_like(gates.open)
    passing = gates.open
    most = index.size if everything else 2 * limit + MAX_NEARLY_IN
    ranked = _rank_places(index, scores, passing, most)
    # Asked of every candidate only where something has ended or was forgotten, which in most namespaces nothing has.
    may_end = index.has_forgotten or (gates.valid is not None and index.has_facts)
    is_ended = partial(rests_on_ended, index, gates.valid, gates.own) if may_end else _is_never_ended
    kept, left_out = _walk(index, ranked, passing, scores, category_at, relevant, threshold, limit, is_ended)
    capped = any(gate == "rag_length" for _, gate in left_out)
    if capped and len(kept) < limit and most < int(np.count_nonzero(passing)):
        # A category that is used up filled the list; the others stand further down.
        every = _rank_places(index, scores, passing, index.size)
        kept, left_out = _walk(index, every, passing, scores, category_at, relevant, threshold, limit, is_ended)
    if everything:
        left_out.extend(_list_shut_out(index, scores, gates))
    # The others of such categories fill what is left, where something answers: an unrelated question gets nothing.
    fill = _list_always(index, scores, always) if kept else []
    filling = {item.place for item in fill}
    return Selection(fill, kept, [cut for cut in left_out if cut[0].place not in filling])


def _walk(
    index: NamespaceIndex,
    ranked: list[Candidate],
    passing: Mask,
    scores: Floats,
    category_at: list[Category | None],
    relevant: bool,
    threshold: float,
    limit: int,
    is_ended: Callable[[int], bool],
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Take candidates best first, and name the gate of each that is not taken."""
    codes = index.columns.coded["category"].codes
    kept: list[Candidate] = []
    left_out: list[tuple[Candidate, str]] = []
    taken: dict[int, int] = {}
    wanted = 0
    for candidate in _facts_before_turns(index, ranked, passing, scores):
        code = int(codes[candidate.place])
        category = category_at[code]
        gate = (
            "ended" if is_ended(candidate.place)
            else "relevance" if not relevant
            else "threshold" if candidate.score < threshold
            else "rag_length" if category and category.rag_length and taken.get(code, 0) >= category.rag_length
            else "top_k" if wanted >= limit
            else None
        )  # fmt: skip
        if gate is not None:
            left_out.append((candidate, gate))
            continue
        places = {item.place for item in kept} if candidate.facts else set()
        facts = tuple(fact for fact in candidate.facts if fact in places)
        kept.append(candidate._replace(facts=facts) if facts != candidate.facts else candidate)
        taken[code] = taken.get(code, 0) + (not facts)
        wanted += not facts
    return kept, left_out


def _is_never_ended(_place: int) -> bool:
    return False


def rests_on_ended(index: NamespaceIndex, valid: Mask | None, own: Mask | None, place: int) -> bool:
    """Whether a turn says only what is over: everything that was made of it has ended or was forgotten.

    So a fact that was superseded or forgotten goes on covering the turns that it rests on: "I live in Berlin." must not
    lead an answer again because the fact of it was closed. Index cards stand for turns and say nothing of their own.
    """
    if not index.view.turns[place]:
        return False
    forgotten = index.rests_under_forgotten(place)
    if not forgotten and (valid is None or not index.has_facts):
        return False
    facts = [fact for fact in index.facts_on(place) if own is None or own[fact]]
    return (bool(facts) or forgotten) and not any(valid is None or valid[fact] for fact in facts)


def _rank_places(index: NamespaceIndex, scores: Floats, passing: Mask, most: int) -> list[Candidate]:
    """Return the best passing places, best first; ties in the order of writing."""
    places = np.flatnonzero(passing)
    if len(places) > BLOCK * most:
        places = places[scores[places] >= _score_floor(scores[places], most)]
    places = places[np.lexsort((index.order[places], -scores[places]))][:most]
    return list(map(Candidate, places.tolist(), scores[places].tolist()))


def _score_floor(scores: Floats, most: int) -> float:
    """Return a score that at least ``most`` places reach, and few more: the best of as many blocks do."""
    best = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    return float(np.partition(best, len(best) - most)[len(best) - most])


def _facts_before_turns(
    index: NamespaceIndex, ranked: list[Candidate], passing: Mask, scores: Floats
) -> list[Candidate]:
    """Move each fact to the best rank of its own and its turns', and list each turn's facts."""
    if not index.has_facts:
        return ranked
    turns = index.view.turns  # of two facts on the same turn neither rests on the other
    on = {
        item.place: tuple(fact for fact in index.facts_on(item.place) if passing[fact]) if turns[item.place] else ()
        for item in ranked
    }
    if not any(on.values()):
        return ranked
    best = {item.place: item.score for item in ranked}
    for item in ranked:
        for fact in on[item.place]:
            best[fact] = max(best.get(fact, float(scores[fact])), item.score)
    merged = [Candidate(place, score, facts=on.get(place, ())) for place, score in best.items()]
    return sorted(merged, key=lambda item: (-item.score, bool(item.facts), index.order[item.place]))


def _list_always(index: NamespaceIndex, scores: Floats, always: Mask) -> list[Candidate]:
    """Memories of ``context: all`` categories: pinned first, then the best for the question, then the newest."""
    places = np.flatnonzero(always)
    if not len(places):
        return []
    pinned, importance = index.columns.number("pinned")[places], index.columns.number("importance")[places]
    order = np.lexsort((-index.order[places], -importance, -scores[places], ~pinned))
    return [Candidate(int(place), float(scores[place]), always=True) for place in places[order]]


def _list_shut_out(index: NamespaceIndex, scores: Floats, gates: Gates) -> list[tuple[Candidate, str]]:
    """Every readable live place that a mask keeps out, with the first mask that does."""
    named = (
        ("category", gates.category),
        ("filter", gates.filter),
        ("validity", gates.valid),
        ("card", gates.own),
        ("procedural", gates.steps),
        ("state", gates.state),
        ("chatter", gates.worthy),
        ("echo", gates.fresh),
    )
    out: list[tuple[Candidate, str]] = []
    left = index.live & gates.readable
    for gate, mask in named:
        if mask is None:
            continue
        out.extend((Candidate(int(place), float(scores[place])), gate) for place in np.flatnonzero(left & ~mask))
        left &= mask
    return out


# Messages before a message that leans on them, searched with it.
MAX_RECENT_MESSAGES = 3


# A message with fewer words that say something leans on the talk before it: "and in May?", "why?".
MIN_OWN_TERMS = 3


# Leaves out what nobody vouches for.
OF_KNOWN_TRUST = (Condition("trust", "$ne", str(Trust.EXTERNAL)),)

# How a person wants to be spoken to is of the same channel, and of another category.
_SAVED_STATE = (Condition("category", "$eq", "state"),)


@dataclass(frozen=True, slots=True)
class Request:
    """A checked query. categories: what may be searched, None for everything. See :meth:`AsyncScope.query`.

    as_of: a revision, a time (aware, UTC), or None for now. since_rev: tell what changed since; None: since the thread
    looked last. steps: whether the category ``procedural`` was asked for by its name. news: False tells no
    changes. more: further questions under the same budget. most, template, overview: of a context block, how many
    memories at most, in which words, and how many tokens of an overview go in. beside: further namespaces that are
    searched.
    """

    query: str
    categories: tuple[str, ...] | None
    where: Where
    top_k: int
    threshold: float | None
    budget_tokens: int | None
    full: bool
    explain: bool
    as_of: AsOf | None = None
    since_rev: int | None = None
    steps: bool = False
    news: bool = True
    more: tuple[str, ...] = ()
    most: int = block.MAX_IN_CONTEXT
    template: block.Template = block.LEAN_TEMPLATE
    overview: int = 0
    beside: tuple[Namespace, ...] = ()

    @property
    def questions(self) -> tuple[str, ...]:
        """All questions, in the order given."""
        return (self.query, *self.more)


def leaves_choice(request: Request) -> bool:
    """Whether memories may share a place: whoever filters, wants whole texts, sets a bar or a time, gets each alone."""
    filtered = any(condition not in OF_KNOWN_TRUST for condition in request.where) or request.categories
    return not (filtered or request.full or request.more or request.as_of is not None or request.threshold is not None)


def normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()


# So much of what an assistant says stands in a person's words when it only repeats them.
REPEATED = 0.75


def count_repeated(terms: frozenset[str], words: frozenset[str]) -> int:
    """Count the terms that stand among the words; a denial of what is told there repeats nothing."""
    return 0 if DENIAL in terms - words else len(terms & words)


def fold_repeats(selection: Selection, found: Mapping[int, block.CachedMemory]) -> None:
    """Leave out acknowledgements and what repeats another candidate: one line, a person's before an assistant's."""
    told = [item for item in selection.ranked if not found[item.place].is_of_assistant]
    best: dict[int, float] = {}
    dropped: dict[int, str] = {}
    first: dict[tuple[str | None, str], int] = {}
    for item in selection.ranked:
        held = found[item.place]
        if held.memory.channel != Channel.TURN:
            continue
        if first.setdefault((held.memory.role, held.repeatable), item.place) != item.place:
            dropped[item.place] = "echo"
        elif held.is_of_assistant and held.own_terms is not None:
            shares = [(count_repeated(held.own_terms, found[other.place].words), other.place) for other in told]
            most, original = max(shares, default=(0, -1), key=lambda share: share[0])
            if not held.own_terms:
                dropped[item.place] = "chatter"
            elif most >= REPEATED * len(held.own_terms):
                dropped[item.place] = "echo"
                best[original] = max(best.get(original, 0.0), item.score)
    selection.fold(dropped, best)


def classic_order(item: RecallItem, now: datetime) -> float:
    """Return the sort key of a numbered block: importance x recency x relevance."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return float(item.memory.importance * recency * item.score)


def bar_of(request: Request) -> float:
    return DEFAULT_THRESHOLD if request.threshold is None else request.threshold


def list_searched(said: Sequence[str]) -> list[str]:
    """List the texts to search for: the message, and with the talk before it where it leans on that.

    A message that says what it is about is searched alone: after a change of subject the talk before would answer.
    """
    # "Thanks!" asks for nothing; "yes, please" leans on what was asked before.
    closes = len(said) > 1 and is_chatter(said[-1]) and not asks_question(said[-2])
    if len(said) > 1 and not closes and len(set(content_terms(said[-1]))) < MIN_OWN_TERMS:
        return list(dict.fromkeys((said[-1], "\n".join(said[-1 - MAX_RECENT_MESSAGES :]))))
    return [said[-1]]


def block_budget(evidence: float, request: Request) -> int | None:
    """Return the tokens of a block: half of the budget where it is doubtful that the block holds the answer."""
    if request.budget_tokens is None or request.threshold is not None or evidence >= WHOLE_BUDGET_EVIDENCE:
        return request.budget_tokens
    return request.budget_tokens // 2


def mask_without_cards(index: NamespaceIndex, where: Where) -> Mask | None:
    asked = any(condition.field == "channel" for condition in where)
    standing_in = None if asked else index.extracted(*STANDING_IN)
    return None if standing_in is None else ~standing_in


# What memwarden wrote down for itself is no answer, also where no agent narrows what may be read.
NO_OWN_RECORD = Condition("category", "$ne", OWN_RECORDS)


def default_conditions(request: Request, by_channel: bool, now: datetime | None) -> Where:
    """Return the default exclusions as conditions: procedures, saved values, expired facts.

    by_channel: whether a filter asks for a channel. now: None for questions about the past.
    """
    steps = () if request.steps else (Condition("channel", "$ne", str(Channel.PROCEDURAL)),)
    saved = () if by_channel else (Condition("channel", "$ne", str(Channel.STATE)),)
    valid = () if now is None else (Condition("valid_to", UNSET_OR_AFTER, now),)
    return (*steps, *saved, NO_OWN_RECORD, *valid)


def mask_without_steps(index: NamespaceIndex, request: Request) -> Mask | None:
    """Return a mask without procedures, unless their category is asked for by its name."""
    steps = None if request.steps else index.of_channel(Channel.PROCEDURAL)
    return None if steps is None else ~steps


def mask_without_state(index: NamespaceIndex, where: Where) -> Mask | None:
    """Return a mask without values saved by key, unless a filter asks for a channel."""
    asked = any(condition.field == "channel" for condition in where)
    saved = None if asked else index.of_channel(Channel.STATE)
    return None if saved is None else ~(saved & index.columns.mask(_SAVED_STATE))


def in_categories(names: tuple[str, ...] | None) -> Where:
    return () if names is None else (Condition("category", "$in", names),)


def unanswering_flags(request: Request) -> int:
    """Return the flags of texts that are no answers; whoever asks what was asked wants questions too."""
    return int(Flag.CHATTER if any(map(asks_for_questions, request.questions)) else UNANSWERING)


def open_gates(
    index: NamespaceIndex,
    request: Request,
    readable: tuple[str, ...] | None,
    hidden: Sequence[int],
    echoes: Sequence[int],
    now: datetime | None,
) -> Gates:
    """Return the gates of a question. hidden: places that nobody may read; echoes: those that repeat the prompt.

    now: None for a question about the past, which what is over answers.
    """
    allowed = index.mask(in_categories(readable))
    allowed[list(hidden)] = False
    categories = index.columns.coded["category"]
    if OWN_RECORDS in categories.values:
        allowed &= categories.codes != categories.code(OWN_RECORDS)
    fresh = index.live.copy()
    fresh[list(echoes)] = False
    return Gates(
        readable=allowed,
        category=index.mask(in_categories(request.categories)),
        filter=index.mask(request.where),
        worthy=index.live & ((index.flags & unanswering_flags(request)) == 0),
        fresh=fresh,
        valid=None if now is None else index.valid(now),
        own=mask_without_cards(index, request.where),
        steps=mask_without_steps(index, request),
        state=mask_without_state(index, request.where),
    )


class PendingSignals(Protocol):
    """Signals that are made after their rows were stored."""

    async def wait_for_recent(self, namespace: Namespace) -> bool:
        """Wait a while for those of what was said just before; return whether any were awaited."""


async def resolve_metadata(
    index: NamespaceIndex,
    where: Where,
    find_ids: Callable[[Where], Awaitable[list[str]]] | None,
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]],
) -> Where:
    """Return the conditions with ids in place of those on metadata, which no index holds.

    find_ids: asks the store, where the index follows it; None reads the memories themselves.
    """
    inside = tuple(condition for condition in where if is_inside(condition))
    if not inside:
        return where
    others = tuple(condition for condition in where if not is_inside(condition))
    if find_ids is not None:
        ids = await find_ids(inside)
    else:
        there = await read([index.columns.ids[place] for place in np.flatnonzero(index.mask(others))])
        ids = [memory.id for memory in there if matches(inside, memory)]
    return (*others, Condition("id", "$in", frozenset(ids)))


# Related bullets in an answer.
MAX_RELATED = 2


class Neighbour(NamedTuple):
    """The memory at the end of a relation. facts: for a turn, ids of the memories that stand in for it."""

    strength: float
    place: int
    id: str
    category: str
    facts: tuple[str, ...]


def find_neighbours(index: NamespaceIndex, gates: Gates, candidates: Iterable[Candidate]) -> dict[str, list[Neighbour]]:
    """Return, by candidate id, the related memories that may be in an answer."""
    ids, open_ = index.columns.ids, gates.open
    category = index.columns.coded["category"]
    found: dict[str, list[Neighbour]] = {}
    for candidate in candidates:
        for (other, kind), strength in index.edges.of(ids[candidate.place]).items():
            place = index.place(other)
            if kind == RelationType.RELATED_TO and place is not None and open_[place]:
                facts = tuple(ids[fact] for fact in index.facts_on(place))
                named = str(category.values[category.codes[place]])
                found.setdefault(ids[candidate.place], []).append(Neighbour(strength, place, other, named, facts))
    return found


def choose_neighbours(
    known: Mapping[str, Sequence[Neighbour]], items: Sequence[RecallItem | Memory], declared: Mapping[str, Category]
) -> list[tuple[Neighbour, str]]:
    """Return at most two neighbours of an answer's items, the strongest first, each with the item's id.

    Left out are memories in the answer, and those whose category's ``rag_length`` is used up there.
    """
    there = {item.id for item in items}
    held = [item.category for item in items]
    pairs = [(entry, item.id) for item in items for entry in known.get(item.id, ())]
    taken: dict[str, tuple[Neighbour, str]] = {}
    for entry, beside in sorted(pairs, key=lambda pair: -pair[0].strength):
        category = declared.get(entry.category)
        full = category and category.rag_length and held.count(entry.category) >= category.rag_length
        if (
            len(taken) < MAX_RELATED
            and entry.id not in {*there, *taken}
            and not there.intersection(entry.facts)
            and not full
        ):
            taken[entry.id] = entry, beside
            held.append(entry.category)
    return list(taken.values())
