"""Terms and flags of a text, and the estimate of its tokens in a prompt: the tokeniser for every language.

A term is a stem. Beside the stem of a word stands its folded surface form (`index_ids`), so that a word
meets itself although the question was taken for another language than the memory. Terms are hashed to 32 bits
(`term_id`), so that no vocabulary table is kept. Changing anything here, or the language detector or its word lists,
means that stores make their terms anew: bump `memwarden.text.TERMS_VERSION`.

* Scripts with spaces: Unicode words, NFKC, casefolded, possessives and elisions cut, Snowball stem
  of the text's language, then accents folded (stemmers need the accents, people forget them).
* Scripts without spaces and Hangul: pairs of characters, without the commonest function words; katakana words whole.
* Numbers lose thousands separators; e-mail addresses and links give their parts and the whole.
* Stop words, question words among them, are dropped per language of the text: a union over all
  languages would drop English "die", "war", "son".
"""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterator
from enum import IntFlag
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import Stemmer

from memwarden.text.language import DEFAULT_LANGUAGE, language_of_words, normalize_text
from memwarden.text.language import normalize_text as normal
from memwarden.text.lexicon import load_lexicon, load_months, load_weekdays, load_words

STOP_WORDS: Final = {code: frozenset(listed) for code, listed in load_words("function_words", "stop").items()}
# Snowball algorithm of each language; others are stemmed as English is.
_STEMMERS: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "hi": "hindi",
    "hy": "armenian",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}

# A word in any of these scripts is in the language of the script, whatever the text around it is in.
_SCRIPT_LANGUAGE: Final = (
    (0x0370, 0x03FF, "el"),
    (0x0400, 0x052F, "ru"),
    (0x0530, 0x058F, "hy"),
    (0x0600, 0x06FF, "ar"),
    (0x0900, 0x097F, "hi"),
    (0x0B80, 0x0BFF, "ta"),
)

# Marks that belong to a word although Python's \w leaves them out (accents, Hebrew and Arabic
# points, Indic vowel signs, joiners).
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0970-\u0dff\u0f18-\u0fbc\u200c\u200d"
)
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: no spaces, or words too glued to stem.
_GLUED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
GLUED_SCRIPT: Final = re.compile(f"[{_GLUED}]")
_SAME_SCRIPT: Final = re.compile(
    "(?P<katakana>[\u30a0-\u30ff\u31f0-\u31ff]+)|(?P<hiragana>[\u3040-\u309f]+)"
    "|(?P<han>[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)|(?P<other>.)+?"
    "(?=[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|$)",
    re.DOTALL,
)
_FUNCTION_HAN: Final = frozenset("".join(load_words("function_words", "glued")["han"]))
_FUNCTION_KANA: Final = frozenset(load_words("function_words", "glued")["kana"])
_PIECE: Final = re.compile(
    rf"(?P<glued>[{_GLUED}]+)"
    r"|(?P<number>\d+(?:[.,:]\d+)+(?![^\W_]))"
    rf"|(?P<word>(?:(?![{_GLUED}])[^\W_]|[{_MARKS}])+(?:['’](?:(?![{_GLUED}])[^\W_]|[{_MARKS}])+)*)"
)
_ASCII_PIECE: Final = re.compile(r"\d+(?:[.,:]\d+)+(?![a-z0-9])|[a-z0-9]+(?:'[a-z0-9]+)*")
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s<>\"')\]]+", re.IGNORECASE)
_ELISION: Final = re.compile(r"^(?:l|d|j|m|n|s|t|c|qu|jusqu|lorsqu|puisqu|dell|nell|all|dall|sull|un)'(?=\w\w)")
_CONTRACTION: Final = re.compile(r"(?:n't|'(?:s|re|ve|ll|d|m|em|clock))$")

# British spellings become American ones ("favourite", "organised"); other words that the rule
# touches change alike everywhere, which is all a term needs.
_BRITISH: Final = re.compile(r"(?<=i)s(e|ed|es|ing|er|ers|ation|ations)$")


