"""Words of a text: one tokeniser for every language, engine and side (memory and question).

A term is a stem. Terms are hashed to 32 bits (`term_id`), so that no vocabulary table is kept.
Changing anything here means re-indexing every store: bump `VERSION`.

* Scripts with spaces: Unicode words, NFKC, casefolded, possessives and elisions cut, Snowball stem
  of the text's language, then accents folded (stemmers need the accents, people forget them).
* Scripts without spaces and Hangul: character bigrams.
* Numbers lose thousands separators; e-mail addresses and links give their parts and the whole.
* Stop words, question words among them, are dropped per language of the text: a union over all
  languages would drop English "die", "war", "son".
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from enum import IntFlag
from functools import lru_cache
from typing import Final

import Stemmer

VERSION: Final = 1
DEFAULT_LANGUAGE: Final = "english"

# ---------------------------------------------------------------------------------------------
# Word lists

_ENGLISH_STOP: Final = """
a about above after again all also am an and any are as at be because been before being below
between both but by can could did do does doing done down during each either else ever every few
for from further get gets getting give given go goes going gonna got had has have having he her
here hers herself him himself his how however i if in into is it its itself just kind let like
likely make many may me might mine more most much must my myself no nor not of off on once one only
onto or other others ought our ours ourselves out over own rather s same shall she should so some
something sort such t than that the their theirs them themselves then there these they thing this
those though through thus to too type under until up upon us very was we were what whatever when
whenever where whether which while who whoever whom whose why will with within without would yes
yet you your yours yourself yourselves ve ll re d m
anyone anything everyone everything someone somebody nobody nothing none
don didn doesn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain cannot
describe mention mentioned tell know according
"""

_STOP: Final[dict[str, frozenset[str]]] = {
    "english": frozenset(_ENGLISH_STOP.split()),
    "german": frozenset(
        """aber alle als also am an auch auf aus bei bin bis bist da das dass dein dem den der des
        dich die dies diese dir doch du durch ein eine einem einen einer er es für gibt hab habe
        haben hast hat hatte ich ihr ihre im in ist ja jetzt kann kein keine man mein meine mich mir
        mit nach nicht noch nur ob oder schon sein seine sich sie sind so über um und uns unser
        vom von vor war warum was weil welche welcher welches wenn wer werden wie wieder wir wird
        wo woher wohin zu zum zur wann wem wen wessen""".split()
    ),
    "french": frozenset(
        """ai alors après as au aussi autre aux avec avez avoir avons bien ce ces cet cette chez
        comme comment dans de des dont du elle elles en es est et était êtes être eu fait il ils je
        la le les leur leurs lui ma mais me même mes moi mon ne nos notre nous on ont ou où par
        parce pas plus pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses
        si son sont sous suis sur ta te tes toi ton tous tout très tu un une va vos votre vous
        combien""".split()
    ),
    "spanish": frozenset(
        """a al algo como cómo con cual cuál cuando cuándo cuánto de del desde donde dónde el él
        ella ellos en entre era es esa ese eso esta está están este esto estoy fue ha han hasta hay
        he la las le les lo los mas más me mi mis muy nada ni no nos o otra otro para pero por porque
        qué que quien quién se ser si sí sin sobre son soy su sus también te tengo ti tiene todo
        tu tú tus un una uno y ya yo""".split()
    ),
    "italian": frozenset(
        """a ai al alla anche anni c che chi ci come con cosa cui da dal dalla dei del della delle
        di dopo dove e è ed era essere fa fra gli ha hai hanno ho i il in io la le lei lo loro lui
        ma me mi mia mio molto nel nella no noi non o ogni per perché più poi quale quali quando
        quanto quello questa questo qui se sei senza si sì sono su sua suo sul ti tra tu tua tuo
        tutto un una uno va vi voi""".split()
    ),
    "portuguese": frozenset(
        """a ao aos aquele as até com como da das de dela dele do dos e é ela ele eles em entre era
        essa esse esta está estão este eu foi há isso isto já lhe mais mas me mesmo meu meus minha
        muito na nas não nem no nos nós num numa o onde os ou para pela pelo por porque qual quando
        quanto que quê quem se sem ser seu seus só sou sua suas são também te tem tenho ter um uma
        você vocês""".split()
    ),
    "dutch": frozenset(
        """aan al als bij dan dat de den der deze die dit doen door dus een en er had heb hebben
        heeft hem het hier hij hoe hun ik in is ja je jij kan maar me meer met mij mijn na naar niet
        nog nu of om omdat onder ons onze ook op over te tegen toch tot u uit van veel voor waar
        waarom wanneer want was wat we wel welke werd wie wij wil worden wordt zal ze zich zij zijn
        zo zou""".split()
    ),
    "swedish": frozenset(
        """alla allt att av blev bli de dem den denna det detta dig din ditt du där då efter ej
        eller en er ett från för ha hade han har hon hur här i icke inte ja jag kan man med men mig
        min mitt mot mycket ni nu när någon något och om oss på sedan sig sin ska skulle som till
        under upp ut vad var varför vem vi vid vilka vilken är""".split()
    ),
    "russian": frozenset(
        """а бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её
        если есть ещё же за зачем и из или им их к как какая какие какой когда кто ли мне мой моя мы
        на над нас наш не него нет ни но ну о об он она они от по под почему при с сам свой себя со
        так там тебя то тоже только ты у уже что чтобы чем чей это этот я""".split()
    ),
}

# Snowball algorithm of a script that stands for one language only.
_SCRIPT_LANGUAGE: Final = (
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "russian"),
    (0x0530, 0x058F, "armenian"),
    (0x0600, 0x06FF, "arabic"),
    (0x0900, 0x097F, "hindi"),
    (0x0B80, 0x0BFF, "tamil"),
)

# Greetings, thanks, praise and farewells: a turn of nothing else carries no memory.
_CHATTER: Final = frozenset(
    """absolutely afternoon agree agreed ah aha alright amazing anytime appreciate aw awesome aww
    awww bad bet bravo btw bye care catch chat cheers congrats congratulation congratulations
    cool course damn day dear definitely doing enjoy evening exactly excellent excited fab fantastic
    fine fun glad good goodbye goodnight gosh gotcha great guess guy guys haha hahaha happy hear
    hello helpful hey hi hmm hope idea incredible indeed inspiring interesting keep kidding later
    lmao lol long look looking lot lots love lovely luck man mate meet morning nah nice night nope
    np oh ok okay omg ooh oops perfect please pleasure pls pretty proud really right rock see seem
    seems sorry sound sounds soon sup super sure sweet take talk tbh thank thankful thanks thats
    think thx ty time tomorrow totally true u ugh umm understand wait way weekend welcome well whoa
    wonderful wow wowza ya yay yeah yep yo yup awesome next new up doing today everything
    hallo danke bitte tschüss guten morgen abend hola gracias adiós buenos días tardes noches
    bonjour salut merci bonsoir ciao grazie olá obrigado obrigada привет спасибо пока
    你好 谢谢 再见 早上好 こんにちは ありがとう おはよう 안녕하세요 감사합니다""".split()
)

_MONTHS: Final = (
    ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",),
    ("june", "jun"), ("july", "jul"), ("august", "aug"), ("september", "sep", "sept"),
    ("october", "oct"), ("november", "nov"), ("december", "dec"),
)  # fmt: skip
_MONTH_NUMBER: Final = {name: i for i, names in enumerate(_MONTHS, 1) for name in names}
_MONTH: Final = "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True))

# ---------------------------------------------------------------------------------------------
# Patterns

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

# Each word stands alone here, so a vote is one dictionary look-up a word.
_OTHER_LANGUAGES: Final = tuple(name for name in _STOP if name not in ("english", "russian"))
_VOTES: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(name for name in _STOP if word in _STOP[name]) for word in frozenset().union(*_STOP.values())
}

_TIME_WORD: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|earlier|"
    r"(?:last|next|this|past|coming|previous|following|few|couple(?: of)?|\d+|two|three|four|five|six|"
    r"seven|eight|nine|ten|a|an|each|every)\s+(?:second|minute|hour|night|morning|afternoon|evening|"
    r"day|week|weekend|month|year|decade|summer|winter|spring|fall|autumn|semester|quarter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekend|"
    r"january|february|march|april|june|july|august|september|october|november|december|"
    r"(?:in|since|by|until|early|late|mid|of)\s+may|may\s+\d{1,2}|\d{1,2}(?:st|nd|rd|th)|"
    r"(?:19|20)\d\d|since|\d{1,2}\s*(?:am|pm)|\d{1,2}:\d\d|"
    r"gestern|heute|morgen|letzte[nrs]?|nächste[nrs]?|hier|demain|aujourd'hui|dernière?|prochaine?|"
    r"ayer|hoy|mañana|pasad[oa]|próxim[oa]|ieri|oggi|domani|scors[oa]|prossim[oa]|ontem|hoje|amanhã|"
    r"gisteren|vandaag|вчера|сегодня|завтра)\b"
    r"|昨天|今天|明天|上周|上个月|去年|今年|明年|\d+[年月日]|昨日|今日|明日|先週|来週|先月|어제|오늘|내일|지난",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\bwhen\b|\b(?:what|which)\s+(?:date|day|year|month|week|weekend|time|season|decade)\b|"
    r"\bhow\s+(?:long|recently|often)\b|\bhow\s+many\s+(?:days|weeks|months|years|hours|minutes)\b|"
    r"\b(?:wann|quand|cuándo|cuando|quando|wanneer|när|когда)\b|什么时候|何时|いつ|언제|متى",
    re.IGNORECASE,
)
_QUESTION_MARK: Final = re.compile(r"[?？؟]")

# ---------------------------------------------------------------------------------------------
# Terms


@lru_cache(maxsize=16)
def _stemmer(language: str) -> Stemmer.Stemmer:
    stemmer = Stemmer.Stemmer(language)
    stemmer.maxCacheSize = 0  # `_term_of` caches already
    return stemmer


def _fold(word: str) -> str:
    """Take Latin, Greek and Cyrillic accents off; marks of other scripts carry the vowels."""
    if word.isascii():
        return word
    bare = (c for c in unicodedata.normalize("NFD", word) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(bare)).replace("ß", "ss")


def _script_language(word: str) -> str | None:
    code = ord(word[0])
    if code < 0x0370:
        return None
    return next((name for low, high, name in _SCRIPT_LANGUAGE if low <= code <= high), None)


@lru_cache(maxsize=200_000)
def _term_of(word: str, language: str) -> str:
    """The term of one casefolded word, or "" for a stop word."""
    if word[0].isdigit():
        return word.replace(",", "") if "," in word else word
    if "'" in word:
        word = _ELISION.sub("", _CONTRACTION.sub("", word)).replace("'", "")
        if not word:
            return ""
    language = _script_language(word) or language
    if word in _STOP.get(language, ()):
        return ""
    if language == "english" and len(word) > 5:
        word = _BRITISH.sub(r"z\1", word.replace("our", "or"))
    return _fold(_stemmer(language).stemWord(word))


def _vote(words: list[str], default: str) -> str:
    """The language of a text by its stop words; the default wins ties and short texts."""
    counts: dict[str, int] = {}
    for word in words:
        for name in _VOTES.get(word, ()):
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return default
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= counts.get(default, 0) + 2 else default


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).replace("’", "'").casefold()


def _pieces(normal: str) -> tuple[list[str], list[str]]:
    """Words and numbers, and runs of glued script, of a normalised text."""
    if normal.isascii():
        return _ASCII_PIECE.findall(normal), []
    words: list[str] = []
    glued: list[str] = []
    for found in _PIECE.finditer(normal):
        (glued if found.lastgroup == "glued" else words).append(found[0])
    return words, glued


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def language_of(text: str, default: str = DEFAULT_LANGUAGE) -> str:
    """The language whose stop words a text shows; `default` when that is not clear."""
    return _vote(_pieces(_normal(text))[0], default)


def terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms of a text in order, repeats included.

    `default` is the language of Latin text that shows no stop words of its own: pass the
    namespace's usual language for a question of two bare words.
    """
    normal = _normal(text)
    words, glued = _pieces(normal)
    language = _vote(words, default)
    out = [term for word in words if (term := _term_of(word, language))]
    for run in glued:
        out.extend(_bigrams(run))
    if "@" in normal or "://" in normal:
        out.extend(found.rstrip(".,;:!?") for found in _ADDRESS.findall(normal))
    return out


