"""What a clause of a text states, as a record, and its packed form in a store."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Final, Literal, NamedTuple

from memwarden.statements.wording import parts_of_introduction
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.sentences import split_spans

Sort = Literal["state", "change", "end"]
SORTS: Final[tuple[Sort, ...]] = ("state", "change", "end")

# Numbers of a packed vector, one byte each.
WIDTH: Final = 256
# The first byte of packed statements; what begins with another is skipped and made anew by a re-embedding.
FORMAT: Final = 5

_HEAD: Final = struct.Struct("<BB")
_FIXED: Final = struct.Struct("<IIIBBBBBBHHiiH")
# Beside the number of the sort.
OTHERS_BIT: Final = 2
NO_DAY: Final = -(1 << 31)


class PackedStatement(NamedTuple):
    """A statement as numbers.

    Attributes:
        attributes: codes of the three likeliest attributes. chances: theirs, 0..255.
        states: the chance that something is stated that holds, 0..255. changes: that it is a change or an end.
        typical: how near it lies to other statements of its likeliest attribute, 0..255.
        sort: number in SORTS. since, until: ordinal days; until may be None.
        of_others: whether it is surely about others alone.
        vector: WIDTH bytes, 127 times the unit vector.
    """

    attributes: tuple[int, int, int]
    chances: tuple[int, int, int]
    states: int
    changes: int
    typical: int
    sort: int
    start: int
    end: int
    since: int
    until: int | None
    subject: str
    vector: bytes
    of_others: bool = False

    @property
    def chance(self) -> float:
        """That it states something that holds, of its likeliest attribute, and said the way such are: 0..1."""
        return self.states * self.chances[0] * self.typical / 255**3


def pack(statements: Sequence[PackedStatement]) -> bytes:
    """Return the bytes of a text's statements; none for none."""
    if not statements:
        return b""
    parts = [_HEAD.pack(FORMAT, len(statements))]
    for each in statements:
        # Its length travels in a byte.
        subject = each.subject.encode()[:255]
        until = NO_DAY if each.until is None else each.until
        sorts = each.sort | each.of_others << OTHERS_BIT
        parts.append(
            _FIXED.pack(
                *each.attributes,
                *each.chances,
                each.states,
                each.changes,
                each.typical,
                each.start,
                each.end,
                each.since,
                until,
                sorts << 8 | len(subject),
            )
        )
        parts += [subject, each.vector]
    return b"".join(parts)


def unpack(packed: bytes) -> list[PackedStatement]:
    """Return the statements of a text; none from another format."""
    if not packed or packed[0] != FORMAT:
        return []
    matches: list[PackedStatement] = []
    place = _HEAD.size
    for _ in range(packed[1]):
        a, b, c, x, y, z, states, changes, typical, start, end, since, until, last = _FIXED.unpack_from(packed, place)
        place += _FIXED.size
        length = last & 255
        subject = packed[place : place + length].decode(errors="ignore")
        place += length
        vector = packed[place : place + WIDTH]
        place += WIDTH
        ended = None if until == NO_DAY else until
        sort, alone = last >> 8 & (1 << OTHERS_BIT) - 1, bool(last >> 8 + OTHERS_BIT)
        matches.append(
            PackedStatement(
                (a, b, c), (x, y, z), states, changes, typical, sort, start, end, since, ended, subject, vector, alone
            )
        )
    return matches


# The attribute of what fits no known attribute.
NONE: Final = "none"

# Of a longer text only the beginning is read: a pasted log costs no more than a long message.
MAX_CHARACTERS: Final = 4_000
MAX_CLAUSES: Final = 12
# A shorter text of several clauses is read as a whole too: what a short clause means stands in the others.
MAX_WHOLE: Final = 640
MIN_WIDTH: Final = 4
# A wider sentence is read as a whole and clause by clause; a full-width sign counts as two.
LONG_SENTENCE: Final = 70
MIN_CLAUSE: Final = 8
SHORT_CLAUSE: Final = 18

_SEMICOLON: Final = re.compile(r";\s+|；")
# "I live in Leeds and I teach maths" states two things.
_JOINED: Final = (
    r"\s+(?=(?:and (?:i|i'm|i've|my|we|our)|und (?:ich|wir|mein|meine|wohne|arbeite|bin)|"
    r"y (?:yo|mi|vivo|trabajo|soy|tengo)|et (?:je|mon|ma|nous|on))\b|et j')"
)
_AND_SELF: Final = re.compile(_JOINED, re.IGNORECASE)
_IS_WHAT: Final = re.compile(
    r"[\w'’ -]{1,30}?(?:\bis|['’]s|['’]m|\bam|\bist|\bbin|\bes|\bsoy|\best|\bsuis)\s+"
    r"(?:an? |una? |une? |eine? )?[\w-]{3,20}"
    r"(?: [a-zäöüß][\w-]{2,20})?(?=\s+(?:in|at|for|bei|an|en|à|chez|dans)\s)",
    re.IGNORECASE,
)
# "Ana left the bank, she's a cook now" too.
_AND_THIRD: Final = re.compile(
    r",\s+(?:and |und |y |et |ab \w+ |but |aber )?(?:he|she|they|er|sie|él|ella|ahora|il|elle|maintenant|ab)\b|"
    r"[，、].{0,4}(?:他|她|彼|下个月|来月|现在|今は)",
    re.IGNORECASE,
)
# A comma ends a clause only where a subject or a conjunction follows: "eggs, milk, flour" is a single clause.
_CLAUSE_END: Final = re.compile(
    r",\s+(?=(?:and|but|so|also|which means|und|aber|y|pero|et|mais|donc|ich|i|we|my|he|she|mein|meine|mi|mis|je|j'|"
    r"mon|ma|on|yo|er|sie|ab|él|ella|ahora|il|elle|maintenant)\b)|"
    rf"{_JOINED}|"
    r"\s+[–—-]\s+|、(?=.{8})|，(?=.{4})|,\s+(?=.{25})",
    re.IGNORECASE,
)
_BLANKS: Final = " \t-–—•*"