# Words of which what was made of them is kept. Twenty times as many took 180 MB after 8 MB of text, and no less time.
MAX_KNOWN_WORDS: Final = 10_000


@lru_cache(maxsize=32)
def stemmer(language: str) -> Stemmer.Stemmer:
    """Return the Snowball stemmer of a language code."""
    stemmer = Stemmer.Stemmer(_STEMMERS.get(language, "english"))
    stemmer.maxCacheSize = 0  # `_term_of` caches already
    return stemmer


def fold(word: str) -> str:
    """Remove Latin, Greek and Cyrillic accents; marks of other scripts carry the vowels."""
    if word.isascii():
        return word
    bare = (c for c in unicodedata.normalize("NFD", word) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(bare)).replace("ß", "ss")


def _script_language(word: str) -> str | None:
    code = ord(word[0])
    if code < 0x0370:
        return None
    return next((name for low, high, name in _SCRIPT_LANGUAGE if low <= code <= high), None)


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def _term_of(word: str, language: str) -> str:
    """Return the term of a casefolded word, "" for a stop word."""
    if word[0].isdigit():
        return word.replace(",", "") if "," in word else word
    word = _whole(word)
    if not word:
        return ""
    language = _script_language(word) or language
    if word in STOP_WORDS.get(language, ()):
        return ""
    if language == "en" and len(word) > 5:
        word = _BRITISH.sub(r"z\1", word.replace("our", "or"))
    return fold(str(stemmer(language).stemWord(word)))


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def surface_of(word: str) -> str:
    """Return a casefolded word folded, without elision and contraction; "" for a number."""
    return "" if word[0].isdigit() else fold(_whole(word))


def _whole(word: str) -> str:
    return _ELISION.sub("", _CONTRACTION.sub("", word)).replace("'", "") if "'" in word else word


def pieces(plain: str) -> tuple[list[str], list[str]]:
    """Words and numbers, and runs of glued script, of a normalised text."""
    if plain.isascii():
        return _ASCII_PIECE.findall(plain), []
    words: list[str] = []
    glued: list[str] = []
    for found in _PIECE.finditer(plain):
        (glued if found.lastgroup == "glued" else words).append(found[0])
    return words, glued


def _glued_terms(run: str) -> list[str]:
    """Return the terms of a run of glued script: katakana words whole, elsewhere pairs of characters.

    Kanji and kana are taken apart where the script changes: the kana between kanji are mostly grammar.
    """
    out: list[str] = []
    for part in _SAME_SCRIPT.finditer(run):
        text = part[0]
        if part.lastgroup == "katakana":
            out.append(text)
        elif part.lastgroup == "han":
            out.extend(_pairs(text, _FUNCTION_HAN))
        elif part.lastgroup == "hiragana":
            if part.start() == 0:  # after a kanji it is an ending
                out.extend(pair for pair in _pairs(text, frozenset()) if len(pair) == 2 and pair not in _FUNCTION_KANA)
        else:
            out.extend(_pairs(text, frozenset()))
    return out


def _pairs(text: str, function: frozenset[str]) -> list[str]:
    """Return pairs of neighbouring characters, and single characters between function characters."""
    out: list[str] = []
    for piece in _split(text, function) if function else [text]:
        out.extend([piece] if len(piece) == 1 else [piece[i : i + 2] for i in range(len(piece) - 1)])
    return out


def _split(text: str, function: frozenset[str]) -> list[str]:
    return "".join(" " if sign in function else sign for sign in text).split()


MAX_SHORT: Final = 500  # characters


class _WordsOfText(NamedTuple):
    plain: str
    words: list[str]
    glued: list[str]
    language: str


def _take_apart(text: str, default: str) -> _WordsOfText:
    return _take_short_apart(text, default) if len(text) <= MAX_SHORT else _take_any_apart(text, default)


# A question or a message is asked several times for its words; longer texts are read, not held.
@lru_cache(maxsize=64)
def _take_short_apart(text: str, default: str) -> _WordsOfText:
    return _take_any_apart(text, default)


