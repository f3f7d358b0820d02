"""Quotes of a turn what its typed statements find worth keeping: the speaker, the day and the words themselves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Final, NamedTuple

from memwarden.categories import is_own_category
from memwarden.records import Channel, Memory, Trust
from memwarden.remember.extract.records import MAX_STATEMENT_CHARACTERS, ExtractedItem, TurnText
from memwarden.remember.extract.rules.clauses import drop_openers, is_somebodys_words
from memwarden.remember.extract.rules.dating import appointed_end
from memwarden.remember.extract.rules.gate import judge_worth
from memwarden.remember.extract.rules.rejections import (
    begins_with_an_answer,
    is_mostly_of_the_talk,
    points_at_somebody,
    reject_clause,
    reject_sentence,
    says_enough,
    supposes,
    tells_of_life,
)
from memwarden.remember.extract.rules.sorts import category_of, sort_kind
from memwarden.remember.ingest.screening import TRUST_RANK
from memwarden.security.injection.detector import find_suspicion
from memwarden.statements.explicit import read_text, says_whom
from memwarden.statements.reader import CommonWords, StatementWeights, load_weights
from memwarden.statements.statement import NONE, PackedStatement, unpack
from memwarden.statements.wording import names_in
from memwarden.text.language import is_english
from memwarden.text.lexicon import pattern_of
from memwarden.text.question_words import opens_question
from memwarden.text.sentences import SentenceSpan, split_spans
from memwarden.text.time_words import has_time_word
from memwarden.text.tokenizer import GLUED_SCRIPT

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
_PASTED: Final = re.compile(
    r"^\s*(?:>|[-•*]\s|\d+[.)]\s)|[\"“„«»”]\s*[^\"“„«»”]{40,}|[「『][^「」『』]{40,}[」』]\s*$", re.MULTILINE
)
MAX_LINES: Final = 4
# Content words of a sentence that says something of its own.
MIN_CONTENT: Final = 2
# A longer sentence without a question mark may state something, though it begins with a question word.
MAX_ASKING_WORDS: Final = 6
# "Yes!", before the answer itself.
MAX_WORDS_BEFORE: Final = 2
# "ok." tells nothing, whoever says that it does.
MIN_LETTERS: Final = 4
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
# Where a sentence that is too long is cut, the better place first.
_CUTS: Final = (re.compile(r"[,;:](?=\s)|[，、；：]"), re.compile(r"\s"))
_ASKS: Final = re.compile(r"[?？]\s*[\"'”’)\]]*$")
_WORD: Final = re.compile(r"\d+|[^\W\d_]+")
_INNER_QUOTES: Final = re.compile(r"[\"“”„«»]")

# A longer message says by itself what it is about.
MAX_ANSWER: Final = 200
# A longer question is a text with a question mark.
MAX_QUESTION: Final = 110
# Whoever comes back later begins anew.
MAX_PAUSE: Final = timedelta(days=1)
# So surely a question asks for an attribute that its answer is of it.
MIN_ASKED: Final = 0.25
_LAST_ASKS: Final = re.compile(r"[?？][^\w]*$")

# A talk's first words tell what the later ones are about, this many turns long.
MAX_TURNS_SINCE_OPENING: Final = 12
# More of it, and numbers, would stand in later memories when they hold no longer; so what is longer shows nothing.
MAX_OPENING: Final = 60
MAX_DEPENDING_WIDTH: Final = 100
# Less of it tells nothing; a full-width sign counts as two.
MIN_OPENING_WIDTH: Final = 12
# "Hi there, everybody." is a greeting.
MIN_TOPIC_WIDTH: Final = 24
_NUMBER: Final = re.compile(r"[^\s,，、。]*\d")
# "Hi, how are you?" opens no topic.
MIN_OPENING_WORDS: Final = 4
# "Oh, and ..." goes on to something else.
_GOES_ON: Final = re.compile(
    r"\W*(?:(?:oh|ah|ach|and|also|plus|btw|by the way|anyway|und|übrigens|außerdem|et|sinon|au fait|y|además|"
    r"por cierto|otra cosa|oye)\b|另外|对了|還有|还有|あと|そういえば|ところで|それと)",
    re.IGNORECASE,
)


class AnsweredQuestion(NamedTuple):
    """A question that a turn answers.

    Attributes:
        by: who asked it, as it is shown. at: when.
        sources: the first id, the caller's where there is one, of its turn and of those of the person that hold names
            and numbers of it.
        told: its typed statement, once it is read: what it asks for.
    """

    text: str
    by: str
    at: datetime
    sources: tuple[str, ...]
    told: PackedStatement | None = None

    def read(self, packed: bytes | None) -> AnsweredQuestion:
        """The same with its typed statement: of several the surest of an attribute."""
        matches = unpack(packed or b"")
        return self._replace(told=max(matches, key=lambda each: each.chances[0], default=None))

    def asks_for(self, weights: StatementWeights) -> PackedStatement | None:
        """The statement of it, where it surely asks for a known attribute."""
        told = self.told
        if told is None or weights.name(told.attributes[0]) == NONE:
            return None
        return told if told.chances[0] * told.typical >= 255**2 * MIN_ASKED else None


class Opening(NamedTuple):
    """The first words of a talk, which tell what a later turn is about.

    Attributes:
        text: the turn's words, from the first sentence that is more than a greeting. by: who said it, as it is shown.
        source: the first id of its turn, the caller's where there is one.
    """

    text: str
    by: str
    source: str

    def fitting(self, room: int) -> Opening | None:
        """The same in at most so many characters, cut after a sentence, else at a blank; None where little fits."""
        if len(self.text) <= room:
            return self
        head = self.text[: max(room - 1, 0)].rstrip()
        whole = max((span.end for span in split_spans(head) if span.end < len(head)), default=0)
        blank = max(head.rfind(" "), *(head.rfind(sign) + 1 for sign in "，。、"))
        blank = len(head) if self.text[len(head) : len(head) + 1].isspace() else blank
        cut = head[:whole] if _width(head[:whole]) >= MIN_OPENING_WIDTH else f"{head[:blank].rstrip(',;:. ')}…"
        return self._replace(text=cut.strip()) if _width(cut) >= MIN_OPENING_WIDTH else None


def opening_of(turn: Memory, before: Mapping[str, Memory]) -> Opening | None:
    """Return what a person opened the talk with that a short turn of theirs goes on with, or None.

    before: of each turn the one before it in its thread.
    """
    if len(turn.text) > MAX_ANSWER:
        return None
    talk = _talk_before(turn, before)
    first = next((each for each in reversed(talk) if _is_same_speaker(each, turn)), None)
    if len(talk) == MAX_TURNS_SINCE_OPENING:
        return None
    if first is None or not _may_open(turn, first):
        return None
    sentences = [" ".join(_INNER_QUOTES.sub("", span.text).split()) for span in split_spans(first.text)]
    while sentences and _width(sentences[0]) < MIN_TOPIC_WIDTH and len(sentences[0].split()) < MIN_OPENING_WORDS:
        del sentences[0]
    words = " ".join(sentences)
    number = _NUMBER.search(words)
    whole = Opening(words, _name_of(first, first.text), first.sources[0])
    matches = whole.fitting(MAX_OPENING if number is None else min(MAX_OPENING, number.start() + 1))
    return matches if matches is not None and _width(matches.text) >= MIN_OPENING_WIDTH else None


def _talk_before(turn: Memory, before: Mapping[str, Memory]) -> list[Memory]:
    """The turns of a talk before one, latest first, no further than its last pause."""
    talk: list[Memory] = []
    walked = turn
    while len(talk) < MAX_TURNS_SINCE_OPENING:
        earlier = before.get(walked.id)
        if earlier is None or walked.created_at - earlier.created_at > MAX_PAUSE:
            break
        talk.append(earlier)
        walked = earlier
    return talk


def _is_same_speaker(one: Memory, other: Memory) -> bool:
    return (one.role, one.name) == (other.role, other.name)


def _may_open(turn: Memory, first: Memory) -> bool:
    """Whether the words of a talk's first turn may stand before those of another: they are vouched for as much."""
    trusted = TRUST_RANK[first.trust] >= TRUST_RANK[turn.trust] and first.trust != Trust.EXTERNAL
    pasted = not is_somebodys_words(first.text) or _PASTED.search(first.text) is not None
    return trusted and not (pasted or is_own_category(first.category) or find_suspicion(first.text))