def term_id(term: str) -> int:
    """32 bits for a term: two of 50,000 terms collide about once in three stores, harmlessly."""
    return zlib.crc32(term.encode())


def term_ids(text: str, default: str = DEFAULT_LANGUAGE) -> list[int]:
    """`terms`, hashed."""
    return [zlib.crc32(term.encode()) for term in terms(text, default)]


# ---------------------------------------------------------------------------------------------
# Flags of a text, computed once when it is written


def has_time_word(text: str) -> bool:
    """Whether a text says when something was or will be ("last week", "in 2022")."""
    return _TIME_WORD.search(text) is not None


def asks_question(text: str) -> bool:
    """Whether a text asks something, so that the turn after it may be the answer."""
    return _QUESTION_MARK.search(text) is not None


def is_when_question(text: str) -> bool:
    """Whether a question asks for a time, a duration or a frequency."""
    return _WHEN.search(text) is not None


_CHATTER_TERMS: Final = frozenset(t for word in _CHATTER for t in terms(word)) | frozenset(_CHATTER)


def content_terms(text: str, default: str = DEFAULT_LANGUAGE) -> list[str]:
    """The terms of a text that are not small talk."""
    return [term for term in terms(text, default) if term not in _CHATTER_TERMS]


def is_chatter(text: str) -> bool:
    """Whether a text is only greeting, thanks or praise: context, never an answer."""
    return not content_terms(text)