def _take_any_apart(text: str, default: str) -> _WordsOfText:
    plain = normal(text)
    words, glued = pieces(plain)
    return _WordsOfText(plain, words, glued, language_of_words(words, default, plain))


def terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the terms of a text in order, repeats included.

    `default` is the language of Latin text that shows none of its own: pass the namespace's usual language for a
    question of two bare words.
    """
    return _stems(_take_apart(text, default))


def words_and_forms(text: str) -> frozenset[str]:
    """Return the stems and surface forms of a text, to ask whether it holds a word."""
    parts = _take_apart(text, DEFAULT_LANGUAGE)
    return frozenset((*_stems(parts), *(form for _, form in _surface_forms(parts))))


def surface_forms(text: str, default: str = DEFAULT_LANGUAGE) -> list[tuple[str, str]]:
    """Return stem and surface form of each word where they differ, in order."""
    return list(_surface_forms(_take_apart(text, default)))


def _surface_forms(parts: _WordsOfText) -> Iterator[tuple[str, str]]:
    for word in parts.words:
        ids = _ids_of(word, parts.language)
        if ids.term and ids.form:
            yield ids.term, ids.form


def _stems(parts: _WordsOfText) -> list[str]:
    return [*(term for word in parts.words if (term := _term_of(word, parts.language))), *_other_terms(parts)]


def _other_terms(parts: _WordsOfText) -> list[str]:
    """The terms of glued script and of addresses."""
    out: list[str] = []
    for run in parts.glued:
        out.extend(_glued_terms(run))
    if "@" in parts.plain or "://" in parts.plain:
        out.extend(found.rstrip(".,;:!?") for found in _ADDRESS.findall(parts.plain))
    return out


# Set in the ids of surface forms, so that a text's length counts its words once.
SURFACE_BIT: Final = 0x8000_0000


def term_id(term: str) -> int:
    """Return 31 bits for a stem; two of 50,000 collide about once in two stores, harmlessly."""
    return zlib.crc32(term.encode()) & ~SURFACE_BIT


def surface_id(form: str) -> int:
    """Return 32 bits for a surface form, never the id of a stem."""
    return zlib.crc32(form.encode()) | SURFACE_BIT


def index_ids(text: str, default: str = DEFAULT_LANGUAGE) -> list[int]:
    """Return the ids of a passage in an index: its stems in order, then the other surface forms.

    default: language of a passage that shows none.
    """
    parts = _take_apart(text, default)
    words = [ids for word in parts.words if (ids := _ids_of(word, parts.language)).term]
    others = _other_terms(parts)
    held = {*(word.term for word in words), *others}
    forms = dict.fromkeys(word.form_id for word in words if word.form and word.form not in held)
    return [*(word.term_id for word in words), *map(term_id, others), *forms]


class _WordIds(NamedTuple):
    term: str
    form: str
    term_id: int
    form_id: int


@lru_cache(maxsize=MAX_KNOWN_WORDS)
def _ids_of(word: str, language: str) -> _WordIds:
    """Return a word's stem and other surface form with their ids; a stop word has no stem."""
    term, form = _term_of(word, language), surface_of(word)
    form = form if form != term else ""
    return _WordIds(term, form, term_id(term), surface_id(form))


class Flag(IntFlag):
    """What is known of a text, stored with it."""

    TIME = 1
    QUESTION = 2
    CHATTER = 4
    ONLY_ASKS = 8


# Such texts are no answers.
UNANSWERING: Final = Flag.CHATTER | Flag.ONLY_ASKS


def flags(text: str) -> int:
    """All flags of a text."""
    asks = asks_question(text)
    found = Flag.TIME * has_time_word(text) | Flag.QUESTION * asks | Flag.CHATTER * is_chatter(text)
    return found | Flag.ONLY_ASKS * (asks and only_asks(text))


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
_DRAWN_OUT: Final = re.compile(r"(\w)\1{2,}")