class Clause(NamedTuple):
    """A part of a text. start, end: its place there. before: what makes a sentence of it, as "I'm " of "a cook"."""

    text: str
    start: int
    end: int
    before: str = ""

    @property
    def spoken(self) -> str:
        """The words as a sentence."""
        return self.before + self.text


# Of somebody's words with their name and the day only the words state something.
_QUOTATION: Final = re.compile(
    r"(?:[^\"\n']{1,40}: '[^\"\n]{1,120}' – ){0,2}"
    r"(?P<speaker>[^\"\n]{1,40}), (?:\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d): \"(?P<words>[^\"]+)\"",
    re.DOTALL,
)


def quoted_words(text: str) -> str:
    """Return the words that a text quotes with their speaker and day, else the text itself."""
    quotation = _QUOTATION.fullmatch(text)
    return quotation["words"] if quotation else text


def shows_context(text: str) -> bool:
    """Whether a text quotes words behind an opening or a question, without which they are not understood."""
    quotation = _QUOTATION.fullmatch(text)
    return quotation is not None and quotation.start("speaker") > 0


def clauses_of(text: str) -> list[Clause]:
    """Return the text as a whole, if it is short, its sentences, and the clauses of long ones: a bounded number."""
    if quotation := _QUOTATION.fullmatch(text):
        first = quotation.start("words")
        inside = clauses_of(quotation["words"])
        return [Clause(part.text, first + part.start, first + part.end) for part in inside]
    matches: list[Clause] = []
    for sentence in _cut(text[:MAX_CHARACTERS]):
        if len(matches) >= MAX_CLAUSES:
            break
        # "Ok." and "是的" state nothing and would cost an embedding each.
        if _width(sentence.text) < MIN_WIDTH:
            continue
        matches.append(sentence)
        # "Jo is a vet in Bristol" tells two values, of which the second moves the meaning away from the first.
        if (is_what := _IS_WHAT.match(sentence.text)) and len(sentence.text) <= LONG_SENTENCE:
            matches.append(Clause(is_what[0], sentence.start, sentence.start + is_what.end()))
        if _width(sentence.text) > LONG_SENTENCE or _AND_SELF.search(sentence.text) or _AND_THIRD.search(sentence.text):
            matches.extend(_parts(sentence))
    parts = parts_of_introduction(text)
    introduced = [Clause(text[part.start : part.end], *part) for part in parts]
    if len(matches) > 1 and len(text) <= MAX_WHOLE:
        whole = text.strip()
        start = text.index(whole)
        matches.insert(0, Clause(whole, start, start + len(whole)))
    # A part that says itself who is meant may stand there already.
    spans = {(clause.start, clause.end) for clause in matches}
    matches += [part for part in introduced if (part.start, part.end) not in spans]
    return list(dict.fromkeys(matches))[:MAX_CLAUSES]


def _cut(text: str) -> list[Clause]:
    """Return the sentences of a text, cut at semicolons too."""
    spans = split_spans(text, small_starts=True)
    return [part for span in spans for part in _split(span.text, span.start, _SEMICOLON)]


def _parts(sentence: Clause) -> list[Clause]:
    joined: list[Clause] = []
    for part in _split(sentence.text, 0, _CLAUSE_END):
        if _width(part.text) < MIN_CLAUSE:
            continue
        # "Also," or "In May," says nothing alone; what follows does.
        if joined and _width(joined[-1].text) < SHORT_CLAUSE:
            start = joined.pop().start
            part = Clause(sentence.text[start : part.end], start, part.end)
        joined.append(part)
    if len(joined) < 2:
        return []
    return [Clause(part.text, sentence.start + part.start, sentence.start + part.end) for part in joined]


def _split(text: str, first: int, ends: re.Pattern[str]) -> list[Clause]:
    matches: list[Clause] = []
    begin = 0
    for start, end in [*(match.span() for match in ends.finditer(text)), (len(text), len(text))]:
        part = text[begin:start]
        bare = part.strip(_BLANKS)
        if bare:
            place = first + begin + part.index(bare)
            matches.append(Clause(bare, place, place + len(bare)))
        begin = end
    return matches


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)


_UNTIL: Final = re.compile(
    r"\b(?:until|till|til|up to|bis(?: zum)?|hasta(?: el)?|jusqu\S*)\s|まで|为止|到.{1,8}(?:结束|为止)", re.IGNORECASE
)


def days_held(text: str, at: datetime) -> tuple[date, date | None]:
    """Since when, and up to when, what a clause says holds: days that it names, else the day on which it was said."""
    said = at.date()
    spans = spans_in(text, at)
    if not spans:
        return said, None
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    # "until 30 June" ends what holds; the same days without it say since when.
    if _UNTIL.search(text):
        return (first if first <= said and first != last else said), last
    return first, None


# The key of whoever is spoken of as "she" or "they".
ANYBODY: Final = "third"


def same_subject(left: Collection[str], right: Collection[str]) -> bool:
    """Whether two clauses may be about the same: they share a key, or either names nobody."""
    return not left or not right or ANYBODY in left or ANYBODY in right or not set(left).isdisjoint(right)
