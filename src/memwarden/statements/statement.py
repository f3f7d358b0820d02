"""What a clause of a text states, as a record, and its packed form in a store."""

from __future__ import annotations

import re
import struct
import tomllib
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.records import Channel, IndexRow, Memory, Statement
from memwarden.text.dates.recognizer import spans_in

Sort = Literal["state", "change", "end"]
SORTS: Final[tuple[Sort, ...]] = ("state", "change", "end")

# Numbers of a packed vector, one byte each.
WIDTH: Final = 256
# The first byte of packed statements; what begins with another is skipped and made anew by a re-embedding.
FORMAT: Final = 4

_HEAD: Final = struct.Struct("<BB")
_FIXED: Final = struct.Struct("<IIIBBBBBBHHiiH")
NO_DAY: Final = -(1 << 31)


class PackedStatement(NamedTuple):
    """A statement as numbers.

    Attributes:
        attributes: codes of the three likeliest attributes. chances: theirs, 0..255.
        states: the chance that something is stated that holds, 0..255. changes: that it is a change or an end.
        typical: how near it lies to other statements of its likeliest attribute, 0..255.
        sort: number in SORTS. since, until: ordinal days; until may be None.
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
        sorts = each.sort
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
    found: list[PackedStatement] = []
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
        found.append(
            PackedStatement(
                (a, b, c), (x, y, z), states, changes, typical, last >> 8, start, end, since, ended, subject, vector
            )
        )
    return found


# What states something with a smaller chance is evidence for a search, but shown as a statement nowhere.
MIN_CHANCE: Final = 0.35
MAX_VALUE: Final = 200
# The attribute of what fits no known attribute.
NONE: Final = "none"


def is_read(packed: bytes | None) -> bool:
    """Whether a text's statements were read, in the present format; a text may state nothing."""
    return packed is not None and (not packed or packed[0] == FORMAT)


def lacks_signals(row: IndexRow, stating: bool) -> bool:
    """Whether signals of a row are still to be made: a turn's vector, or statements that no release of now has read.

    stating: whether there is a model that reads statements.
    """
    if not row.vector:
        return row.vector is not None or row.channel == Channel.TURN
    return stating and not is_read(row.statements)


def show_statements(
    memory: Memory, packed: Sequence[PackedStatement], name: Callable[[int], str]
) -> tuple[Statement, ...]:
    """Return what a memory states as records: the narrowest clauses that likely state something.

    name: the attribute of a code.
    """
    likely = [each for each in packed if each.states >= 255 * MIN_CHANCE]
    inner = [each for each in likely if not any(_is_inside(other, each) for other in likely)]
    return tuple(_record(memory.text, each, name(each.attributes[0]), memory.sources) for each in inner)


def _is_inside(inner: PackedStatement, outer: PackedStatement) -> bool:
    return inner is not outer and outer.start <= inner.start and inner.end <= outer.end


def _record(text: str, each: PackedStatement, attribute: str, sources: tuple[str, ...]) -> Statement:
    return Statement(
        each.subject,
        attribute,
        text[each.start : each.end][:MAX_VALUE],
        date.fromordinal(each.since),
        None if each.until is None else date.fromordinal(each.until),
        SORTS[each.sort],
        round(each.states / 255 * (each.chances[0] * each.typical / 255**2 if attribute != NONE else 1), 3),
        each.start,
        each.end,
        sources,
    )


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

