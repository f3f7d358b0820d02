"""Makes items of candidates and packs them into a token budget, for one or several questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import chain, islice, zip_longest
from operator import is_
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from memwarden.filters import Condition
from memwarden.recall.answer import render
from memwarden.recall.answer.render import CachedMemory, Template, render_changes_and_block
from memwarden.recall.answer.select import GATES, Candidate, Gates, Neighbour, Selection, normalize_text
from memwarden.recall.index.columns import StatementTable
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.view import find_following
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.features import leading
from memwarden.recall.rank.score import Ranking, explain_features
from memwarden.recall.time.changes import (
    MIN_ALIKE,
    MIN_ALIKE_OF_TABLE,
    Outdated,
    drop_last,
    fit_delta,
    put_newer_first,
    tell_outdated,
)
from memwarden.records import Channel, Cut, Delta, Memory, Namespace, RecallItem, Why
from memwarden.settings import CONTEXT_ITEM_SHARE, ITEM_THRESHOLD
from memwarden.statements.reader import load_weights
from memwarden.statements.statement import PackedStatement, show_statements
from memwarden.text.tokenizer import TokenCounter, content_terms

# What only fills, memories of ``context: all`` categories, takes at most this share of the budget.
ALWAYS_SHARE = 0.4

# So many times as long as at first a cut text becomes when the budget leaves room.
WIDENING_FACTORS = (2, 4, 8, 16)
# For fewer tokens, some words, no more of a text is tried.
MIN_WORTHWHILE_TOKENS = 20


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """An answer within its budget. ``tokens``: size of ``text``. ``dropped``: (item, gate) in order of trying.

    filling: ids of items that only fill what the others left. rests_on: memories of which an overview in it is made.
    """

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]
    filling: frozenset[str] = frozenset()
    rests_on: tuple[Memory, ...] = ()


def pack_items(
    always: Iterable[RecallItem],
    ranked: Iterable[RecallItem],
    *,
    most: int,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
    covering: Mapping[str, Collection[str]] = MappingProxyType({}),
    used: int = 0,
    fill: Iterable[RecallItem] = (),
) -> BudgetedAnswer:
    """Take items in order while the rendered text fits.

    ``always`` items come first, within 40 % of the budget and not counted in ``most``; then at most ``most`` of the
    ranked items, which are consumed only as far as needed. An item that does not fit is passed over and the
    next is tried. The size of the rendered text, titles and all, never exceeds the budget.

    fill: tried last, while something is in the answer, for at most 40 % of the budget.
    covering: for an item's id, the ids of items any of which makes it superfluous. used: tokens that the text takes
    without any item; the 40 % are of what is left.
    """
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    dropped: list[tuple[RecallItem, str]] = []
    taken: list[RecallItem] = []
    for item in always:
        _try_item(item, taken, dropped, share, render, count)
    first = len(taken)
    following = iter(ranked)
    wanted = list(islice(following, most))
    # Most answers fit as a whole; a text for each item that is tried takes a tenth of a hot query.
    text = "" if any(covering.get(item.id) for item in wanted) else render([*taken, *wanted])
    if text and (budget is None or count(text) <= budget):
        taken, wanted, following = [*taken, *wanted], [], iter(())
    else:
        text = ""
    for item in chain(wanted, following):
        if covering.get(item.id) and any(entry.id in covering[item.id] for entry in taken):
            dropped.append((item, "covered"))
        else:
            _try_item(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break
    text = text or render(taken)
    share = None if budget is None else min(budget, count(text) + int((budget - used) * ALWAYS_SHARE))
    there = {item.id for item in taken}
    for item in fill if taken else ():
        if item.id in there:
            continue
        _try_item(item, taken, dropped, share, render, count)
    text = text if len(taken) == len(there) else render(taken)
    filling = frozenset(item.id for item in taken if item.id not in there)
    return BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped), filling)


def widen_items(
    packed: BudgetedAnswer,
    wider: Callable[[RecallItem, int], RecallItem],
    *,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Widen cut texts as far as the budget goes; no item is dropped for it.

    wider: an item with so many times as much of its text; the item itself when there is no more of it to show. Every
    item is widened twofold before any is fourfold, so that a long text does not take what all could use. What an item
    adds is counted by itself, since a text of many long items takes long to render and count; the whole is at the end.
    """
    taken, tokens = list(packed.items), packed.tokens
    sizes: dict[int, int] = {}
    earlier: list[tuple[int, RecallItem]] = []
    growing = list(range(len(taken)))
    for times in WIDENING_FACTORS:
        for place in tuple(growing):
            if budget is not None and budget - tokens < MIN_WORTHWHILE_TOKENS:
                break
            longer = wider(taken[place], times)
            if longer is taken[place]:
                growing.remove(place)  # all of it is shown
                continue
            before = sizes[place] if place in sizes else count(render([taken[place]]))
            size = count(render([longer]))
            if budget is None or tokens + size - before <= budget:
                earlier.append((place, taken[place]))
                taken[place], sizes[place] = longer, size
                tokens += size - before
            else:
                growing.remove(place)  # there is no room for more
    return _shrink_to_fit(packed, taken, earlier, budget, render, count)