def _width(words: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in words)


def question_before(turn: Memory, before: Mapping[str, Memory]) -> AnsweredQuestion | None:
    """Return what the turn before a short one asks last, or None. before: of each turn the one before it in its thread.

    The words of what is kept have the trust of the answer. So a question that nobody vouches for as much is shown only
    where it brings no name or number that the person did not say in this talk, and no order: it asks, and states
    nothing.
    """
    asking = before.get(turn.id)
    if asking is None or len(turn.text) > MAX_ANSWER or not _may_show(turn, asking):
        return None
    last = [span.text for span in split_spans(asking.text)][-1:]
    text = " ".join(_INNER_QUOTES.sub("", "".join(last)).split())
    if not _LAST_ASKS.search(text) or len(text) > MAX_QUESTION:
        return None
    vouching: list[Memory] = []
    if TRUST_RANK[asking.trust] < TRUST_RANK[turn.trust]:
        told = _names_and_numbers(text) - _words_of(turn.text)
        own = [each for each in _talk_before(turn, before) if _is_same_speaker(each, turn) and _may_open(turn, each)]
        vouching = [each for each in own if told & _words_of(each.text)]
        if find_suspicion(text) or not told <= {word for each in vouching for word in _words_of(each.text)}:
            return None
    sources = tuple(each.sources[0] for each in (asking, *vouching))
    return AnsweredQuestion(text, _name_of(asking, text), asking.created_at, sources)


