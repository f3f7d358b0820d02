"""What is known of a text when it is written: whether it names a time, asks something, or is small talk alone."""

from __future__ import annotations

import re
import sys
from array import array
from datetime import datetime
from enum import IntFlag
from typing import Final, NamedTuple

from memwarden.text import tokenizer
from memwarden.text.dates.calendar import encode
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.language import DEFAULT_LANGUAGE, normalize_text
from memwarden.text.lexicon import load_lexicon, load_months, load_weekdays
from memwarden.text.tokenizer import terms


class Flag(IntFlag):
    """What is known of a text, stored with it."""

    TIME = 1
    QUESTION = 2
    CHATTER = 4


def flags(text: str) -> int:
    """All flags of a text."""
    return Flag.TIME * has_time_word(text) | Flag.QUESTION * asks_question(text) | Flag.CHATTER * is_chatter(text)


_WEEKDAY: Final = "|".join(load_weekdays("en"))
# "May" is a word more often.
_MONTH_BUT_MAY: Final = "|".join(name for name in load_months("en") if name != "may")
_TIME_WORD: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|earlier|"
    r"(?:last|next|this|past|coming|previous|following|few|couple(?: of)?|\d+|two|three|four|five|six|"
    r"seven|eight|nine|ten|a|an|each|every)\s+(?:second|minute|hour|night|morning|afternoon|evening|"
    r"day|week|weekend|month|year|decade|summer|winter|spring|fall|autumn|semester|quarter|"
    rf"{_WEEKDAY})s?|"
    rf"(?:{_WEEKDAY})s?|weekend|{_MONTH_BUT_MAY}|"
    r"(?:in|since|by|until|early|late|mid|of)\s+may|may\s+\d{1,2}|\d{1,2}(?:st|nd|rd|th)|"
    r"(?:19|20)\d\d|since|\d{1,2}\s*(?:am|pm)|\d{1,2}:\d\d|"
    r"gestern|heute|morgen|letzte[nrs]?|nächste[nrs]?|hier|demain|aujourd'hui|dernière?|prochaine?|"
    r"ayer|hoy|mañana|pasad[oa]|próxim[oa]|ieri|oggi|domani|scors[oa]|prossim[oa]|ontem|hoje|amanhã|"
    r"gisteren|vandaag|вчера|сегодня|завтра)\b"
    r"|昨天|今天|明天|上周|上个月|去年|今年|明年|\d[年月日]|昨日|今日|明日|先週|来週|先月|어제|오늘|내일|지난",
    re.IGNORECASE,
)
_NEEDED: Final = frozenset(
    """yesterday today tonight tomorrow ago recently lately earlier since second seconds minute minutes hour hours
    night nights morning mornings afternoon afternoons evening evenings day days week weeks weekend weekends month
    months year years decade decades summer summers winter winters spring springs fall falls autumn autumns
    semester semesters quarter quarters gestern heute morgen letzte letzten letzter letztes hier demain aujourd dernier
    prochain prochaine ayer hoy pasado pasada ieri oggi domani scorso scorsa prossimo prossima ontem hoje gisteren
    vandaag""".split()
) | {form for name in (*load_months("en"), *load_weekdays("en")) for form in (name, f"{name}s")}
_WORD: Final = re.compile("[a-z]+")
_DIGIT: Final = re.compile("[0-9]")
_QUESTION_MARK: Final = re.compile(r"[?？؟]")


def has_time_word(text: str) -> bool:
    """Whether a text says when something was or will be ("last week", "in 2022")."""
    # The expression is slow to say no (40 us); most texts hold none of the words that it needs.
    plain = text.lower()
    if plain.isascii() and _DIGIT.search(plain) is None and _NEEDED.isdisjoint(_WORD.findall(plain)):
        return False
    return _TIME_WORD.search(text) is not None


def asks_question(text: str) -> bool:
    """Whether a text asks something, so that the turn after it may be the answer."""
    return _QUESTION_MARK.search(text) is not None