class Flag(IntFlag):
    """What is known of a text, stored with it."""

    TIME = 1
    QUESTION = 2
    CHATTER = 4


def flags(text: str) -> int:
    """All flags of a text."""
    return Flag.TIME * has_time_word(text) | Flag.QUESTION * asks_question(text) | Flag.CHATTER * is_chatter(text)


# ---------------------------------------------------------------------------------------------
# Dates and names in a question

Date = tuple[int | None, int | None, int | None]
"""Year, month, day; None where the text leaves it open."""

_DATE: Final = re.compile(
    rf"\b(?P<y1>(?:19|20)\d\d)-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?\b"
    rf"|\b(?:(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>(?:19|20)\d\d))?"
    rf"|\b(?P<m3>{_MONTH})\b\.?(?:\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?P<y3>(?:19|20)\d\d))?"
    r"|\b(?P<y4>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)


def dates_in(text: str) -> list[Date]:
    """Calendar dates, months and years that an English or ISO text names."""
    found: list[Date] = []
    for hit in _DATE.finditer(text):
        part = hit.groupdict()
        month_text = part["m1"] or part["m2"] or part["m3"]
        year_text = part["y1"] or part["y2"] or part["y3"] or part["y4"]
        day_text = part["d1"] or part["d2"] or part["d3"]
        if part["m3"] and not (day_text or year_text) and not _is_month_name(hit[0]):
            continue
        month = None
        if month_text:
            month = int(month_text) if month_text.isdigit() else _MONTH_NUMBER[month_text.lower()]
        found.append((int(year_text) if year_text else None, month, int(day_text) if day_text else None))
    return found


def _is_month_name(text: str) -> bool:
    """Bare "may", "march", "mar", "sun" are words more often than months."""
    return text.lower() not in ("may", "march", "mar", "dec", "sep", "jan") or text in ("March",)


def partner_names(text: str, partners: list[str]) -> list[str]:
    """The partners whose full or first name a text says."""
    return [name for name in partners if _name_pattern(name).search(text)]


def to_pronouns(text: str, partners: list[str]) -> str:
    """Partners' names as "I" and "my": they speak of themselves so, and a dense model sees it."""
    for name in partners:
        pattern = _name_pattern(name)
        text = pattern.sub(lambda hit: "my" if hit["own"] else "I", text)
    return text


@lru_cache(maxsize=4096)
def _name_pattern(name: str) -> re.Pattern[str]:
    parts = name.split()
    forms = {name, parts[0]} if parts else {name}
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(rf"\b(?:{either})\b(?P<own>['’]s?(?!\w))?", re.IGNORECASE)


# ---------------------------------------------------------------------------------------------
# Questions

# Stop words that carry the question when it holds nothing else ("What does Ana like?").
_WEAK: Final = frozenset("like make made give gave go going get kind do doing tell know describe happened".split())
_ASKS_WHAT: Final = re.compile(r"\b(?:what|who|where|when|which|whose|why)\b(?!['’]?s?\s+up)")
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|myself)\b")