def _may_show(turn: Memory, before: Memory) -> bool:
    """Whether the turn before is of somebody else, said just now, and for everybody to read."""
    late = turn.created_at - before.created_at > MAX_PAUSE
    hidden = before.trust == Trust.EXTERNAL or is_own_category(before.category)
    return not (late or hidden or _is_same_speaker(turn, before))


def _names_and_numbers(question: str) -> set[str]:
    """The words of a question that somebody has to vouch for."""
    names = names_in(question, CommonWords(load_weights().common))
    return {word for name in names for word in _words_of(name)} | set(re.findall(r"\d+", question))


def _words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _name_of(before: Memory, text: str) -> str:
    named = (before.name or "").strip()[:30]
    return named or (f"The {before.role or 'user'}" if is_english(text) else before.role or "user")


def quote_turn(
    turn: TurnText,
    packed: bytes,
    weights: StatementWeights,
    said_at: datetime,
    *,
    two_person: bool,
    speakers: Collection[str] = (),
    asked: AnsweredQuestion | None = None,
    opening: Opening | None = None,
) -> ExtractedItem | None:
    """Return the quotation of what a turn states that is worth keeping, or None.

    packed: the typed statements of its text. speakers: the first names of those who talk, in small letters. asked: the
    question that it answers. opening: what the talk began with. Of a turn's sentences those are quoted that stand
    around the surest statement; a question, a request or a supposition is not.
    """
    if not _is_own_words(turn.text, two_person=two_person):
        return None
    at = turn.created_at or said_at
    spans = list(split_spans(turn.text))
    told = [_tells(span.text, two_person=two_person) for span in spans]
    placed = [(each, place) for each in unpack(packed) if (place := _place_of(each, spans)) is not None and told[place]]
    matches = [pair for pair in placed if _is_worth(pair[0], weights) or _is_plain(pair[0], turn.text, weights)]
    # What is asked for surely tells what a short answer is about.
    matches = matches or [pair for pair in placed if asked is not None and _answers(pair[0], asked, weights)]
    if not matches:
        return None
    best, place = max(matches, key=lambda pair: pair[0].chance)
    words, first = _excerpt(turn.text, spans, told, place)
    # Whoever answers begins with the answer, or with a "yes".
    begins = len(turn.text[: spans[first].start].split()) <= MAX_WORDS_BEFORE
    asked = _shown_question(turn, words, at, asked) if begins else None
    opening = _shown_opening(turn, words, at, asked, opening)
    if not words or not _is_enough(words, best, speakers, asked, two_person=two_person):
        return None
    if asked is None and opening is None and (points_at_somebody(words) or begins_with_an_answer(words, at)):
        return None
    told_in = turn.text[best.start : best.end]
    attribute = weights.name(best.attributes[0])
    category = category_of(words, at, best, weights, asked.asks_for(weights) if asked else None)
    return ExtractedItem(
        text=_write(turn, words, at, asked, opening),
        channel=Channel.SEMANTIC,
        kind=sort_kind(words, category),
        category=category,
        importance=round((0.5 + best.chance) / 2, 2),
        sources=(turn.id,),
        valid_from=_begin_of(best, told_in, at),
        valid_to=_end_of(words, at, best),
        tier="fact",
        reason=f"states {attribute}",
        quoted=True,
        answers=_sources_of(opening, asked),
    )