def rearrange_items(
    packed: BudgetedAnswer,
    items: Sequence[RecallItem],
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Return the same items in another order, or some of them."""
    if len(items) == len(packed.items) and all(map(is_, items, packed.items)):
        return packed
    text = render(items)
    return BudgetedAnswer(tuple(items), text, count(text), packed.dropped, packed.filling)


def _shrink_to_fit(
    packed: BudgetedAnswer,
    taken: list[RecallItem],
    earlier: list[tuple[int, RecallItem]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Undo the last widenings until the text fits the budget."""
    while earlier:
        text = render(taken)
        tokens = count(text)
        if budget is None or tokens <= budget:
            return BudgetedAnswer(tuple(taken), text, tokens, packed.dropped, packed.filling)
        place, item = earlier.pop()
        taken[place] = item
    return packed


def _try_item(
    item: RecallItem,
    taken: list[RecallItem],
    dropped: list[tuple[RecallItem, str]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> None:
    if budget is None or count(render([*taken, item])) <= budget:
        taken.append(item)
    else:
        dropped.append((item, "budget"))


# A fact stands for a turn that says at most so many words more than its facts; else both may be shown.
MAX_WORDS_BESIDE = 3


def list_telling_facts(selection: Selection, ids: Sequence[str], found: Found) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns to the ids of facts that tell all, or nearly all, that the turns say."""
    return {
        ids[item.place]: tuple(ids[fact] for fact in item.facts)
        for item in selection.ranked
        if item.facts and item.place in found and _words_beside(item, found) <= MAX_WORDS_BESIDE
    }


def _words_beside(turn: Candidate, found: Found) -> int:
    told = [content_terms(found[fact].memory.text) for fact in turn.facts if fact in found]
    return len(set(content_terms(found[turn.place].memory.text)).difference(*told))


def list_cuts(
    ids: Sequence[str],
    selection: Selection,
    packed: BudgetedAnswer,
    echoes: Sequence[int],
    gates: Gates,
    most: int | None,
) -> tuple[Cut, ...]:
    """List the omissions, near misses first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    named = {cut.id for cut in cuts} | {item.id for item in packed.items}
    others = [
        *((item, "top_k") for item in selection.ranked if ids[item.place] not in named),
        *((Candidate(place, 0.0), "echo") for place in echoes if most is not None and gates.readable[place]),
        *selection.left_out,
    ]
    cuts += [Cut(ids[item.place], gate, item.score, GATES[gate]) for item, gate in others[:most]]
    return tuple(cuts[:most])


def has_relevant(packed: BudgetedAnswer, ranking: Ranking, threshold: float) -> bool:
    """Return whether a shown memory bears on the question; a memory that is always offered counts by its score."""
    least = ITEM_THRESHOLD * CONTEXT_ITEM_SHARE
    return ranking.confidence >= threshold and any(item.score >= least for item in packed.items)


def arrange_found(asked: RankedQuery, shown: Sequence[RecallItem], of_table: bool) -> list[RecallItem]:
    """Return a question's items with what was said in its very words first, and the newer of like items above.

    of_table: whether the first vectors are means of a table.
    """
    arranged = list(shown) if asked.question.asks_past else _put_newer_first(asked, shown, of_table)
    leading = {asked.ctx.index.columns.ids[place]: number for number, place in enumerate(asked.ranking.leaders)}
    arranged.sort(key=lambda item: leading.get(item.id, len(leading)))
    wanted = normalize_text(asked.question.text)
    return sorted(arranged, key=lambda item: normalize_text(item.memory.text) != wanted)


def _put_newer_first(asked: RankedQuery, shown: Sequence[RecallItem], of_table: bool) -> list[RecallItem]:
    """Compare the items by the model that leads in the question's language."""
    index, side = asked.ctx.index, leading(asked.question, asked.ctx.index.view)
    if side is None or not shown:
        return list(shown)
    places = [-1 if (place := index.place(item.id)) is None else place for item in shown]
    vectors = side.vectors[index.view.passages.first[places]]
    vectors[np.less(places, 0)] = 0
    alike = MIN_ALIKE_OF_TABLE if of_table and side.name == "first" else MIN_ALIKE
    return put_newer_first(shown, vectors, alike, index.view.alive_count, asked.ranking.moment)


def append_related(
    packed: BudgetedAnswer, related: Sequence[RecallItem], budget: int | None, count: TokenCounter
) -> tuple[BudgetedAnswer, list[RecallItem]]:
    """Add related memories to an answer's text as long as it fits the budget; return it and those that are in."""
    shown: list[RecallItem] = []
    for item in related:
        text = f"{packed.text}\n{render.render_related_bullet(item)}"
        tokens = count(text)
        if budget is None or tokens <= budget:
            packed = replace(packed, text=text, tokens=tokens)
            shown.append(item)
    return packed, shown


# The candidates' memories by place.
Found = Mapping[int, CachedMemory]

# Makes the text of an item.
Shown = Callable[[Question, CachedMemory], str]


def make_item(
    question: Question,
    ranking: Ranking,
    statements: StatementTable,
    shown: Shown,
    found: Found,
    candidate: Candidate,
) -> RecallItem:
    """Return the item of a candidate."""
    held = found[candidate.place]
    memory = held.memory
    return RecallItem(
        id=memory.id,
        text=shown(question, held),
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=candidate.score,
        sources=memory.sources,
        created_at=memory.created_at,
        explain=partial(
            _why,
            question.wording,
            ranking,
            ranking.values(candidate.place),
            _note(candidate),
            memory,
            partial(statements.stated, candidate.place),
        ),
        memory=memory,
    )


def _note(candidate: Candidate) -> str:
    if candidate.always:
        return "always offered where something answers: its category has context 'all'"
    return f"related to {candidate.beside}" if candidate.beside else ""


def _why(
    wording: QuestionWords,
    ranking: Ranking,
    values: Sequence[float],
    note: str,
    memory: Memory,
    stated: Callable[[], Sequence[PackedStatement]],
) -> Why:
    packed = stated()
    return Why(
        words=wording.matched(memory.text),
        features=explain_features(ranking.weights, values),
        note=note,
        statements=show_statements(memory, packed, load_weights().name) if packed else (),
    )


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The index and the moment in which a question is asked.

    Attributes:
        index: what is known there. now: when that is.
        read: reads the memories of ids, as they are there; those that are gone are left out.
        hidden: places that whoever asks may not read now, whatever their category was then.
        follows: whether the index follows the store, so that what is gone from either is gone from both. An index
            of the past does not: its memories are read each time.
    """

    index: NamespaceIndex
    now: datetime
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]]
    hidden: Sequence[int]
    follows: bool


class RankedQuery(NamedTuple):
    """A question with its context, ranking, gates and echoes (places that only repeat the prompt)."""

    ctx: QueryContext
    question: Question
    ranking: Ranking
    gates: Gates
    echoes: Sequence[int]


class QuestionSearch(NamedTuple):
    """A ranked question with its candidates. related: the neighbours of these by id. found: their memories."""

    asked: RankedQuery
    selection: Selection
    related: Mapping[str, Sequence[Neighbour]]
    found: Found


class OwnedCandidate(NamedTuple):
    """A candidate with the number of the search that found it: of the question that it answers best."""

    question: int
    candidate: Candidate


async def find_prompt_echoes(
    ctx: QueryContext, said: Sequence[str], words: Sequence[Sequence[int]], thread: str | None
) -> list[int]:
    """Return the places that only repeat the prompt: turns, and facts made of the thread's own turns.

    What the model said in the thread to an earlier message of the prompt stands there too: an application may put
    the parts of an answer together, or leave out what was said before a tool was called.

    words: the term ids of each text that was said.
    """
    index = ctx.index
    found = [
        (place, normalize_text(text)) for text, ids in zip(said, words, strict=True) for place in index.same_words(ids)
    ]
    if not found:
        return []
    ids = index.columns.ids
    stored = await ctx.read(list(dict.fromkeys(ids[place] for place, _ in found)))
    texts = {memory.id: normalize_text(memory.text) for memory in stored}
    echoes = [(place, text) for place, text in dict.fromkeys(found) if texts.get(ids[place]) == text]
    earlier = {normalize_text(text) for text in said[:-1]}
    asked = [place for place, text in echoes if text in earlier]
    answers: list[int] = []
    if asked:
        of_model = index.mask((Condition("thread_id", "$eq", thread), Condition("role", "$eq", "assistant")))
        answers = find_following(index.view.previous, of_model & index.view.turns, asked)
    own = index.mask((Condition("thread_id", "$eq", thread),)) & index.view.turns
    facts = [fact for place, _ in echoes if own[place] for fact in index.facts_on(place)]
    return [*(place for place, _ in echoes), *answers, *facts]


def choose_searched(asked: Sequence[RankedQuery], bar: float) -> RankedQuery:
    """Return the search that answers: that of the message alone where it reaches the bar, else the surest."""
    alone = asked[0]
    return alone if alone.ranking.confidence >= bar else max(asked, key=lambda item: item.ranking.confidence)


def interleave_questions(
    searches: Sequence[QuestionSearch], lists: Sequence[Sequence[Candidate]]
) -> dict[str, OwnedCandidate]:
    """Return, by id, the best candidate of each question, then the second of each, and so on.

    A memory that several questions found stands once, as the candidate of the question that it answers best.
    """
    by_question: dict[str, list[list[OwnedCandidate]]] = {}
    for number, candidates in enumerate(lists):
        owned = [OwnedCandidate(number, item) for item in candidates]
        by_question.setdefault(searches[number].asked.question.text, []).append(owned)
    best: dict[str, OwnedCandidate] = {}
    for row in zip_longest(*map(merge_places, by_question.values())):
        for item in row:
            if item is None:
                continue
            memory_id = searches[item.question].asked.ctx.index.columns.ids[item.candidate.place]
            known = best.get(memory_id)
            if known is None or item.candidate.score > known.candidate.score:
                best[memory_id] = item
    return best


def merge_places(lists: Sequence[Sequence[OwnedCandidate]]) -> list[OwnedCandidate]:
    """Merge what the same question found in several namespaces, the better first; each list keeps its order."""
    return list(lists[0] if len(lists) == 1 else merge(*lists, key=lambda item: -item.candidate.score))


def drop_copies(searches: Sequence[QuestionSearch]) -> None:
    """Leave out of later namespaces what an earlier namespace says in the same words, such as a promoted copy."""
    told: dict[str, Namespace] = {}
    for search in searches:
        selection, found = search.selection, search.found
        known = {item.place: found[item.place].memory for item in (*selection.ranked, *selection.always)}
        copies = {place: "echo" for place, memory in known.items() if _is_told_elsewhere(memory, told)}
        selection.fold(copies, {})
        selection.always = [item for item in selection.always if item.place not in copies]


def _is_told_elsewhere(memory: Memory, told: dict[str, Namespace]) -> bool:
    at = memory.namespace
    return memory.channel != Channel.TURN and told.setdefault(normalize_text(memory.text), at) != at


def make_found_item(full: bool, search: QuestionSearch, candidate: Candidate, found: Found | None = None) -> RecallItem:
    """Return the item of a candidate of a search. found: where its memory is, if not among the search's own."""
    asked = search.asked
    shown = render.show_whole if full else render.show_excerpt
    memories = search.found if found is None else found
    return make_item(asked.question, asked.ranking, asked.ctx.index.statements, shown, memories, candidate)


def make_block_items(searches: Sequence[QuestionSearch]) -> tuple[list[RecallItem], list[RecallItem]]:
    """Return a block's items of all namespaces, the better first, and those that only fill what is left."""

    def make(owned: OwnedCandidate) -> RecallItem:
        asked, _, _, found = searches[owned.question]
        return make_item(
            asked.question, asked.ranking, asked.ctx.index.statements, render.plain_excerpt, found, owned.candidate
        )

    def merged(lists: Iterable[Sequence[Candidate]]) -> list[RecallItem]:
        owned = [[OwnedCandidate(number, item) for item in some] for number, some in enumerate(lists)]
        return list(map(make, merge_places(owned)))

    return merged(search.selection.ranked for search in searches), merged(
        search.selection.always for search in searches
    )


def list_leading(searches: Sequence[QuestionSearch]) -> list[str]:
    """Return the ids of what surely tells the value that is asked for, the wanted value first."""
    rankings = ((search.asked.ctx.index.columns.ids, search.asked.ranking.leaders) for search in searches)
    return [ids[place] for ids, leaders in rankings for place in leaders]


def join_widening(searches: Sequence[QuestionSearch]) -> Callable[[RecallItem, int], RecallItem]:
    """Return what makes an item of a block longer."""
    held = {
        search.found[item.place].memory.id: (search.asked.question, search.found[item.place])
        for search in searches
        for item in search.selection.ranked
    }
    return partial(render.widen_item, held)


def join_telling_facts(searches: Sequence[QuestionSearch]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns to the ids of facts that tell what they say, in all namespaces."""
    telling: dict[str, tuple[str, ...]] = {}
    for search in searches:
        telling |= list_telling_facts(search.selection, search.asked.ctx.index.columns.ids, search.found)
    return telling


def arrange_by_question(
    shown: Sequence[RecallItem],
    owners: Mapping[str, OwnedCandidate],
    arrange: Callable[[int, Sequence[RecallItem]], Sequence[RecallItem]],
) -> list[RecallItem]:
    """Return items in which those of each question are arranged among their own places.

    owners: the candidate of each item, by id; others stay. arrange: the items of a question in another order.
    """
    arranged = list(shown)
    asked = [owners[item.id].question if item.id in owners else None for item in shown]
    for question in dict.fromkeys(number for number in asked if number is not None):
        places = [place for place, number in enumerate(asked) if number == question]
        ordered = arrange(question, [shown[place] for place in places])
        for place, item in zip(places, ordered, strict=True):
            arranged[place] = item
    return arranged


def arrange_wanted(
    packed: BudgetedAnswer,
    owners: Mapping[str, OwnedCandidate],
    arrange: Callable[[int, Sequence[RecallItem]], Sequence[RecallItem]],
    most: int,
) -> list[RecallItem]:
    """Return what is wanted of an answer, arranged by question; what only fills stays where it is."""
    wanted = {key: item for key, item in owners.items() if key not in packed.filling}
    arranged = arrange_by_question(packed.items, wanted, arrange)
    best = next((item.id for item in packed.items if item.id not in packed.filling), None)
    return drop_last(arranged, best, packed.filling, most)


def answers_any(searches: Sequence[QuestionSearch], packed: BudgetedAnswer, bar: float) -> bool:
    """Whether the answer holds something relevant to any of the questions."""
    return any(has_relevant(packed, search.asked.ranking, bar) for search in searches)


def join_cuts(
    searches: Sequence[QuestionSearch], packed: BudgetedAnswer, left: Collection[str], most: int | None
) -> tuple[Cut, ...]:
    """Return what no question let in, each memory once, by the question to which it is nearest.

    left: ids that stand in the answer beside its items.
    """
    lists = [
        list_cuts(
            search.asked.ctx.index.columns.ids,
            search.selection,
            packed,
            search.asked.echoes,
            search.asked.gates,
            most,
        )
        for search in searches
    ]
    shown = {*left, *(item.id for item in packed.items)}
    nearest: dict[str, Cut] = {}
    for row in zip_longest(*lists):
        for cut in row:
            if cut is None or cut.id in shown:
                continue
            known = nearest.get(cut.id)
            nearest[cut.id] = cut if known is None or cut.score > known.score else known
    return tuple(nearest.values())[:most]


def tell_words_once(
    outdated: Outdated, told: Delta, packed: BudgetedAnswer, now: datetime, template: Template, count: TokenCounter
) -> tuple[Delta, BudgetedAnswer]:
    """Leave out of the changes the words that stand in the block."""
    below = [item.id for item in packed.items]
    short = tell_outdated(outdated.since, told.rev, outdated.changes, now, below)
    told = fit_delta(short, count(told.text), count) or told
    text = render_changes_and_block(told.text, now, template, packed.items)
    return told, replace(packed, text=text, tokens=count(text))
