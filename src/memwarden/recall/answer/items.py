"""Makes the items of an answer: words, score and reasons of each candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from memwarden.recall.answer.excerpt import (
    choose_passage,
    choose_sentences,
    mark_omitted,
    one_line,
    show_passage,
)
from memwarden.recall.answer.frame import clean_line, frame_memory
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.render import speaker, until_of
from memwarden.recall.answer.searches import Found, OwnedCandidate, QuestionSearch, interleave_questions
from memwarden.recall.answer.select import Candidate, Selection
from memwarden.recall.index.columns import StatementTable
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.ranking import Ranking, explain_features
from memwarden.records import (
    Memory,
    RecallItem,
    Why,
)
from memwarden.statements.reader import load_weights
from memwarden.statements.shown import show_statements
from memwarden.statements.statement import PackedStatement
from memwarden.text.passages import limit_characters
from memwarden.text.small_talk import content_terms

# Maximum characters of a memory in a block, half of it without spaces between words. At 500, a passage, fewer memories
# fit and less of the answer is shown.
MAX_IN_BLOCK: Final = 200


def show_whole(question: Question, held: CachedMemory, passage: int) -> str:
    """Return a bullet with the whole text."""
    return held.bullet_start + frame_memory(held.memory, held.whole) + until_of(held.memory)


def show_excerpt(question: Question, held: CachedMemory, passage: int) -> str:
    """Return a single-line bullet with the best passage. passage: its number by the ranking."""
    text = show_passage(held.passages, _number_of(question, held, passage))
    return held.bullet_start + frame_memory(held.memory, text) + until_of(held.memory)


def show_sentences(question: Question, held: CachedMemory, passage: int) -> str:
    """Return the best sentences of the best passage as a single line. An ellipsis marks omitted text."""
    number = _number_of(question, held, passage)
    text = one_line(held.passages[number])
    most = limit_characters(text, MAX_IN_BLOCK)
    if len(text) <= most:
        return frame_memory(held.memory, show_passage(held.passages, number))
    whole, spans, sentences = held.split_passage(number)
    chosen = choose_sentences(sentences, question.weigh, most)
    # Cut from the passage, because some scripts have no space between sentences.
    shown = one_line(whole[spans[chosen.start].start : spans[chosen.stop - 1].end])
    before, after = number > 0 or chosen.start > 0, number < len(held.passages) - 1 or chosen.stop < len(spans)
    return frame_memory(held.memory, mark_omitted(shown, before=before, after=after))


def _number_of(question: Question, held: CachedMemory, passage: int) -> int:
    """Return the number of the passage to show.

    A summary, or a text without its orders, was not ranked and has other passages, so its words decide.
    """
    if held.shows_text and passage < len(held.passages):
        return passage
    return choose_passage(held.termed_passages, question.weigh)


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
Shown = Callable[[Question, CachedMemory, int], str]


def _add_partner(text: str, question: Question, partner: CachedMemory, passage: int, *, replies: bool) -> str:
    """Return the text of a question with the reply after it, or of a reply with its question in brackets."""
    said = f"{clean_line(speaker(partner.memory))}: {show_sentences(question, partner, passage)}"
    return f"{text} — {said}" if replies else f"{text} ({said})"


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
    text = shown(question, held, ranking.passage_of(candidate.place))
    partner: CachedMemory | None = None
    if candidate.partner is not None:
        place, replies = candidate.partner
        partner = found[place]
        text = _add_partner(text, question, partner, ranking.passage_of(place), replies=replies)
    return RecallItem(
        id=memory.id,
        text=text,
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=candidate.score,
        sources=memory.sources if partner is None else (*memory.sources, *partner.memory.sources),
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
        partner=None if partner is None else partner.memory,
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
    """Return a block's items, the better first, and those that only fill what is left."""

    def make(owned: OwnedCandidate) -> RecallItem:
        asked, _, _, found = searches[owned.question]
        return make_item(
            asked.question, asked.ranking, asked.ctx.index.statements, show_sentences, found, owned.candidate
        )

    ranked = interleave_questions(searches, [search.selection.ranked for search in searches])
    always = interleave_questions(searches, [search.selection.always for search in searches])
    return list(map(make, ranked.values())), [make(item) for key, item in always.items() if key not in ranked]


def join_telling_facts(searches: Sequence[QuestionSearch]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns to the ids of facts that tell what they say, in all namespaces."""
    telling: dict[str, tuple[str, ...]] = {}
    for search in searches:
        telling |= list_telling_facts(search.selection, search.asked.ctx.index.columns.ids, search.found)
    return telling