@lru_cache(maxsize=1)
def _chatter_terms() -> frozenset[str]:
    """Terms of the words of small talk; at the first use, as it takes as long as the rest of this module."""
    return frozenset(term for word in _CHATTER_WORDS for term in terms(word)) | _CHATTER_WORDS


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
_CLAUSE_END: Final = re.compile(r"[\s.,!?~…。、・！？，～]+")


class _Acknowledgements(NamedTuple):
    spaced: re.Pattern[str]
    glued: re.Pattern[str]
    keeps: re.Pattern[str]
    address: frozenset[str]


@lru_cache(maxsize=1)
def _acknowledgements() -> _Acknowledgements:
    """The expressions of acknowledgements; at the first use, as they take long to compile."""
    lists = load_lexicon("small_talk")["acknowledgements"]
    spaced, glued, keeps = ("|".join(lists[name].split("\n")[:-1]) for name in ("spaced", "glued", "keeps"))
    return _Acknowledgements(
        re.compile(rf"(?<!\w)(?:{spaced})(?!\w)"),
        re.compile(glued),
        re.compile(keeps),
        frozenset(
            term for word in lists["address"].split() for code in ("de", "es", "fr") for term in terms(word, code)
        ),
    )


def content_terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms of a text that are not small talk."""
    if len(text) > _SHORT:
        return terms(text, default)
    plain = _PHRASE.sub(" ", _acknowledgements().spaced.sub(" ", _plain(text)))
    return [term for term in terms(plain, default) if term not in _chatter_terms()]


def is_chatter(text: str) -> bool:
    """Whether a text is only greeting, thanks, praise or acknowledgement: context, never an answer."""
    if len(text) > _SHORT:
        return False
    if not content_terms(text) or "".join(filter(str.isalnum, text)) in _CHATTER_TURNS:
        return True
    if GLUED_SCRIPT.search(text) is None:
        return False
    clauses = [clause for clause in _CLAUSE_END.split(_plain(text)) if clause]
    return all(clause in _CHATTER_TURNS or _acknowledgements().glued.fullmatch(clause) for clause in clauses)


# Stands among the words of a text that denies something: "You eat meat" does not repeat "I don't eat meat".
DENIAL: Final = "not"
_SENTENCE: Final = re.compile(r"[^.!?。！？\n]+[.!?。！？\s]*")


def words_of_answer(text: str) -> frozenset[str]:
    """The terms of an assistant's text that may be news: none of small talk, nor of what it says that it keeps."""
    found: set[str] = set()
    for sentence in _SENTENCE.findall(text):
        if not is_chatter(sentence) and not says_it_keeps(sentence):
            found |= set(content_terms(sentence)) - _acknowledgements().address
            found |= {DENIAL} if denies(sentence) else set()
    return frozenset(found)


def says_it_keeps(sentence: str) -> bool:
    """Whether an assistant says that it will remember something: the words for that something are another's."""
    return len(sentence) <= _SHORT and _acknowledgements().keeps.search(_plain(sentence)) is not None


