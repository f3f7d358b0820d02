"""The searches of an answer's questions, and how they are joined into one answer under one budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

from memwarden.filters import Condition
from memwarden.recall.answer import budget
from memwarden.recall.answer.budget import (
    BudgetedAnswer,
    Found,
    Neighbour,
    has_relevant,
    list_covering_facts,
    list_cuts,
)
from memwarden.recall.answer.render import Template, render_changes_and_block
from memwarden.recall.answer.select import Candidate, Gates, Selection, normalize_text
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.view import find_following
from memwarden.recall.question import Question
from memwarden.recall.rank.score import Ranking
from memwarden.recall.time.changes import Outdated, fit_delta, tell_outdated
from memwarden.records import Cut, Delta, Memory, RecallItem
from memwarden.tokens import TokenCounter


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
    """A candidate with the number of the question that it answers best."""

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
    best: dict[str, OwnedCandidate] = {}
    for row in zip_longest(*lists):
        for question, candidate in enumerate(row):
            if candidate is None:
                continue
            memory_id = searches[question].asked.ctx.index.columns.ids[candidate.place]
            known = best.get(memory_id)
            if known is None or candidate.score > known.candidate.score:
                best[memory_id] = OwnedCandidate(question, candidate)
    return best


def make_found_item(full: bool, search: QuestionSearch, candidate: Candidate, found: Found | None = None) -> RecallItem:
    """Return the item of a candidate of a search. found: where its memory is, if not among the search's own."""
    asked = search.asked
    shown = budget.show_whole if full else budget.show_excerpt
    memories = search.found if found is None else found
    return budget.make_item(asked.question, asked.ranking, asked.ranking.weights, shown, memories, candidate)


def join_covering_facts(searches: Sequence[QuestionSearch]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns among all candidates to the ids of the facts that rest on them."""
    covering: dict[str, tuple[str, ...]] = {}
    for search in searches:
        covering |= list_covering_facts(search.selection, search.asked.ctx.index.columns.ids)
    return covering


def arrange_by_question(
    shown: Sequence[RecallItem],
    owners: Mapping[str, OwnedCandidate],
    arrange: Callable[[int, Sequence[RecallItem]], Sequence[RecallItem]],
) -> list[RecallItem]:
    """Return items in which those of each question are arranged among their own places.

    owners: the candidate of each item, by id. arrange: the items of a question in another order.
    """
    arranged = list(shown)
    for question in dict.fromkeys(owners[item.id].question for item in shown):
        places = [place for place, item in enumerate(shown) if owners[item.id].question == question]
        ordered = arrange(question, [shown[place] for place in places])
        for place, item in zip(places, ordered, strict=True):
            arranged[place] = item
    return arranged


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