def quote_told(
    turn: Memory, asked: AnsweredQuestion | None = None, opening: Opening | None = None
) -> list[ExtractedItem]:
    """Return quotations of all that a turn states, in pieces that fit; none of a pasted text.

    Questions are left out, and English suppositions. A model found that the turn tells something, and no rule read what
    it states, so its quotations have no end and end nothing. A piece that is a single word may be too long. asked: the
    question that it answers, shown before the first piece. opening: what the talk began with.
    """
    if not is_somebodys_words(turn.text) or _PASTED.search(turn.text):
        return []
    told = _told_in(turn.text)
    pieces: list[str] = []
    for part in (part for sentence in told for part in _fitting(sentence)):
        if pieces and len(pieces[-1]) + len(part) < MAX_QUOTED:
            pieces[-1] = f"{pieces[-1]} {part}"
        else:
            pieces.append(part)
    said = [" ".join(piece.split()) for piece in pieces if sum(map(str.isalnum, piece)) >= MIN_LETTERS]
    said = [words for words in said if asked is not None or _has_content(words)]
    begins = bool(said) and " ".join(turn.text.split()).startswith(said[0])
    items = [_as_item(turn, words, asked if begins and words is said[0] else None, opening) for words in said]
    at = turn.created_at
    # Without the question and the opening nobody knows who "she" is, or what "the 8th" answers.
    return [
        item
        for item, words in zip(items, said, strict=True)
        if item.answers or not (points_at_somebody(words) or begins_with_an_answer(words, at))
    ]


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


