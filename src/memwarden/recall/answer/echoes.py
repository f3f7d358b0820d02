"""Texts that only repeat the prompt or another candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from memwarden.filters import Condition
from memwarden.recall.answer.excerpt import normalize_text
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.searches import QueryContext, QuestionSearch
from memwarden.recall.answer.select import Selection
from memwarden.recall.index.view import find_following
from memwarden.records import (
    Channel,
    Memory,
    Namespace,
)
from memwarden.text.small_talk import DENIAL


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


# So much of what an assistant says stands in a person's words when it only repeats them.
REPEATED = 0.75


def count_repeated(terms: frozenset[str], words: frozenset[str]) -> int:
    """Count the terms that stand among the words; a denial of what is told there repeats nothing."""
    return 0 if DENIAL in terms - words else len(terms & words)


def fold_repeats(selection: Selection, found: Mapping[int, CachedMemory]) -> None:
    """Leave out acknowledgements and what repeats another candidate: one line, a person's before an assistant's."""
    told = [item for item in selection.ranked if not found[item.place].is_of_assistant]
    best: dict[int, float] = {}
    dropped: dict[int, str] = {}
    first: dict[tuple[str | None, str], int] = {}
    texts = Counter(found[item.place].normal_text for item in selection.ranked)
    for item in selection.ranked:
        held = found[item.place]
        if held.memory.channel != Channel.TURN:
            continue
        words = held.repeatable if texts[held.normal_text] > 1 else held.normal_text
        if first.setdefault((held.memory.role, words), item.place) != item.place:
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