_DENIES: Final = re.compile(
    r"\b(?:not?|never|none|cannot|\w+n't|nicht|nie|kein\w*|no|nunca|jamás|ne|n'\w+|jamais|sans|sin|ohne|without)\b|"
    r"ない|ません|なかった|不|没|别",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Whether a text denies something."""
    return _DENIES.search(text.replace("’", "'")) is not None


def _plain(text: str) -> str:
    return _DRAWN_OUT.sub(r"\1\1", normalize_text(text).replace("’", "'"))


# What leads to the word that asks: "and", "hey", "do you remember", a preposition.
_LEAD: Final = (
    r"(?:(?:and|so|but|hey|hi|ok|okay|now|again|please|sorry|by the way|btw|(?:do|can|could|will) you (?:still )?"
    r"(?:know|remember|recall|tell me|remind me|say)|tell me|remind me(?: again)?|to|for|with|from|at|in|on|by|of|"
    r"und|also|sag(?: mal)?|weißt du(?: noch)?|weisst du(?: noch)?|an|auf|aus|bei|für|mit|nach|seit|von|zu|um|"
    r"y|pero|oye|a|con|de|desde|en|hasta|para|por|(?:te acuerdas|recuerdas|sabes)(?: de)?|"
    r"et|mais|à|avec|dans|depuis|pour|chez|tu (?:sais|te (?:souviens|rappelles))(?: de)?|dis[- ]moi)[\s,:]+)*"
)
_ASKS_FOR: Final = re.compile(
    rf"^[¿¡\s]*{_LEAD}[¿¡]?(?:"
    r"(?:what|where|who|whom|whose|when|which|how|why)(?:'?s|'re|'d|'m)?|"
    r"was|wo|wer|wem|wen|wessen|wann|wie|warum|wieso|weshalb|welche[rsnm]?|woher|wohin|womit|wofür|wogegen|woran|"
    r"worauf|worüber|wovon|"
    r"qué|cuál(?:es)?|quién(?:es)?|dónde|adónde|cuándo|cómo|cuánt[oa]s?|"
    r"qu(?:oi|i|and|el(?:le)?s?)|où|comment|combien|pourquoi|que|qu'est-ce que|qu'est-ce qu)(?!\w)",
    re.IGNORECASE,
)
_GLUED_ASKS_FOR: Final = re.compile(
    r"何|なに|なん(?!と)|どこ|どの|どんな|どう|どれ|だれ|誰|いつ|いくら|いくつ|なぜ|什么|哪|谁|几[点个岁号]|多少|多大|怎么|怎样|何时|为啥|为什么"
)
# A clause beside the question, or a number in it, may tell something: "Where do I go now that I moved to Porto?"
_TELLS: Final = re.compile(
    r"\d|[,;:、，；：—–]|\b(?:now that|since|because|given|after|if|but|weil|da|jetzt wo|nachdem|falls|aber|"
    r"ya que|porque|ahora que|si|puisque|maintenant que|parce que|comme)\b|ので|から(?!来)|けど|因为|既然|但是",
    re.IGNORECASE,
)
_OF_ASKING: Final = re.compile(
    r"\b(?:ask(?:ed|ing)?|questions?|frag(?:e|en|te|ten)|gefragt|pregunt\w+|demand(?:é|er|ais|ait|ée))\b|"
    r"聞い|聞き|尋ね|質問|问过|问了|提问",
    re.IGNORECASE,
)
_MAX_ASKED: Final = 100


def only_asks(text: str) -> bool:
    """Whether a text asks for something and tells nothing: "Where do I live?"; what leaves a doubt does not."""
    if len(text) > _MAX_ASKED:
        return False
    sentences = [part for part in _SENTENCE.findall(_plain(text)) if any(map(str.isalnum, part))]
    return bool(sentences) and all(_asks_alone(part) or is_chatter(part) for part in sentences)


def asks_for_questions(text: str) -> bool:
    """Whether a text asks what was asked: "What did I ask you yesterday?"."""
    return asks_question(text) and _OF_ASKING.search(text) is not None


def _asks_alone(sentence: str) -> bool:
    bare = sentence.rstrip()
    if GLUED_SCRIPT.search(bare):
        return bare.endswith("?") and _GLUED_ASKS_FOR.search(bare) is not None and not _TELLS.search(bare)
    asks = _ASKS_FOR.match(bare)
    return bare.endswith("?") and asks is not None and not _TELLS.search(bare, asks.end())


_NOT_ASCII = bytes(range(128, 256))


class TokenCounter(Protocol):
    """Tells how many tokens a text takes in a model's prompt."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, 0 for an empty text."""


def estimate(text: str) -> int:
    """The default counter: a token for 4 ASCII characters, and a token for 2 bytes of anything else, rounded up.

    English prose has 4.2 to 4.7 characters a token in today's vocabularies, Chinese and Japanese 2 to 3 bytes a
    token, so that the estimate is rather too high than too low.
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    encoded = text.encode("utf-8", "surrogatepass")
    ascii_length = len(encoded.translate(None, delete=_NOT_ASCII))
    return math.ceil(ascii_length / 4 + (len(encoded) - ascii_length) / 2)