_SMALL_TALK: Final = load_lexicon("small_talk")["small_talk"]
_CHATTER_WORDS: Final = frozenset(_SMALL_TALK["words"].split())
_CHATTER_TURNS: Final = frozenset(_SMALL_TALK["turns"].split())
_CHATTER_TERMS: Final = frozenset(term for word in _CHATTER_WORDS for term in terms(word)) | _CHATTER_WORDS
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")

# Phrases of small talk whose words mean something elsewhere ("problem", "birthday").
_PHRASE: Final = re.compile(
    r"\b(?:(?:good|sweet) (?:morning|afternoon|evening|night|day|nite)|guten (?:morgen|tag|abend)|gute nacht|"
    r"buen(?:os|as) (?:días|tardes|noches)|bonne (?:nuit|soirée|journée)|"
    r"(?:bis|hasta) (?:morgen|bald|mañana|luego|pronto)|à (?:demain|bientôt|plus)|ça (?:va|marche)|doing well|"
    r"доброе утро|добрый (?:день|вечер)|no (?:problems?|worries|way|rush|idea)|never ?mind|"
    r"(?:that )?makes (?:\w+ )?sense|"
    r"(?:good|great|fair) (?:point|enough|question|luck|news|job|work|call)|well done|hold on|"
    r"(?:one|just a|give me a) (?:sec|second|minute|moment)|take (?:it easy|care|your time)|"
    r"maybe later|sweet dreams|bless you|(?:sounds like|that's) a plan|you(?:'re| are) the best|"
    r"can'?t wait(?: to (?:see|hear)(?: \w+)?)?|"
    r"(?:happy|merry) (?:birthday|new year|holidays?|anniversary|easter|thanksgiving|christmas)|"
    r"(?:i )?(?:have|got) a question|can you help(?: me)?|long time no see|that sucks|stop it|"
    r"(?:i'm|i am) (?:back|in|on it|here)|so (?:funny|true|cute|happy|sorry|proud)|of course|got it|"
    r"let me (?:think|see|know)|me too|same here|what do you (?:mean|think)|tell me more|"
    r"go (?:on|ahead)|my (?:pleasure|bad)|(?:talk|speak|see|catch|chat|ttyl)(?: to| with)? "
    r"(?:you|ya|u)?\s?(?:up )?(?:soon|later|tomorrow|then|around)|"
    r"have an? (?:\w+ )?(?:day|night|evening|weekend|week|time|trip|one)|"
    r"how(?:'s| is| are| was| have| has| about)? (?:it going|things|everything|life|you|"
    r"your (?:day|week|weekend|night|morning|evening))(?: doing| been| going| today)*|"
    r"what(?:'s| is| are|s)? (?:up|new|good|happening|going on|you (?:up to|doing))|"
    r"for your (?:help|time|support|advice)|(?:for|about) (?:that|this|asking|sharing|everything))\b"
)
_SHORT: Final = 120  # characters; longer texts say something


def content_terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms of a text that are not small talk."""
    if len(text) > _SHORT:
        return terms(text, default)
    left = _PHRASE.sub(" ", _DRAWN_OUT.sub(r"\1\1", normalize_text(text).replace("’", "'")))
    return [term for term in terms(left, default) if term not in _CHATTER_TERMS]


def is_chatter(text: str) -> bool:
    """Whether a text is only greeting, thanks or praise: context, never an answer."""
    if len(text) > _SHORT:
        return False
    return not content_terms(text) or "".join(filter(str.isalnum, text)) in _CHATTER_TURNS


class TextSignals(NamedTuple):
    """The columns of :class:`memwarden.records.Signals` that need no model."""

    terms: bytes
    flags: int
    days: bytes


MAX_DATED_CHARACTERS = 20_000
"""Of a longer text the beginning is searched for dates: a memory keeps a few of its days only."""


def make_text_signals(text: str, said: datetime) -> TextSignals:
    """Return the signals of a text that was said at a time."""
    return TextSignals(term_bytes(text), flags(text), encode(spans_in(text[:MAX_DATED_CHARACTERS], said)))


def term_bytes(text: str) -> bytes:
    """Return the term ids of a text (:func:`memwarden.text.tokenizer.index_ids`), as little-endian uint32."""
    ids = array("I", tokenizer.index_ids(text))
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tobytes()
