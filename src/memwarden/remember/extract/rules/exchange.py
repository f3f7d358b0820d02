"""Index card of an exchange, which lists what was talked about."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime

from memwarden.recall.question import everyday_share
from memwarden.records import Channel, Kind
from memwarden.remember.extract import model
from memwarden.remember.extract.records import (
    ExchangeExtract,
    ExtractedItem,
    TurnText,
)
from memwarden.remember.extract.rules.gate import MIN_FOR_CARDS, MIN_OF_NOTE, judge_worth
from memwarden.remember.extract.rules.summaries import summarize_exchange
from memwarden.text.language import is_english

TermRarity = Callable[[str], float]


def everyday_rarity(term: str) -> float:
    """How rare a term is in everyday talk, for callers that have no counts of their own."""
    return -math.log(everyday_share(term))


def extract_exchange(
    turns: Sequence[TurnText],
    *,
    two_person: bool,
    said_at: datetime,
    idf: TermRarity = everyday_rarity,
    told: bool = False,
) -> ExchangeExtract:
    """Return the index card of an exchange, if it is worth one.

    Facts are quoted by :func:`memwarden.remember.extract.rules.quotations.quote_turn`.

    Never raises on any text.

    Args:
        turns: a message and what answers it, in order.
        two_person: people talk with each other. Else the other is an assistant, whose user is "the user".
        said_at: when turns without a time of their own were said; aware.
        idf: how rare a term of :func:`memwarden.text.tokenizer.terms` is: log of texts over texts that have it.
        told: whether words of the exchange are quoted.
    """
    return ExchangeExtract(card=_make_card(turns, two_person, said_at, idf, told=told))


def _may_tell(turn: TurnText, two_person: bool) -> bool:
    """Whether a turn can tell facts about whoever says it."""
    return bool(turn.name and turn.name.strip()) if two_person else turn.role == "user"


def _first_name(turn: TurnText) -> str:
    words = (turn.name or "").split()
    return words[0] if words else "somebody"


def _make_card(
    turns: Sequence[TurnText], two_person: bool, said_at: datetime, idf: TermRarity, *, told: bool
) -> ExtractedItem | None:
    """The index card of an exchange, or None for small talk, and for tasks that told nothing of the user."""
    words = [turn for turn in turns if turn.text.strip()]
    if not words:
        return None
    english = is_english("\n".join(turn.text[:1_000] for turn in words))
    judged = [judge_worth(turn.text) for turn in words if two_person or _may_tell(turn, two_person)]
    if all(item.small_talk for item in judged):
        return None
    marked = (
        max(item.note for item in judged) >= MIN_OF_NOTE
        if two_person
        else max(item.personal for item in judged) >= MIN_FOR_CARDS
    )
    if english and not (marked or told):
        return None
    at = words[0].created_at or said_at
    text = summarize_exchange(
        [turn.text for turn in words], _people_in(words, two_person, english), at.date(), idf, english=english
    )
    if text is None or model.find_faults(text):
        return None
    return ExtractedItem(
        text=text,
        channel=Channel.EPISODIC,
        kind=Kind.NOTE,
        category="activity",
        importance=round(0.2 + 0.3 * max(item.note for item in judged), 2),
        sources=tuple(dict.fromkeys(turn.id for turn in words)),
        valid_from=at,
        tier="card",
        reason="the index card of the exchange",
    )


def _people_in(turns: Sequence[TurnText], two_person: bool, english: bool) -> list[str]:
    """The speakers, in the order of their first words."""
    if two_person:
        return list(dict.fromkeys(_first_name(turn) for turn in turns))
    if not english:
        return list(dict.fromkeys(turn.role or "user" for turn in turns))
    roles = dict.fromkeys("the user" if turn.role == "user" else "the assistant" for turn in turns)
    return list(roles)
