"""Extracts by rules what an exchange gives to remember: facts, candidates and an index card."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final

from memwarden.recall.question import everyday_share
from memwarden.records import Channel, Kind
from memwarden.remember.extract import model
from memwarden.remember.extract import rules as en
from memwarden.remember.extract.records import (
    MAX_ITEMS_PER_TURN,
    ExchangeExtract,
    ExtractedItem,
    RejectedClause,
    StatementFrame,
    TurnText,
)
from memwarden.remember.extract.rules.clauses import (
    StatementSentence,
    is_somebodys_words,
    split_clauses,
    split_lead,
    split_turn,
    write_out_contractions,
)
from memwarden.remember.extract.rules.confidence import (
    grade_statement,
    is_about_the_talk,
    is_concrete,
    is_passing,
    is_vague,
)
from memwarden.remember.extract.rules.dating import DatedText, format_long_date, resolve_dates
from memwarden.remember.extract.rules.gate import MIN_FOR_CARDS, MIN_OF_NOTE, Worth, judge_worth
from memwarden.remember.extract.rules.patterns import (
    OF_THE_PERSON,
    ORDER,
    PatternMatch,
    find_presuppositions,
    find_undertaking,
    match_frame,
)
from memwarden.remember.extract.rules.rejections import reject_clause, reject_sentence
from memwarden.remember.extract.rules.sorts import sort_kind
from memwarden.remember.extract.rules.summaries import summarize_exchange
from memwarden.remember.extract.rules.third_person import (
    drop_loose_end,
    drop_pointers,
    has_outside_pointer,
    to_third_person,
)
from memwarden.text.language import is_english

TermRarity = Callable[[str], float]

_CATEGORY: Final[dict[StatementFrame, str]] = {
    "relationship": "relationships",
    "health": "profile",
    "identity": "profile",
    "preference": "preferences",
    "decision": "event",
    "plan": "goals",
    "habit": "activity",
    "possession": "profile",
    "event": "event",
}
_KIND: Final[dict[StatementFrame, Kind]] = {
    "preference": Kind.PREFERENCE,
    "decision": Kind.DECISION,
    "habit": Kind.BEHAVIOR,
}
# Words of a statement that tell more than its frame.
_GOAL: Final = re.compile(r"'s (?:\w+ )?(?:goal|aim|dream|ambition) is\b")
# "By 3 May", "since 3 May": what is planned has no day.
_BORDER: Final = re.compile(r"\b(?:by|since|until|before|after) ")
MAX_DAYS_OF_EVENT: Final = 14
_UNDER_WAY: Final = re.compile(
    r"\bis (?:(?:still|now|currently|also) )?(?:writing|building|volunteering|working|studying|training)\b"
)
# How much it would cost not to know: health first, then who somebody is and with whom. Half of the importance.
_IMPORTANCE: Final[dict[StatementFrame, float]] = {
    "health": 0.9,
    "relationship": 0.8,
    "identity": 0.8,
    "preference": 0.7,
    "decision": 0.6,
    "plan": 0.6,
    "habit": 0.6,
    "possession": 0.5,
    "event": 0.5,
}
# Decisions and names are about an undertaking, which the statement has to name.
_OF_A_TOPIC: Final = frozenset(("decision", "identity"))
# These have a day on which they became true.
_HAPPENED: Final = frozenset(("decision", "event"))
# Three words that say all ("I have asthma"), although the rules for vague nouns would drop them.
_SHORT_AND_WHOLE: Final = re.compile(rf"^I (?:am|have) (?:{en.CONDITION}|{en.DIET})$")
# Words of the moment: the stored statement is read at another one.
_STRIPPED: Final = re.compile(
    r"(?:,? \b(?:for now|recently|lately|currently|right now|now|at the moment|these days|nowadays|already|finally|"
    r"actually|really|definitely|absolutely|"
    r"honestly|totally|literally|basically|truly|seriously|obviously|also|as well|so far|officially|just)\b)+(?! "
    r"as\b)(?! like\b)"
)
# The same at the beginning of a statement.
_LEADING: Final = re.compile(
    r"^(?:for now|right now|lately|recently|currently|nowadays|these days|so far|in the meantime|at the moment|as "
    r"of now|for the future|going forward), ",
    re.IGNORECASE,
)
# Points to what was said before, or to a place at hand.
_TRAILING: Final = re.compile(
    r",? (?:too|though|again|anymore|lately|already|as well|either|in there|out there|nearby|around)$"
)


def everyday_rarity(term: str) -> float:
    """How rare a term is in everyday talk, for callers that have no counts of their own."""
    return -math.log(everyday_share(term))


def extract_exchange(
    turns: Sequence[TurnText],
    *,
    two_person: bool,
    said_at: datetime,
    idf: TermRarity = everyday_rarity,
    partners: Sequence[str] = (),
) -> ExchangeExtract:
    """Extract what the turns of an exchange give to remember beside their own words. Never raises on any text.

    Args:
        turns: a message and what answers it, in order. Of an assistant's turns no facts are made.
        two_person: people talk with each other; else the other is an assistant, whose user is "the user".
        said_at: when turns without a time of their own were said; aware.
        idf: how rare a term of :func:`memwarden.text.tokenizer.terms` is: log of texts over texts that have it.
        partners: names of those who talk, when not all of them speak in these turns.
    """
    known = tuple(dict.fromkeys([*partners, *(turn.name for turn in turns if turn.name)]))
    kept = [_items_of_turn(turn, two_person, said_at, idf, known) for turn in turns if _may_tell(turn, two_person)]
    return ExchangeExtract(
        facts=tuple(item for items, _ in kept for item in items if item.tier == "fact"),
        candidates=tuple(item for items, _ in kept for item in items if item.tier == "candidate"),
        card=_make_card(turns, two_person, said_at, idf, told=any(items for items, _ in kept)),
        passed=tuple(item for _, passed in kept for item in passed),
    )


def _may_tell(turn: TurnText, two_person: bool) -> bool:
    """Whether a turn can tell facts about whoever says it."""
    return bool(turn.name and turn.name.strip()) if two_person else turn.role == "user"


def _first_name(turn: TurnText) -> str:
    words = (turn.name or "").split()
    return words[0] if words else "somebody"


@dataclass(frozen=True, slots=True)
class _TurnSentence:
    """A turn as its clauses are read: who speaks, when, and how the item names the speaker."""

    turn: TurnText
    at: datetime
    name: str
    two_person: bool
    idf: TermRarity
    worth: Worth


def _items_of_turn(
    turn: TurnText, two_person: bool, said_at: datetime, idf: TermRarity, partners: tuple[str, ...]
) -> tuple[list[ExtractedItem], list[RejectedClause]]:
    if not is_somebodys_words(turn.text) or not is_english(turn.text):
        return [], []
    judged = judge_worth(turn.text)
    if judged.small_talk or not (two_person or judged.may_tell):
        return [], []
    name = _first_name(turn) if two_person else "the user"
    saying = _TurnSentence(turn, turn.created_at or said_at, name, two_person, idf, judged)
    found: dict[str, ExtractedItem] = {}
    passed: list[RejectedClause] = []
    for sentence in split_turn(turn.text, partners):
        for item in _items_presupposed(sentence, saying):
            found.setdefault(item.text, item)
        for result in _items_of_sentence(sentence, saying):
            if isinstance(result, ExtractedItem):
                found.setdefault(result.text, result)
            else:
                passed.append(result)
    ranked = sorted(found.values(), key=lambda item: (item.tier != "fact", ORDER.index(item.frame)))
    passed += [RejectedClause(item.text, "enough of this turn is kept") for item in ranked[MAX_ITEMS_PER_TURN:]]
    return ranked[:MAX_ITEMS_PER_TURN], passed


def _items_of_sentence(sentence: StatementSentence, saying: _TurnSentence) -> list[ExtractedItem | RejectedClause]:
    text = write_out_contractions(sentence.text)
    why = reject_sentence(text, sentence.asks)
    if why is not None:
        return [RejectedClause(sentence.text, why)]
    results: list[ExtractedItem | RejectedClause] = []
    for clause in split_clauses(text):
        lead, rest = split_lead(clause)
        why = reject_clause(rest, two_person=saying.two_person) or reject_clause(clause, two_person=saying.two_person)
        if why is not None:
            results.append(RejectedClause(clause, why))
            continue
        frame = match_frame(rest)
        if frame is not None:
            made = _item_of_clause(lead, rest, frame, saying)
            results.append(RejectedClause(clause, made) if isinstance(made, str) else made)
    return results


def _items_presupposed(sentence: StatementSentence, saying: _TurnSentence) -> list[ExtractedItem]:
    """Make items of what a sentence takes for granted of its speaker."""
    none = DatedText("", (), None)
    return [
        _make_item(text, frame, none, True, "taken for granted by what was said", saying)
        for frame, text in find_presuppositions(sentence.text, saying.name, ours=not saying.two_person)
        if not model.find_faults(text)
    ]


def _item_of_clause(lead: str, rest: str, frame: PatternMatch, saying: _TurnSentence) -> ExtractedItem | str:
    """An item, or why there is none."""
    cut = rest if _SHORT_AND_WHOLE.match(rest) else drop_pointers(rest)
    if cut is None or (lead and has_outside_pointer(lead)):
        return "points outside of itself"
    again = match_frame(cut)
    if again is None:
        return "nothing is left of its frame"
    if not saying.two_person and is_about_the_talk(cut):
        return "about the talk itself"
    if is_vague(f"{lead} {cut}"):
        return "vague"
    dated = resolve_dates(f"{lead}, {cut}" if lead else cut, saying.at)
    bare = drop_loose_end(_TRAILING.sub("", _STRIPPED.sub("", _LEADING.sub("", dated.text))))
    written = to_third_person(bare, saying.name, two_person=saying.two_person)
    if isinstance(written, str):
        return written
    stated = _add_topic(written.text, again.frame, saying)
    if not dated.days and is_passing(stated):
        stated = f"{stated}, as of {format_long_date(saying.at.date())}"
    text = model.shorten_statement(model.tidy_sentence(stated))
    if text is None:
        return "too long"
    if found := model.find_faults(text):
        return found[0]
    if again.frame not in OF_THE_PERSON and not is_concrete(text, saying.idf, dated=bool(dated.days)):
        return "not concrete"
    fact, reason = grade_statement(
        again.frame,
        text,
        dated,
        saying.at.date(),
        sure=written.sure,
        idf=saying.idf,
        name=saying.name,
        two_person=saying.two_person,
    )
    return _make_item(text, again.frame, dated, fact, reason, saying)


def _add_topic(text: str, frame: StatementFrame, saying: _TurnSentence) -> str:
    """A user's decision with the trip that the message is about, when it does not say for what it is."""
    topic = None if saying.two_person or frame not in _OF_A_TOPIC else find_undertaking(saying.turn.text)
    says_already = topic is None or " for " in text or topic.split()[-1] in text or topic.split()[0] in text
    return text if says_already else f"{text} for {saying.name}'s {topic}"


