"""Words of a text that say what is over, changed, corrected or doubtful, read with the lexicon of its language."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Final

from memwarden.statements.homes import Home, find_home
from memwarden.statements.reader import CommonWords, load_weights
from memwarden.statements.wording import find_mentions, find_named_kin, names_in, subject_words
from memwarden.text.dates.calendar import DaySpan
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import language_of, normalize_text
from memwarden.text.lexicon import all_words, languages, load_lexicon
from memwarden.text.tokenizer import stop_words, terms
from memwarden.text.update_words import GLUED_LANGUAGES, UpdateWords, load_update_words

# Characters read. A longer text tells a story, of which no single part replaces a statement.
MAX_CHARACTERS: Final = 300

_CLAUSE_END: Final = re.compile(r"[,;:()]+\s|[.!?…]+(?=\s|$)|\s[–—-]+\s|[，、。！？；\n]+")
# An abbreviation before its full stop, which ends no clause: "Mr. Platt".
_ABBREVIATION: Final = re.compile(
    rf"(?<!\w)({'|'.join(re.escape(word.lower()) for word in sorted(all_words('abbreviations')))})\.(?=\s)"
)
# The full stop of a day before its month, which ends no clause: "am 12. Juni".
_DAY_OF_MONTH: Final = re.compile(
    rf"(?<=\d)\.(?=\s(?:{'|'.join(re.escape(normalize_text(word)) for word in sorted(all_words('months')))})(?!\w))"
)
# Languages whose common words are known, so that an unknown capitalised first word is a name.
NAMED_FIRST: Final = ("en", "es", "fr")
# Languages whose subjects are read by lists.
_READ_SUBJECTS: Final = ("en", "de", "es", "fr", "ja", "zh")
_FIRST_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Japanese writes grammar in hiragana, and values in other signs.
_KANA: Final = re.compile("[\u3040-\u309f]")
_ASKS: Final = re.compile(r"[?？؟]")
_SENTENCE_END: Final = re.compile(r"[.!?。！？…][\"'”’)\]]*$")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_UNIT: Final = re.compile(r"\d[\s]*([^\W\d_]+)")
# Relative days are compared with the day of this moment; only whether a day is named matters.
_ANY_DAY: Final = datetime(2026, 6, 3, 12, tzinfo=UTC)
# Roles whose words are grammar of a change and no part of what it is about.
_GRAMMAR: Final = (
    "said", "over", "changed", "scaled", "corrected", "now", "moved", "hired", "negation", "uses", "parted", "left",
    "usual",
)  # fmt: skip
_TOKEN: Final = re.compile(r"[\w'’@./:+#-]*[\w@/+#]")


@dataclass(frozen=True, slots=True)
class ReadClause:
    """A clause: its normalised text, the roles whose words it holds, and stems of what it is about."""

    text: str
    roles: frozenset[str]
    content: frozenset[str]


@dataclass(frozen=True, slots=True)
class ReadText:
    """A statement as far as updates need it.

    Attributes:
        plain: normalised words.
        tokens: its words, or its signs in a script without spaces, without weak signs of change.
        content: stems of what it is about, without grammar of changes.
        heads: stems of its words for things that people have many of.
        singles: stems of its words for things that have one value at a time.
        units: stems of the words behind its numbers.
        numbers: in digits.
        counted: of these, those that are part of no day and no time.
        days: first and last of each that it names.
        dates: of these, those that are no weekday.
        weekdays: stems of its weekdays, also of those that recur: "on Mondays".
        capitals: its capitalised tokens, normalised.
        names: in lower case.
        subject_names: names that it may be about.
        first_name: its first word, if that may be a name.
        subject_stems: stems of the names that it may be about.
        relations: keys of the relatives that it names.
        person: "self", "third" or "".
        others: whether it has a pronoun of the third person.
        home: the address that it gives as a home, if it gives one.
        relatives: names that it gives to relatives: "my sister Orla".
    """

    language: str
    words: UpdateWords | None
    glued: bool
    plain: str
    tokens: tuple[str, ...]
    asks: bool
    clauses: tuple[ReadClause, ...]
    content: frozenset[str]
    heads: frozenset[str]
    singles: frozenset[str]
    units: frozenset[str]
    numbers: frozenset[str]
    counted: frozenset[str]
    days: frozenset[tuple[int, int]]
    dates: frozenset[tuple[int, int]]
    weekdays: frozenset[str]
    day_tokens: frozenset[str]
    capitals: frozenset[str]
    names: frozenset[str]
    subject_names: frozenset[str]
    first_name: str
    subject_stems: frozenset[str]
    relations: frozenset[str]
    person: str
    others: bool
    home: Home | None
    relatives: frozenset[str]

    def has(self, role: str) -> bool:
        """Whether any clause holds a word of a role."""
        return any(role in clause.roles for clause in self.clauses)

    def is_grammar(self, token: str) -> bool:
        """Whether a token is a function word, a denial or a verb that says nothing by itself."""
        if self.words is None:
            return False
        if self.glued:
            return _KANA.fullmatch(token) is not None
        patterns = self.words.patterns
        return token in stop_words(self.language) or any(
            patterns[role].fullmatch(token) for role in ("uses", "negation", "doubt")
        )


@lru_cache(maxsize=2_000)
def read_text(text: str, language: str | None = None) -> ReadText:
    """Read a statement in a language, by default its own."""
    code = language or language_of(text)
    words = load_update_words(code)
    some = " ".join(text.split())[:MAX_CHARACTERS]
    plain, glued = normalize_text(some), code in GLUED_LANGUAGES
    spans = spans_in(some, _ANY_DAY)
    dated = {term for span in spans for term in terms(span.text, code)}
    numbers = set(_NUMBER.findall(plain))
    counted: set[str] = set()
    if words is not None:
        numbers |= {words.numbers[word] for word in plain.split() if word in words.numbers}
        counted = {stem for word in words.numbers for stem in terms(word, code)}
    whole = _DAY_OF_MONTH.sub("", _ABBREVIATION.sub(r"\1", plain))
    parts = [part for part in _CLAUSE_END.split(whole) if part.strip()] if len(text) <= MAX_CHARACTERS else []
    dropped = dated | counted | _calendar(code)
    clauses = () if words is None else tuple(_read_clause(part, words, code, dropped) for part in parts)
    mentions = sorted(find_mentions(some, _common()))
    persons = [each.sort for each in mentions if each.sort in ("self", "third")]
    named = {each.key.partition(":")[2] for each in mentions if each.sort == "name"}
    # Where no list tells a place from a person, only the first word may be a name that counts.
    read = code in _READ_SUBJECTS
    about = {name for name in named if read and not (_is_known(name, words, code) or plain.startswith(name))}
    first = _first_name(some, words, code)
    in_days = {number for span in spans for number in _NUMBER.findall(span.text)}
    return ReadText(
        code,
        words,
        glued,
        plain,
        _tokens(plain, words, glued),
        _ASKS.search(text) is not None,
        clauses,
        frozenset().union(*(clause.content for clause in clauses)),
        _stems_of("several", plain, words, code),
        _stems_of("single", plain, words, code),
        frozenset(stem for word in _UNIT.findall(plain) for stem in terms(word, code)),
        frozenset(numbers),
        frozenset(number for number in numbers - in_days if number.isdigit()),
        frozenset((span.first.toordinal(), span.last.toordinal()) for span in spans),
        frozenset((span.first.toordinal(), span.last.toordinal()) for span in spans if not _is_weekday(span)),
        _weekdays(code) & set(terms(plain, code)),
        frozenset(token for span in spans for token in _tokens(normalize_text(span.text), None, glued)),
        frozenset(normalize_text(token) for token in _TOKEN.findall(some) if token[0].isupper()),
        frozenset(names_in(some, _common())),
        frozenset(about),
        first,
        frozenset(stem for name in (*about, first) for stem in terms(name, code)),
        frozenset(each.key for each in mentions if each.sort == "relation"),
        persons[0] if persons else "",
        "third" in persons,
        find_home(some, code),
        find_named_kin(mentions),
    )


def names_dwelling(clause: ReadClause, stems: frozenset[str], text: ReadText) -> bool:
    """Whether a clause names a dwelling or a time in a place: "my time in Leeds".

    In a script without spaces the place is in front of it, so that the flat of a friend there is not the speaker's.
    """
    hits = text.words.patterns["dwelling"].finditer(clause.text) if "dwelling" in clause.roles and text.words else ()
    return any(not text.glued or clause.text[: hit.start()].endswith(tuple(stems)) for hit in hits)


def stems_of_names(text: ReadText) -> frozenset[str]:
    """Return stems of the names that a text may be about, its first word among them where names are known by it."""
    names = (*text.subject_names, text.first_name if text.language in NAMED_FIRST else "")
    return frozenset(stem for name in names for stem in terms(name, text.language))


def moves_thing(clause: ReadClause, text: ReadText, known: Collection[str]) -> bool:
    """Whether words before a move are of something else: "my dentist has moved", "Nora's interview was moved".

    known: stems that may stand there.
    """
    hit = text.words.patterns["moved"].search(clause.text) if text.words is not None and not text.glued else None
    if hit is None:
        return False
    words, before = subject_words(), clause.text[: hit.start()]
    if not (words.self - words.possessive).isdisjoint(before.split()):  # "we finally moved", "my wife and I moved"
        return False
    return bool(clause.content.intersection(terms(before, text.language)).difference(known) - stems_of_names(text))


def says_whom(text: str) -> bool:
    """Whether words are whole written sentences that name whom they are about: the speaker, or somebody by name.

    Such words need no other words beside them. A pronoun of the third person may need them.
    """
    if text[:1].islower() or not _SENTENCE_END.search(text):
        return False
    read = read_text(text)
    return not read.others and (read.person == "self" or bool(read.names))


def _is_weekday(span: DaySpan) -> bool:
    return span.first == span.last and not any(sign.isdigit() for sign in span.text)


def _read_clause(part: str, words: UpdateWords, code: str, dropped: Collection[str]) -> ReadClause:
    roles = frozenset(role for role, pattern in words.patterns.items() if pattern.search(part))
    bare = part
    for role in _GRAMMAR:
        bare = words.patterns[role].sub(_keep_between, bare) if role in words.patterns else bare
    content = (term for term in terms(bare, code) if term not in dropped and not any(map(str.isdigit, term)))
    return ReadClause(part, roles, frozenset(content))


def _keep_between(match: re.Match[str]) -> str:
    """The words between the two parts of a phrase, which are part of what a clause is about."""
    return f" {' '.join(filter(None, match.groups()))} "


def _stems_of(role: str, plain: str, words: UpdateWords | None, code: str) -> frozenset[str]:
    hits = words.patterns[role].finditer(plain) if words is not None else ()
    return frozenset(stem for hit in hits for stem in terms(hit[0], code))


def _tokens(plain: str, words: UpdateWords | None, glued: bool) -> tuple[str, ...]:
    bare = plain if words is None else words.patterns["now"].sub(" ", plain)
    return tuple(sign for sign in bare if sign.isalnum()) if glued else tuple(_TOKEN.findall(bare))


def _first_name(text: str, words: UpdateWords | None, code: str) -> str:
    """The first word if it may be a name: capitalised, and no word that the lists know."""
    hit = _FIRST_WORD.match(text)
    word = normalize_text(hit[0]) if hit is not None and hit[0][0].isupper() else ""
    return "" if _is_known(word, words, code) else word


def _is_known(word: str, words: UpdateWords | None, code: str) -> bool:
    if not word or word in stop_words(code) or word in _common():
        return True
    return words is not None and any(pattern.fullmatch(word) for pattern in words.patterns.values())


@cache
def _calendar(code: str) -> frozenset[str]:
    """Stems of the months, weekdays and units of time of a language, which say no more than when."""
    return _stems_in(("months", "weekdays", "time_units"), code)


@cache
def _weekdays(code: str) -> frozenset[str]:
    return _stems_in(("weekdays",), code)


def _stems_in(roles: Sequence[str], code: str) -> frozenset[str]:
    words = load_lexicon(code).words if code in languages() else {}
    return frozenset(stem for role in roles for word in words.get(role, ()) for stem in terms(word, code))


@cache
def _common() -> CommonWords:
    return CommonWords(load_weights().common)