# The lookbehinds keep the sign with the sentence before it, and are of fixed length, so that time stays linear.
_SENTENCE_END: Final = re.compile(r"(?:(?<=[.!?…])[\"'”’)\]]{0,3}\s+(?=\S))|(?<=[。！？!?])(?=\S)|\n+|;\s+|；")
_ABBREVIATION: Final = re.compile(
    r"\b(?:Mr|Mrs|Ms|Dr|Dra|Sr|Sra|Prof|St|Jr|vs|etc|approx|No|Nr|Str|ca|bzw|z\.B|u\.a|d\.h|a\.m|p\.m|e\.g|i\.e|[A-Z]|"
    r"\d)\.$"
)
# "Am 30. Juni" is one clause.
_DAY: Final = re.compile(r"\b\d{1,2}\.$")
_GERMAN_MONTH: Final = re.compile(r"(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
# "I live in Leeds and I teach maths" states two things.
_JOINED: Final = (
    r"\s+(?=(?:and (?:i|i'm|i've|my|we|our)|und (?:ich|wir|mein|meine|wohne|arbeite|bin)|"
    r"y (?:yo|mi|vivo|trabajo|soy|tengo)|et (?:je|mon|ma|nous|on))\b|et j')"
)
_AND_SELF: Final = re.compile(_JOINED, re.IGNORECASE)
# A comma ends a clause only where a subject or a conjunction follows: "eggs, milk, flour" is a single clause.
_CLAUSE_END: Final = re.compile(
    r",\s+(?=(?:and|but|so|also|which means|und|aber|y|pero|et|mais|donc|ich|i|we|my|he|she|mein|meine|mi|mis|je|j'|"
    r"mon|ma|on|yo)\b)|"
    rf"{_JOINED}|"
    r"\s+[–—-]\s+|、(?=.{8})|，(?=.{4})|,\s+(?=.{25})",
    re.IGNORECASE,
)
_BLANKS: Final = " \t-–—•*"


class Clause(NamedTuple):
    """A part of a text. start, end: its place in the text."""

    text: str
    start: int
    end: int


# Of somebody's words with their name and the day only the words state something.
_QUOTATION: Final = re.compile(
    r"(?P<speaker>[^\"\n]{1,40}), (?:\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d): \"(?P<words>[^\"]+)\"", re.DOTALL
)


def quoted_speaker(text: str) -> str | None:
    """Return whose words a text quotes with their day; None for what quotes nobody so."""
    quotation = _QUOTATION.fullmatch(text)
    return quotation["speaker"] if quotation else None


def clauses_of(text: str) -> list[Clause]:
    """Return the text as a whole, if it is short, its sentences, and the clauses of long ones: a bounded number."""
    if quotation := _QUOTATION.fullmatch(text):
        first = quotation.start("words")
        inside = clauses_of(quotation["words"])
        return [Clause(part.text, first + part.start, first + part.end) for part in inside]
    found: list[Clause] = []
    for sentence in _cut(text[:MAX_CHARACTERS]):
        if len(found) >= MAX_CLAUSES:
            break
        # "Ok." and "是的" state nothing and would cost an embedding each.
        if _width(sentence.text) < MIN_WIDTH:
            continue
        found.append(sentence)
        if _width(sentence.text) > LONG_SENTENCE or _AND_SELF.search(sentence.text):
            found.extend(_parts(sentence))
    if len(found) > 1 and len(text) <= MAX_WHOLE:
        whole = text.strip()
        start = text.index(whole)
        found.insert(0, Clause(whole, start, start + len(whole)))
    return list(dict.fromkeys(found))[:MAX_CLAUSES]


def _cut(text: str) -> list[Clause]:
    found: list[Clause] = []
    for part in _split(text, 0, _SENTENCE_END):
        # "Dr. Hahn" was cut in two: the dot belongs to the word before it.
        before = found[-1].text if found else ""
        if found and (_ABBREVIATION.search(before) or (_DAY.search(before) and _GERMAN_MONTH.match(part.text))):
            start = found.pop().start
            part = Clause(text[start : part.end], start, part.end)
        found.append(part)
    return found


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
    found: list[Clause] = []
    begin = 0
    for start, end in [*(match.span() for match in ends.finditer(text)), (len(text), len(text))]:
        part = text[begin:start]
        bare = part.strip(_BLANKS)
        if bare:
            place = first + begin + part.index(bare)
            found.append(Clause(bare, place, place + len(bare)))
        begin = end
    return found


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


def with_other_keys(asked: Sequence[str], told: Iterable[Sequence[str]]) -> set[str]:
    """Return the keys of somebody with the others by which texts call them: who said "my sister Marta" asks for both.

    told: the keys of each statement.
    """
    found = set(asked)
    beside = [keys for keys in told if len(keys) > 1 and not found.isdisjoint(keys)]
    for keys in beside:
        relations = {key for key in keys if key.startswith("relation:")}
        names = {key for key in keys if key.startswith("name:")}
        # "Marta and my mother" are two.
        if len(relations) == len(names) == 1 and not found.isdisjoint(relations | names):
            found |= relations | names
    return found


_TITLED: Final = (
    re.compile(r"([\u30a0-\u30ff]{2,8}|[\u4e00-\u9fff]{1,3}|[A-Za-z]{2,12})(?:さん|ちゃん|くん|君|様|先生|課長|部長)"),
    re.compile(
        r"((?:小(?![学时心区说孩猫狗型吃组店号米麦提费朋])|老(?![师板家人公婆是实年虎鼠])|阿(?!姨))[\u4e00-\u9fff]|"
        r"[\u4e00-\u9fff](?:医生|老师|总|姐|哥|叔|阿姨|经理|律师))"
    ),
)
# Who lives, works or marries is somebody, whose name stands first; so is who is sent elsewhere, studies or falls ill.
_TOPIC: Final = (
    re.compile(
        r"^([\u4e00-\u9fff\u30a0-\u30ff]{1,5})[はが](?=.*(?:住[んみ]|暮らし|働[いく]|引っ越|転職|勤め|結婚|離婚|卒業|入学|生まれ|飼っ))"
    ),
    # Only with the particle of a topic: "転勤が決まった" tells of whoever speaks, "健太は転勤で今は広島です" of Kenta.
    re.compile(
        r"^([\u4e00-\u9fff\u30a0-\u30ff]{1,5})は(?=.*(?:転勤|異動|赴任|出向|就職|退職|留学|進学|入院|退院|帰国|亡くな|通[っい]))"
    ),
    re.compile(
        r"^([\u4e00-\u9fff]{2,3}?)(?:现在|最近|已经|今年|去年|刚|上个月)*(?=住在|搬到|搬去|搬家|在.{1,8}(?:工作|上班|当)|当上?了|换工作|结婚|离婚|生了)"
    ),
)
# "弟の翔", "我弟弟林涛是": a name right after the relation.
_RELATED: Final = re.compile(
    r"^(?:の([\u4e00-\u9fff\u30a0-\u30ff]{1,5}?)(?=[はがをとも、])|([\u4e00-\u9fff]{2,3}?)(?=是|在|住|叫|当|搬|现|最近))"
)
MAX_NAME: Final = 8


def find_unspaced_names(
    text: str, relation_ends: Iterable[int], starts_with_somebody: bool
) -> list[tuple[int, int, str]]:
    """Return names in Japanese and Chinese, with where they stand and their length.

    relation_ends: where words for relations end. starts_with_somebody: whether the text begins with somebody known.
    """
    found = [(hit.start(), len(hit[0]), hit[1]) for pattern in _TITLED for hit in pattern.finditer(text)]
    for end in relation_ends:
        if hit := _RELATED.match(text[end : end + MAX_NAME]):
            found.append((end, 0, hit[1] or hit[2]))
    if not starts_with_somebody and all(start for start, _, _ in found):
        hits = (pattern.match(text) for pattern in _TOPIC)
        found += [(0, len(hit[1]), hit[1]) for hit in hits if hit][:1]
    return found


When = Literal["current", "past", "list", "when", "why"]

_PAST: Final = re.compile(
    r"\b(?:used? to|formerly|(?:my|our) (?:old|former|previous)|früher\w*|antiguamente|mi (?:antigu[oa]|anterior)|"
    r"autrefois|mon ancien|mon ancienne)\b|昔",
    re.IGNORECASE,
)
_WHY: Final = re.compile(
    r"\b(?:why|reason|how come|warum|wieso|weshalb|por qué|pourquoi)\b|なぜ|なんで|どうして|为什么|为啥|干嘛",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\b(?:when|what (?:day|date|time)|how long|wann|wie lange|seit wann|cuándo|cuánto tiempo|quand|combien de temps|"
    r"quelle date)\b|いつ|何時|何日|何曜日|什么时候|几点|几号|哪天|多久",
    re.IGNORECASE,
)
_LIST: Final = re.compile(
    r"\b(?:list|all (?:the|my|of|our)|everything|everyone|which \w+s|names of|alle|sämtliche|liste|todos|todas|lista|"
    r"tous|toutes)\b|全部|ぜんぶ|一覧|リスト|所有|都有|哪些|列",
    re.IGNORECASE,
)


def when_asked(text: str, past: float) -> When:
    """Return what a question asks for: the present, the past, a list, a time or a reason. past: the chance of that."""
    if _WHY.search(text):
        return "why"
    # A reason is asked for in the past tense too, so that "why" goes first.
    if past >= 0.5 or _PAST.search(text):
        return "past"
    if _WHEN.search(text):
        return "when"
    return "list" if _LIST.search(text) else "current"


# "What does Jo do?" asks for a job where it says no more.
_DOES_WHAT: Final = re.compile(
    r"^\W*(?:"
    r"what (?:does|do|did) [\w'’ -]{1,40} do(?: for (?:a living|work))?(?: now| these days)?|"
    r"was (?:macht|arbeitet|machen) [\w'’ -]{1,40}|"
    r"(?:qué|que) hace[n]? [\w'’ -]{1,40}|[\w'’ -]{1,40} (?:fait|font) quoi(?: dans la vie)?|"
    r"que fai(?:t|sait) [\w'’ -]{1,40}"
    r")\W*$|"
    r"(?:何|なに)を?して(?:い)?(?:る|ます)|(?:做|干)(?:什么|啥|嘛)(?:工作|的)",
    re.IGNORECASE,
)
# "I'm Mia, 34" tells a name and an age.
_INTRODUCES: Final = re.compile(
    r"\b(?:i['’]?m|i am|my name is|this is|ich bin|ich hei(?:ß|ss)e|soy|me llamo|je suis|"
    r"je m['’]appelle|moi c['’]est)\s+"
    r"(?:die |der |el |la )?[\w'’-]{2,20},? (?:and |und |y |et |i['’]m |bin |tengo |j['’]ai )*(?:1[0-9]|[2-9]\d)\b"
    r"(?!\s*(?:km|kg|min|eur|€|\$|%|:|minut|hour|stund|euro|day|week|month|tage|wochen|semanas|días|d[ií]as))|"
    r"(?:我叫|我是|私は)[\u3040-\u30ff\u4e00-\u9fffA-Za-z]{1,8}[，,、 ](?:今年)?(?:1[0-9]|[2-9]\d)[岁歳]",
    re.IGNORECASE,
)


def asks_what_somebody_does(text: str) -> bool:
    """Whether a question asks what somebody does, and says no more."""
    return _DOES_WHAT.search(text[:MAX_VALUE]) is not None


def introduces_with_age(text: str) -> bool:
    """Whether somebody tells a name and an age in one breath."""
    return _INTRODUCES.search(text[:MAX_VALUE]) is not None


BUCKETS: Final = 1 << 14
MAX_READ_CHARACTERS: Final = 400

_HASHED_WORD: Final = re.compile(r"[a-z0-9äöüßàâçéèêëîïôûùœáíóúñ¿¡']+|[\u3040-\u30ff\u4e00-\u9fff]")
_DIGITS: Final = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, every number as "0"; each sign of an unspaced language is a word."""
    # "rent 540" and "rent 612" state the same attribute: every number is the same word.
    return _HASHED_WORD.findall(_DIGITS.sub("0", text[:MAX_READ_CHARACTERS].lower().replace("’", "'")))


def buckets_of(text: str) -> list[int]:
    """Return the sorted buckets of a text's words, of its pairs of words and of the beginnings of long words."""
    words = words_of(text)
    found = {f"u{word}" for word in words}
    found |= {f"p{word[:5]}" for word in words if len(word) > 5 and word.isalpha()}
    # Pairs hold what single words do not: "not" with its verb, "want to", the first and the last word of a question.
    found |= {f"b{left} {right}" for left, right in zip(["^", *words], [*words, "$"], strict=True)}
    if "?" in text or "？" in text:
        found.add("?")
    # A checksum, not hash(): the weights were fitted in another process.
    return sorted({zlib.crc32(feature.encode()) % BUCKETS for feature in found})


Floats = npt.NDArray[np.float32]


class LinearHead(NamedTuple):
    """A linear map of a sentence vector and of hashed words. words is None for a map of the vector alone."""

    dense: Floats
    words: Floats | None
    bias: Floats

    def scores(self, vectors: Floats, buckets: list[list[int]]) -> Floats:
        """Return one line of scores a clause."""
        scores = vectors @ self.dense + self.bias
        if self.words is not None:
            # Few buckets a clause: adding their rows beats a sparse product, which would need scipy.
            for line, places in enumerate(buckets):
                scores[line] += self.words[places].sum(axis=0) / np.sqrt(len(places) or 1)
        return np.asarray(scores, np.float32)


def add_needed(chances: Floats, attributes: tuple[str, ...]) -> Floats:
    """Return the chances of a request's attributes with those of what the topics need that it sounds like.

    attributes: the names of the columns.
    """
    topics, needed = _tables(attributes)
    about = np.minimum(topics @ chances, np.float32(1))
    return np.asarray(np.maximum(chances, (needed * about[:, None]).max(axis=0)), np.float32)


@cache
def _tables(attributes: tuple[str, ...]) -> tuple[Floats, Floats]:
    """A line a topic: 1 for what it sounds like, and for what it needs."""
    read = tomllib.loads(files(__package__).joinpath("needs.toml").read_text(encoding="utf-8"))
    sides = [[np.isin(attributes, topic[side]) for topic in read.values()] for side in ("topics", "needed")]
    topics, needed = (np.array(side, np.float32) for side in sides)
    return topics, needed


class CommonWords:
    """Words in lower case that are nobody's name, by checksum."""

    def __init__(self, checksums: frozenset[int]) -> None:
        self._checksums = checksums

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and zlib.crc32(word.encode()) in self._checksums

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return len(self._checksums)