def question_terms(text: str, partners: list[str], default: str = DEFAULT_LANGUAGE) -> list[str]:
    """Terms of a question, once each, without partners' names.

    Partners say each other's names in greeting, so names point at the wrong turns. A question of
    stop words keeps the weak ones, one of names only keeps the names.
    """
    named = {term for name in partners for term in terms(name, default)}
    found = list(dict.fromkeys(terms(text, default)))
    kept = [term for term in found if term not in named]
    if kept:
        return kept
    weak = [word for word in _pieces(_normal(text))[0] if word in _WEAK]
    return list(dict.fromkeys(_fold(_stemmer(default).stemWord(word)) for word in weak)) or found


def is_small_talk(text: str, partners: list[str]) -> bool:
    """Whether a message asks memory nothing: "hey, how are you?", "thanks a lot!"."""
    named = {term for name in partners for term in terms(name)}
    if any(term not in named for term in content_terms(text)):
        return False
    about = partner_names(text, partners) or _OWN.search(_normal(text))
    return not (about and asks_question(text) and _ASKS_WHAT.search(_normal(text)))


def everyday_share(term: str) -> float:
    """Share of everyday texts that hold a term; a guess for words that are not listed."""
    return _EVERYDAY.get(term, 2e-4)


_VERY_COMMON: Final = """
day time people person thing things good great know think want need look see work really way year
life friend love feel help new today week come take use say said told ask talk now back first long
last still always never well right sure maybe lot little big nice best better thank thanks name
start try keep find live mean call place home
"""
_COMMON: Final = """
able actually add ago already another answer area away bad bit book boy bring build business buy call
care change check child children choose city class close company couple country course create decide
different discuss drive early easy eat end enjoy enough event evening exactly example excited expect
experience fact family far fast father favorite favourite feeling few fine finish focus food free
full fun future girl glad goal group guess guy half happen happy hard health hear high hold hope hot
hour house idea important include info information interest interesting issue job join kid later learn
leave level list listen local lose main man meet mind miss moment money month morning mother move
music next night number offer often old open option order part past pay perfect phone photo pick
picture plan play point possible post prefer pretty problem project put question quick quite read
ready real reason recent recently recommend remember rest right room run same save school second send
set share short show side simple sit sleep small soon sort sound special spend stay step stop story
stuff sunday saturday monday friday support talk team tell test together tomorrow tonight top town
travel trip trouble true turn understand update usual visit wait walk watch weather weekend while
white win wish woman wonder word world worry write wrong yesterday young weekly daily monthly current
person personal specific type favourites
"""
# Shares in round figures: a prior needs the order of magnitude only.
_EVERYDAY: Final[dict[str, float]] = {
    **dict.fromkeys(terms(_COMMON), 0.006),
    **dict.fromkeys(terms(_VERY_COMMON), 0.025),
}
