"""Makes the items of an answer: words, score and reasons of each candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memwarden.recall.answer.excerpt import cut_around_best
from memwarden.recall.answer.frame import frame_memory
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.pack import BudgetedAnswer
from memwarden.recall.answer.render import until_of
from memwarden.recall.answer.searches import Found, OwnedCandidate, QuestionSearch, arrange_by_question, merge_places
from memwarden.recall.answer.select import Candidate, Selection
from memwarden.recall.index.columns import StatementTable
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.score import Ranking, explain_features
from memwarden.recall.time.newest_first import drop_last
from memwarden.records import (
    Memory,
    RecallItem,
    Why,
)
from memwarden.statements.reader import load_weights
from memwarden.statements.statement import PackedStatement, show_statements
from memwarden.text.small_talk import content_terms

MAX_BULLET_CHARACTERS = 280


def show_whole(question: Question, held: CachedMemory) -> str:
    """Return a bullet with the whole text."""
    return held.bullet_start + frame_memory(held.memory, held.whole) + until_of(held.memory)


def show_excerpt(question: Question, held: CachedMemory) -> str:
    """Return a single-line bullet, cut to the part that matches."""
    return held.bullet_start + plain_excerpt(question, held) + until_of(held.memory)


def plain_excerpt(question: Question, held: CachedMemory, characters: int = MAX_BULLET_CHARACTERS) -> str:
    """Return the part that matches as a single line of at most ``characters``."""
    short = len(held.line) <= characters
    words = held.line if short else cut_around_best(held.sentences, question.weigh, characters)
    return frame_memory(held.memory, words)


def widen_item(held: Mapping[str, tuple[Question, CachedMemory]], item: RecallItem, times: int) -> RecallItem:
    """Return the item with ``times`` an excerpt's length; itself if no more is to show.

    held: the memories that may be shown longer, by id, with the question that each answers.
    """
    if item.id not in held:
        return item
    question, entry = held[item.id]
    if len(entry.line) <= len(item.text):
        return item
    return replace(item, text=plain_excerpt(question, entry, times * MAX_BULLET_CHARACTERS))


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


def make_found_item(full: bool, search: QuestionSearch, candidate: Candidate, found: Found | None = None) -> RecallItem:
    """Return the item of a candidate of a search. found: where its memory is, if not among the search's own."""
    asked = search.asked
    shown = show_whole if full else show_excerpt
    memories = search.found if found is None else found
    return make_item(asked.question, asked.ranking, asked.ctx.index.statements, shown, memories, candidate)


def make_block_items(searches: Sequence[QuestionSearch]) -> tuple[list[RecallItem], list[RecallItem]]:
    """Return a block's items of all namespaces, the better first, and those that only fill what is left."""

    def make(owned: OwnedCandidate) -> RecallItem:
        asked, _, _, found = searches[owned.question]
        return make_item(
            asked.question, asked.ranking, asked.ctx.index.statements, plain_excerpt, found, owned.candidate
        )

    def merged(lists: Iterable[Sequence[Candidate]]) -> list[RecallItem]:
        owned = [[OwnedCandidate(number, item) for item in some] for number, some in enumerate(lists)]
        return list(map(make, merge_places(owned)))

    return merged(search.selection.ranked for search in searches), merged(
        search.selection.always for search in searches
    )


def join_widening(searches: Sequence[QuestionSearch]) -> Callable[[RecallItem, int], RecallItem]:
    """Return what makes an item of a block longer."""
    held = {
        search.found[item.place].memory.id: (search.asked.question, search.found[item.place])
        for search in searches
        for item in search.selection.ranked
    }
    return partial(widen_item, held)


def join_telling_facts(searches: Sequence[QuestionSearch]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns to the ids of facts that tell what they say, in all namespaces."""
    telling: dict[str, tuple[str, ...]] = {}
    for search in searches:
        telling |= list_telling_facts(search.selection, search.asked.ctx.index.columns.ids, search.found)
    return telling


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