def _make_item(
    text: str, frame: StatementFrame, dated: DatedText, fact: bool, reason: str, saying: _TurnSentence
) -> ExtractedItem:
    category = _category_of(text, frame, dated)
    return ExtractedItem(
        text=text,
        channel=Channel.EPISODIC if frame in _HAPPENED else Channel.SEMANTIC,
        kind=_KIND.get(frame) or sort_kind(text, category),
        category=category,
        importance=round((_IMPORTANCE[frame] + saying.worth.note) / 2, 2),
        sources=(saying.turn.id,),
        valid_from=_valid_from(frame, dated, saying.at),
        dates=dated.days,
        frame=frame,
        tier="fact" if fact else "candidate",
        reason=reason,
    )


def _category_of(text: str, frame: StatementFrame, dated: DatedText) -> str:
    if _GOAL.search(text):
        return "goals"
    # Whoever "got hurt in May" tells of a day; whoever has a car, of how they live.
    if frame == "possession" and dated.days:
        return "event"
    if frame == "plan":  # what is to be on a day is an event, and what is under way no plan any more
        of_days = any((last - first).days < MAX_DAYS_OF_EVENT for first, last in dated.days)
        return "event" if of_days and not _BORDER.search(text) else "activity" if _UNDER_WAY.search(text) else "goals"
    return _CATEGORY[frame]


def _valid_from(frame: StatementFrame, dated: DatedText, said: datetime) -> datetime:
    """When a statement became true: an event on its day, anything else when it was said."""
    if frame in _HAPPENED and dated.days and dated.days[0][0] <= said.date():
        return datetime.combine(dated.days[0][0], time(), said.tzinfo or UTC)
    return said


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
    day: tuple[date, date] = (at.date(), at.date())
    return ExtractedItem(
        text=text,
        channel=Channel.EPISODIC,
        kind=Kind.NOTE,
        category="activity",
        importance=round(0.2 + 0.3 * max(item.note for item in judged), 2),
        sources=tuple(dict.fromkeys(turn.id for turn in words)),
        valid_from=at,
        dates=(day,),
        frame="card",
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
