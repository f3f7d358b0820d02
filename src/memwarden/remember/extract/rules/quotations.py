"""Quotes of a turn what its typed statements find worth keeping: the speaker, the day and the words themselves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final

from memwarden.records import Channel, Memory
from memwarden.remember.extract.records import ExtractedItem, StatementFrame, TurnText
from memwarden.remember.extract.rules.clauses import drop_openers, is_somebodys_words
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.remember.extract.rules.rejections import (
    is_mostly_of_the_talk,
    reject_clause,
    reject_sentence,
    says_enough,
    tells_of_life,
)
from memwarden.remember.extract.rules.sorts import category_of, sort_kind
from memwarden.statements.reader import StatementWeights
from memwarden.statements.statement import NONE, PackedStatement, unpack
from memwarden.text.language import is_english
from memwarden.text.sentences import SentenceSpan, split_spans

# The chances that a clause states something that holds, and that it tells its attribute, from which on its words are
# kept; chosen on labelled histories.
MIN_STATES: Final = 0.9
MIN_ATTRIBUTE: Final = 0.5
# Who tells of a change seldom words it as the attribute's other statements do.
MIN_CHANGE: Final = 0.9
MIN_ATTRIBUTE_CHANGED: Final = 0.1
# What tells of a change this surely began on the day that it names.
MIN_NAMED_CHANGE: Final = 0.5
# "In April", said in September, may lie ahead: a day without its year is believed when it was not long ago.
MAX_DAYS_BEFORE: Final = 60
# Of somebody's plain short words the reader is less sure that they state something than of what attribute they are.
MIN_STATES_PLAIN: Final = 0.5
MIN_PLAIN: Final = 0.85
MAX_PLAIN_WORDS: Final = 8
# With the speaker and the day an item has at most 280 characters.
MAX_QUOTED: Final = 230
# A shorter fragment says little without what stood before it; a full-width sign counts as two.
MIN_WIDTH: Final = 24
MIN_WORDS: Final = 5
# Unless it is sure: "I hate coriander".
MIN_SURE: Final = 0.85
MIN_WIDTH_SURE: Final = 10
MIN_WORDS_SURE: Final = 3
# Words of others: a letter, a recipe, a list that was pasted.
_PASTED: Final = re.compile(r"^\s*(?:>|[-•*]\s|\d+[.)]\s)|[\"“„«»”]\s*[^\"“„«»”]{40,}", re.MULTILINE)
MAX_LINES: Final = 4
# "ok." tells nothing, whoever says that it does.
MIN_LETTERS: Final = 4
# Who types in a hurry begins sentences with small letters.
_TYPED_SENTENCE: Final = re.compile(r"[^\s].*?(?:[.!?…]+(?=\s|$)|[。！？]+|$)", re.MULTILINE)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
# Where a sentence that is too long is cut, the better place first.
_CUTS: Final = (re.compile(r"[,;:](?=\s)|[，、；：]"), re.compile(r"\s"))
_ASKS: Final = re.compile(r"[?？]\s*[\"'”’)\]]*$")
_INNER_QUOTES: Final = re.compile(r"[\"“”„«»]")

# The frame that a statement of a category has.
FRAMES: Final[Mapping[str, StatementFrame]] = {
    "preferences": "preference",
    "relationships": "relationship",
    "goals": "plan",
    "tasks": "plan",
    "activity": "habit",
    "event": "event",
    "projects": "event",
    "profile": "identity",
}


def quote_turn(
    turn: TurnText,
    packed: bytes,
    weights: StatementWeights,
    said_at: datetime,
    *,
    two_person: bool,
    speakers: Collection[str] = (),
) -> ExtractedItem | None:
    """Return the quotation of what a turn states that is worth keeping, or None.

    packed: the typed statements of its text. speakers: the first names of those who talk, in small letters. Of a turn's
    sentences those are quoted that stand around the surest statement; a question, a request or a supposition is not.
    """
    if not _is_own_words(turn.text, two_person=two_person):
        return None
    spans = list(split_spans(turn.text))
    told = [_tells(span.text, two_person=two_person) for span in spans]
    found = [
        (each, place)
        for each in unpack(packed)
        if (_is_worth(each, weights) or _is_plain(each, turn.text, weights))
        and (place := _place_of(each, spans)) is not None
        and told[place]
    ]
    if not found:
        return None
    best, place = max(found, key=lambda pair: pair[0].chance)
    words = _excerpt(turn.text, spans, told, place)
    if words is None or not _stands_alone(words, best) or not _lasts(words, speakers, two_person=two_person):
        return None
    at = turn.created_at or said_at
    told_in = turn.text[best.start : best.end]
    attribute = weights.name(best.attributes[0])
    category = category_of(words, at, best, weights)
    return ExtractedItem(
        text=_write(turn, words, at),
        channel=Channel.SEMANTIC,
        kind=sort_kind(words, category),
        category=category,
        importance=round((0.5 + best.chance) / 2, 2),
        sources=(turn.id,),
        valid_from=_begin_of(best, told_in, at),
        valid_to=_end_of(best, at),
        dates=((at.date(), at.date()),),
        frame=FRAMES[category],
        tier="fact",
        reason=f"states {attribute}",
        quoted=True,
    )


def quote_told(turn: Memory) -> list[ExtractedItem]:
    """Return quotations of all that a turn says but its questions, in pieces that fit; none of a pasted text.

    Somebody else found that it tells something. A piece that is a single word may be too long.
    """
    if not is_somebodys_words(turn.text) or _PASTED.search(turn.text):
        return []
    told = [hit[0].strip() for hit in _TYPED_SENTENCE.finditer(turn.text) if not _ASKS.search(hit[0])]
    pieces: list[str] = []
    for part in (part for sentence in told for part in _fitting(sentence)):
        if pieces and len(pieces[-1]) + len(part) < MAX_QUOTED:
            pieces[-1] = f"{pieces[-1]} {part}"
        else:
            pieces.append(part)
    return [_as_item(turn, " ".join(piece.split())) for piece in pieces if sum(map(str.isalnum, piece)) >= MIN_LETTERS]


def _fitting(sentence: str) -> Iterator[str]:
    """Yield a sentence in parts that fit, cut after a comma, else at a blank; a longer word is left whole."""
    rest = sentence
    while len(rest) > MAX_QUOTED:
        head = rest[:MAX_QUOTED]
        ends = (max((hit.end() for hit in cut.finditer(head)), default=0) for cut in _CUTS)
        end = next((end for end in ends if end > MAX_QUOTED // 2), 0) or rest.find(" ") + 1 or len(rest)
        yield rest[:end].strip()
        rest = rest[end:].lstrip()
    if rest:
        yield rest


def _as_item(turn: Memory, words: str) -> ExtractedItem:
    day = turn.created_at.date()
    category = category_of(words, turn.created_at)
    return ExtractedItem(
        text=_write(turn, words, turn.created_at),
        channel=Channel.SEMANTIC,
        kind=sort_kind(words, category),
        category=category,
        importance=0.5,
        sources=(turn.id,),
        valid_from=turn.created_at,
        dates=((day, day),),
        frame="event",
        tier="fact",
        reason="a model found that it tells something",
        quoted=True,
    )


def _begin_of(best: PackedStatement, words: str, at: datetime) -> datetime:
    """When what is stated began: a change on the day that it names ("moved in 2024"), all else when it was said."""
    if best.changes < 255 * MIN_NAMED_CHANGE:
        return at
    day, years = date.fromordinal(best.since), _YEAR.findall(words)
    if day >= at.date() and len(years) == 1 and int(years[0]) < at.year:  # "2024 bin ich umgezogen"
        day = date(int(years[0]), 1, 1)
    if not years and (at.date() - day).days > MAX_DAYS_BEFORE:
        return at
    return datetime.combine(day, time(), at.tzinfo) if day < at.date() else at


def _end_of(best: PackedStatement, at: datetime) -> datetime | None:
    """When what is stated ends, if a day to come was said: "in hospital until Friday"."""
    if best.until is None or best.until < at.toordinal():
        return None
    return datetime.combine(date.fromordinal(best.until) + timedelta(days=1), time(), at.tzinfo)


def _is_own_words(text: str, *, two_person: bool) -> bool:
    """Whether a turn is what somebody says of their own, and no task, text or part that is played."""
    if not is_somebodys_words(text) or text.strip().count("\n") >= MAX_LINES or _PASTED.search(text):
        return False
    if not is_english(text):
        return True
    judged = judge_worth(text)
    if judged.small_talk or judged.part:
        return False
    return two_person or (judged.may_tell and not is_mostly_of_the_talk([span.text for span in split_spans(text)]))


def _tells(sentence: str, *, two_person: bool) -> bool:
    """Whether a sentence states something: it asks nothing, wants nothing of the reader, and supposes nothing."""
    if _ASKS.search(sentence):
        return False
    if not is_english(sentence):
        return True
    bare = drop_openers(sentence)
    if reject_sentence(bare, False) is not None or reject_clause(bare, two_person=two_person) is not None:
        return False
    return two_person or tells_of_life(bare)


def _lasts(words: str, speakers: Collection[str], *, two_person: bool) -> bool:
    """Whether words say enough to be read later; of English alone that is known."""
    if not is_english(words):
        return True
    return says_enough(words, [span.text for span in split_spans(words)], speakers, two_person=two_person)


def _is_worth(each: PackedStatement, weights: StatementWeights) -> bool:
    """Whether a statement is likely, of a known attribute, and of somebody whom it names or who speaks."""
    if not each.subject or each.subject == "third" or weights.name(each.attributes[0]) == NONE:
        return False
    least = MIN_ATTRIBUTE_CHANGED if each.changes >= 255 * MIN_CHANGE else MIN_ATTRIBUTE
    return each.states >= 255 * MIN_STATES and each.chances[0] * each.typical >= 255**2 * least


def _is_plain(each: PackedStatement, text: str, weights: StatementWeights) -> bool:
    """Whether a text is a few plain words on a known attribute of whoever says them, and nothing else."""
    said = text[each.start : each.end]
    return (
        each.subject.split("+")[0] not in ("", "third")
        and weights.name(each.attributes[0]) != NONE
        and each.states >= 255 * MIN_STATES_PLAIN
        and each.chances[0] * each.typical >= 255**2 * MIN_PLAIN
        and len(said.split()) <= MAX_PLAIN_WORDS
        and len(text) - len(said) <= MAX_PLAIN_WORDS
    )


def _stands_alone(words: str, best: PackedStatement) -> bool:
    """Whether words are no fragment: a surer statement needs fewer of them."""
    width = sum(2 if ord(sign) > 0x2E80 else 1 for sign in words)
    spaced = width < 1.5 * len(words)
    sure = best.chance >= MIN_SURE or best.chances[0] * best.typical >= 255**2 * MIN_PLAIN
    least, fewest = (MIN_WIDTH_SURE, MIN_WORDS_SURE) if sure else (MIN_WIDTH, MIN_WORDS)
    return width >= least and not (spaced and len(words.split()) < fewest)


def _place_of(each: PackedStatement, spans: Sequence[SentenceSpan]) -> int | None:
    """The first sentence that a statement stands in."""
    return next((place for place, span in enumerate(spans) if span.end > each.start), None)


def _excerpt(text: str, spans: Sequence[SentenceSpan], told: Sequence[bool], place: int) -> str | None:
    """The sentences around a place that tell something, as many as fit; None where they are a fragment or too long."""
    first = last = place
    grown = True
    while grown:
        grown = False
        if first and told[first - 1] and spans[last].end - spans[first - 1].start <= MAX_QUOTED:
            first, grown = first - 1, True
        if last + 1 < len(spans) and told[last + 1] and spans[last + 1].end - spans[first].start <= MAX_QUOTED:
            last, grown = last + 1, True
    words = " ".join(text[spans[first].start : spans[last].end].split())
    return words if len(words) <= MAX_QUOTED else None


def _write(turn: TurnText, words: str, at: datetime) -> str:
    english = is_english(words)
    who = (turn.name or "").strip() or ("The user" if english else "user")
    day = f"{at.day} {at:%B %Y}" if english else f"{at:%Y-%m-%d}"
    bare = _INNER_QUOTES.sub("'", words)
    return f'{who[:30]}, {day}: "{bare}"'