def _as_item(turn: Memory, words: str, asked: AnsweredQuestion | None, opening: Opening | None) -> ExtractedItem:
    category = category_of(words, turn.created_at)
    asked = _shown_question(turn, words, turn.created_at, asked)
    opening = _shown_opening(turn, words, turn.created_at, asked, opening, needed=points_at_somebody(words))
    return ExtractedItem(
        text=_write(turn, words, turn.created_at, asked, opening),
        channel=Channel.SEMANTIC,
        kind=sort_kind(words, category),
        category=category,
        importance=0.5,
        sources=(turn.id,),
        valid_from=turn.created_at,
        tier="fact",
        reason="a model found that it tells something",
        quoted=True,
        answers=_sources_of(opening, asked),
        may_end=False,
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


def _end_of(words: str, at: datetime, best: PackedStatement) -> datetime | None:
    """When what is stated ends, if a day to come was said: "in hospital until Friday", "the dentist on 5 March"."""
    until = best.until
    if until is not None and until >= at.toordinal():
        last: date | None = date.fromordinal(until)
    else:
        # A price or an amount holds beside the day: "the fee is 186 euros, due by 31 March".
        last = None if read_text(words).counted else appointed_end(words, at)
    if last is None or last == date.max:  # "valid until 9999-12-31" has no day after it
        return None
    # "Her last day is 27 June. The baby is due in July": the second sentence is not over with the first.
    if sum(map(_says_something, split_spans(words, small_starts=True))) > 1:
        return None
    return datetime.combine(last + timedelta(days=1), time(), at.tzinfo)


def _says_something(sentence: SentenceSpan) -> bool:
    read = read_text(sentence.text)
    return len(read.content) >= MIN_CONTENT or bool(read.numbers) or has_time_word(sentence.text)


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


def _has_content(words: str) -> bool:
    """Whether words tell anything beside grammar: not "and you"."""
    read = read_text(words)
    return _width(words) >= MIN_WIDTH or bool(read.content or read.numbers or read.names)


def _told_in(text: str) -> list[str]:
    """The sentences of a text that may state something; "…" shows that others were between them."""
    told: list[str] = []
    left_out = supposed = False
    for span in split_spans(text, small_starts=True):
        supposed = _is_supposed(span.text) or (supposed and _is_joined(span.text))
        if supposed or _ASKS.search(span.text) or _asks_briefly(span.text):
            left_out = bool(told)
            continue
        told.append(f"… {span.text}" if left_out else span.text)
        left_out = False
    return told


def _is_supposed(sentence: str) -> bool:
    """Whether an English sentence supposes something, or wonders about it.

    "If you need me, my number is ..." states the number, and "I'm supposed to take 5 mg" a duty.
    """
    if not is_english(sentence):
        return False
    bare = drop_openers(sentence)
    rest = pattern_of("stated", "en").sub(" ", bare)
    # "If you need me, I would come" promises, and states nothing.
    return supposes(rest.strip()) or (rest != bare and read_text(rest).has("doubt"))


def _asks_briefly(sentence: str) -> bool:
    """Whether a few words that begin with a question word ask without a mark: "how are the kids". Scripts with spaces.

    Longer ones may state something: "what is left to do: the extractor, the hall".
    """
    few = len(sentence.split()) <= MAX_ASKING_WORDS and not re.search(r"[,;:\d]|[.!]$", sentence.rstrip())
    return few and not GLUED_SCRIPT.search(sentence) and opens_question(sentence)


def _is_joined(sentence: str) -> bool:
    """Whether a sentence begins with a word that joins it to the one before: "and only on Thursdays"."""
    read = read_text(sentence)
    joins = None if read.words is None else read.words.patterns.get("joins")
    return joins is not None and joins.match(read.plain) is not None


def _is_enough(
    words: str, best: PackedStatement, speakers: Collection[str], asked: AnsweredQuestion | None, *, two_person: bool
) -> bool:
    """Whether words can be read later: with their question, or as no fragment; of English alone more is known."""
    if asked is None and not _stands_alone(words, best):
        return False
    if not is_english(words):
        return True
    answers = asked is not None
    sentences = [span.text for span in split_spans(words)]
    return says_enough(words, sentences, speakers, two_person=two_person, answers=answers)


def _answers(each: PackedStatement, asked: AnsweredQuestion, weights: StatementWeights) -> bool:
    """Whether a statement surely states something, and a question surely asks for a known attribute."""
    return (
        bool(each.subject)
        and each.subject != "third"
        and each.states >= 255 * MIN_STATES
        and asked.asks_for(weights) is not None
    )


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
    width = _width(words)
    spaced = width < 1.5 * len(words)
    sure = best.chance >= MIN_SURE or best.chances[0] * best.typical >= 255**2 * MIN_PLAIN
    least, fewest = (MIN_WIDTH_SURE, MIN_WORDS_SURE) if sure else (MIN_WIDTH, MIN_WORDS)
    return width >= least and not (spaced and len(words.split()) < fewest)


def _place_of(each: PackedStatement, spans: Sequence[SentenceSpan]) -> int | None:
    """The first sentence that a statement stands in."""
    return next((place for place, span in enumerate(spans) if span.end > each.start), None)


def _excerpt(text: str, spans: Sequence[SentenceSpan], told: Sequence[bool], place: int) -> tuple[str, int]:
    """The sentences around a place that tell something, as many as fit, and which is the first; "" for too long."""
    first = last = place
    grown = True
    while grown:
        grown = False
        if first and told[first - 1] and spans[last].end - spans[first - 1].start <= MAX_QUOTED:
            first, grown = first - 1, True
        if last + 1 < len(spans) and told[last + 1] and spans[last + 1].end - spans[first].start <= MAX_QUOTED:
            last, grown = last + 1, True
    words = " ".join(text[spans[first].start : spans[last].end].split())
    return (words if len(words) <= MAX_QUOTED else ""), first


def _sources_of(opening: Opening | None, asked: AnsweredQuestion | None) -> tuple[str, ...]:
    """The turns that words rest on beside their own."""
    matches = [*([opening.source] if opening is not None else []), *(asked.sources if asked is not None else ())]
    return tuple(dict.fromkeys(matches))


def _shown_question(
    turn: TurnText, words: str, at: datetime, asked: AnsweredQuestion | None
) -> AnsweredQuestion | None:
    """The question that words answer, where it fits beside them."""
    fits = asked is not None and len(_write(turn, words, at, asked)) <= MAX_STATEMENT_CHARACTERS
    return asked if fits else None


def _shown_opening(
    turn: TurnText,
    words: str,
    at: datetime,
    asked: AnsweredQuestion | None,
    opening: Opening | None,
    *,
    needed: bool = False,
) -> Opening | None:
    """The opening, as much of it as fits beside words and the question that they answer.

    None for long words, a new topic and words that say whom they are about, unless it is needed: the words speak of
    somebody whom they do not name.
    """
    if not needed and (_width(words) > MAX_DEPENDING_WIDTH or _GOES_ON.match(words) or says_whom(words)):
        return None
    if opening is None or (asked is not None and asked.sources[0] == opening.source):
        return None
    beside = len(_write(turn, words, at, asked, opening._replace(text="")))
    return opening.fitting(MAX_STATEMENT_CHARACTERS - beside)


def _write(
    turn: TurnText,
    words: str,
    at: datetime,
    asked: AnsweredQuestion | None = None,
    opening: Opening | None = None,
) -> str:
    english = is_english(words)
    who = (turn.name or "").strip() or ("The user" if english else "user")
    day = f"{at.day} {at:%B %Y}" if english else f"{at:%Y-%m-%d}"
    bare = _INNER_QUOTES.sub("'", words)
    before = "".join(f"{each.by}: '{each.text}' – " for each in (opening, asked) if each is not None)
    return f'{before}{who[:30]}, {day}: "{bare}"'
