"""Judges by typed statements whether two texts say the same in other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from functools import cache
from typing import Final

from memwarden.remember.resolve.changes import StatedText, closeness, picks_other, read_stated, when_told
from memwarden.remember.resolve.resolution import NeighbourPair
from memwarden.remember.resolve.same_fact import Judgement
from memwarden.remember.resolve.same_fact.signature import Signature, sign_text, stem
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, choose_common_language, load_word_lists
from memwarden.statements.reader import CommonWords, load_weights, names_in, relations_in, subject_words
from memwarden.statements.statement import PackedStatement

# Chosen on labelled pairs, of which no pair with another meaning passes.
MIN_NEARNESS: Final = 0.6
# What happens again and again is told with a word for that, and without.
MIN_NEARNESS_OF_RHYTHMS: Final = 0.7
# Without a number or a day that both name, only the meaning tells that they say the same.
MIN_NEARNESS_UNVALUED: Final = 0.74
MIN_COSINE: Final = 0.4
MIN_COSINE_OTHER: Final = 0.6
# What tells of a change is news, whatever it has in common with what was known.
MAX_CHANGE: Final = 0.8
MAX_CHANGE_VALUED: Final = 0.97
MAX_CHANGE_APART: Final = 0.6
# Who rewords a sentence builds it anew; the same frame with another word in it says something else.
MAX_FRAME: Final = 0.6
# Texts this near may have more signs in common, and either may name one relation more.
MAX_FRAME_UNSPACED: Final = 0.7
MIN_NEARNESS_SURE: Final = 0.8
MODEL: Final = "all-minilm"
MAX_LENGTH: Final = 160
# "Last summer" and "on Friday" are the same days only for who says them at about one time.
MAX_APART: Final = timedelta(hours=12)
# So much of a text a clause of it has to be, to stand for it.
MIN_COVERED: Final = 0.6

SAME: Final = Judgement("same", "the same in other words")
# What these guards see is said of something else, or denied, or over, or not yet.
_AGAINST: Final = frozenset(
    ("negation", "kin", "question", "quote", "article", "entity", "modality", "tense", "case", "plural")
)
# Whose cat it is tells which cat it is.
_PETS: Final = frozenset(("relation:cat", "relation:dog", "relation:pet"))
_DIRECTIONS: Final = frozenset("from against without after before over under above below".split())
_UNITS_OF: Final = frozenset(
    "year month week day hour minut second kilo gram pound mile kilomet metr jahr monat woch tag stund año mes seman"
    " dia hor an ann mois semain jour heur".split()
)
_COUNTED_SIGNS: Final = re.compile(
    r"(?:\d+|[〇一二两兩三四五六七八九十百千万]+)\s?个?"
    r"(岁|歳|才|年|月|天|周|週|小?时|時間|分|公?斤|元|块|円|[美欧日]元|ドル|ユーロ|キロ|公里|度|[%％])"
)
_SAME_UNITS: Final = {"歳": "岁", "才": "岁", "週": "周", "块": "元", "％": "%"}
_MONEY: Final = frozenset("usd eur gbp jpy".split())
# What stands glued to a number, beside the units of the lists.
_MORE_UNITS: Final = frozenset("pct mm ml gb mb tb ms hz kwh w °c °f mph".split())
# What tells the half of the day: "a.m." is German for "at the" too, and stands apart.
_HALVES: Final = {
    "early": re.compile(
        r"\bmornings?\b|\bmorgens\b|\bam morgen\b|vormittag|\bmatin|(?:de|por) la mañana\b|\bmadrugada|"
        r"朝|早上|上午|午前|凌晨|清晨|早晨"
    ),
    "late": re.compile(
        r"\bevenings?\b|\bafternoons?\b|(?<!sonn)abends?\b|nachmittag|\bsoir|après-midi|(?:de|por) la tarde\b|"
        r"下午|午後|傍晚|夕方"
    ),
    "night": re.compile(r"\b(?:to)?night(?:s|ly)?\b|\bnachts?\b|\bnoches?\b|\bnuit|晚|夜|晩"),
}
_MERIDIEM: Final = re.compile(r"\d\s?([ap])\.?\s?m\b")
# They count the hours of a day to 24.
_FULL_HOURS: Final = re.compile(r"\buhr\b|\d\s?h(?:\d\d|eures?)?\b")
_TODAY: Final = re.compile(
    r"\b(?:today|tonight|this (?:week|month|year|spring|summer|autumn|winter)|heute|"
    r"diese[mnrs]? (?:woche|monat|jahr|frühjahr|frühling|sommer|herbst|winter)|hoy|"
    r"est[ea] (?:semana|mes|año|primavera|verano|otoño|invierno)|aujourd['’]hui|"
    r"ce(?:tte)? (?:semaine|mois|année|printemps|été|automne|hiver))\b|今[天日晚年夜春夏秋冬週月]|本周|[这這]个?[周月]"
)
_EVERY: Final = re.compile("[每毎]")
_HARMLESS_CODES: Final = frozenset(("a.m", "p.m", "a.m.", "p.m.", "="))
_RISKY_WORDS: Final = frozenset(("least", "most-of", "half", "except", "but", "other", "few", "many", "some", "no"))
_RISKY_CONJUNCTIONS: Final = frozenset(("or", "unless", "if", "oder", "wenn", "falls", "si", "ou", "o", "except"))
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_SIGNS: Final = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]")
_WORD: Final = re.compile(r"[\w#$£€%]+")
_SPOKEN: Final = re.compile(r"[\w'’]+")
_DIGIT: Final = re.compile(r"\d")
_MARKS: Final = re.compile(r"(?:th|cc|%)$")
_COUNTED: Final = re.compile(r"\d+[a-zé]{1,3}")
_NUMERAL: Final = re.compile(r"\d+|[〇一二两兩三四五六七八九十百千万]+")
_DIGITS: Final = {sign: number for number, sign in enumerate("〇一二三四五六七八九")} | {"两": 2, "兩": 2}
_UNITS: Final = {"十": 10, "百": 100, "千": 1000}
_IDIOMS: Final = re.compile("万一|万分|十分|百般|千万(?=[别不])")
_WEEKDAY: Final = re.compile(r"(?:周|星期|礼拜)([一二三四五六日天])|([月火水木金土日])曜")
_DAY_SIGNS: Final = {sign: number for number, sign in enumerate("一二三四五六", 1)} | {"日": 7, "天": 7}
_DAY_NAMES: Final = {sign: number for number, sign in enumerate("月火水木金土日", 1)}
# Either sign in one text alone and its opposite in the other alone.
_OPPOSITES: Final = tuple(
    (pair[0], pair[1])
    for pair in "新旧 新老 左右 上下 前后 前後 公母 男女 昨明 去今 早晚 朝晚 朝晩 朝夜 好嫌 姉妹 兄弟 父母 爸妈".split()
)


def possible(pairs: Sequence[NeighbourPair], model: str | None) -> list[NeighbourPair]:
    """Return the pairs that may say the same in other words: none but with the model that the bars were chosen with."""
    if model is None or not model.startswith(MODEL):
        return []
    return [
        pair
        for pair in pairs
        if pair.near.cosine is not None
        and pair.near.cosine >= MIN_COSINE
        and not _AGAINST & set(pair.judgement.guards)
        and len(pair.stored.text) <= MAX_LENGTH
    ]


def find_same(
    text: str, said: datetime, packed: bytes, pairs: Sequence[NeighbourPair], known: Mapping[str, bytes | None]
) -> NeighbourPair | None:
    """Return the first pair that says the same as a text, or None.

    said: when. packed: the typed statements of the text. known: those of the neighbours, by id.
    """
    new = read_stated(text, packed, 0)
    for pair in pairs:
        old = read_stated(pair.stored.text, known.get(pair.stored.id), 0)
        together = abs(said - pair.stored.created_at) <= MAX_APART
        if says_the_same(new, old, pair.judgement, pair.near.cosine or 0, together=together):
            return pair
    return None


def says_the_same(
    new: StatedText, old: StatedText, judgement: Judgement, cosine: float, *, together: bool = False
) -> bool:
    """Whether two texts surely say the same.

    cosine: of the vectors of the first model, which reads English; of other languages it tells how many words they
    share. together: whether both were said at about one time. A value, a name or a relation that only one of them
    tells, another subject, a guard, an opposite, and a frame with another word in it speak against it.
    """
    if (
        _AGAINST & set(judgement.guards)
        or max(len(new.text), len(old.text)) > MAX_LENGTH
        or picks_other(new.text, old.text)
    ):
        return False
    later, earlier = _whole(new), _whole(old)
    if later is None or earlier is None:
        return False
    first, second = sign_text(old.text), sign_text(new.text)
    language = choose_common_language(first.evidence, second.evidence)
    unspaced = bool(_UNSPACED.search(old.text))
    if unspaced != bool(_UNSPACED.search(new.text)) or not (unspaced or language in LISTED_LANGUAGES):
        return False
    first, second = sign_text(old.text, language), sign_text(new.text, language)
    if not together and (names_day_from_now(first) or names_day_from_now(second)):
        return False
    if not _same_subject(earlier.subject, later.subject, first, second):
        return False
    near = closeness(later, earlier)
    if language == "en" or not _values(first):
        near = (near + cosine) / 2
    elif not unspaced and cosine < MIN_COSINE_OTHER:
        return False
    if near < _least_nearness(first, second, unspaced=unspaced):
        return False
    if not _is_near(later, earlier, valued=bool(_values(first))):
        return False
    if "order" in judgement.guards and _roles(first, second) != _roles(second, first):
        return False  # who owes whom stands in the order of the words
    return _same_countable(first, second, near) and _same_frame_of_words(first, second, near, unspaced=unspaced)


def _whole(stated: StatedText) -> PackedStatement | None:
    """The statement of a text as a whole, or of most of it."""
    widest = max(stated.statements, key=lambda each: each.end - each.start, default=None)
    if widest is None or widest.end - widest.start < MIN_COVERED * len(stated.text.strip()):
        return None
    return widest


def _least_nearness(first: Signature, second: Signature, *, unspaced: bool) -> float:
    if not _values(first):
        return MIN_NEARNESS_UNVALUED
    if unspaced or _rhythms(first) != _rhythms(second):
        return MIN_NEARNESS_OF_RHYTHMS
    return MIN_NEARNESS


def _is_near(later: PackedStatement, earlier: PackedStatement, *, valued: bool) -> bool:
    changes = later.changes / 255, earlier.changes / 255
    if valued:
        return max(changes) <= MAX_CHANGE_VALUED
    return max(changes) <= MAX_CHANGE and abs(changes[0] - changes[1]) <= MAX_CHANGE_APART


def names_day_from_now(signature: Signature) -> bool:
    """Whether a text names a day or a year that is another one when it is said later: on Friday, last summer."""
    if _when(signature) or _TODAY.search(signature.text.lower()):
        return True
    if _UNSPACED.search(signature.text):
        return bool(_WEEKDAY.search(signature.text)) and not _EVERY.search(signature.text)
    weekday = any(value.startswith("w:") for value in signature.times)
    return any(value.startswith("o:") for value in signature.times) or (weekday and not _rhythms(signature))


def _when(signature: Signature) -> set[str]:
    return when_told(signature.text, signature.language)


def _same_subject(left: str, right: str, first: Signature, second: Signature) -> bool:
    """Whether two statements are about the same, by their keys; or name one and the same, and nobody else.

    "The head chef is Bianca" seems to be about whoever says it, since her name stands late.
    """
    keys = set(left.split("+")), set(right.split("+"))
    if first.language == "de":  # names are compared where its nouns are
        keys = _but_names(keys[0]), _but_names(keys[1])
    if keys[0] == keys[1]:
        return True
    if _UNSPACED.search(first.text) or first.language == "de":
        return False
    people = _people(first)
    return people == _people(second) and len(people) < 2 and people.isdisjoint(("self", "third"))


def _but_names(keys: set[str]) -> set[str]:
    return {key for key in keys if key and not key.startswith("name:")} or {"self"}


def _people(signature: Signature) -> set[str]:
    """The people that a text names, and whether it speaks in the first or the third person."""
    lists = subject_words()
    words = set(_SPOKEN.findall(signature.text.lower().replace("’", "'")))
    found = {sort for sort, said in (("self", lists.self), ("third", lists.third)) if words & said}
    return found | _names(signature) | relations_in(signature.text)


def _same_countable(first: Signature, second: Signature, near: float) -> bool:
    """Whether both name the same numbers, days, units, names, relations and limits."""
    if not same_values(first, second):
        return False
    counted = units_of(first), units_of(second)
    if counted[0] and counted[1] and counted[0] != counted[1]:
        return False
    related = _relations(first), _relations(second)
    if related[0] != related[1] and not (near >= MIN_NEARNESS_SURE and related[0] & related[1] - _PETS):
        return False
    if _direction(first, second) or _direction(second, first):
        return False
    if _codes(first) != _codes(second) or first.cues != second.cues:
        return False
    if not same_names(first, second):
        return False
    if (first.quantifiers ^ second.quantifiers) & _RISKY_WORDS:
        return False
    return not (first.conjunctions ^ second.conjunctions) & _RISKY_CONJUNCTIONS


@cache
def _common_words() -> CommonWords:
    return CommonWords(load_weights().common)


def _names(signature: Signature) -> set[str]:
    return set(names_in(signature.text, _common_words()))


def same_names(first: Signature, second: Signature) -> bool:
    """Whether each text names whom and what the other names."""
    if first.language == "de":
        # Every noun is written large there, so what only one of them writes large may be a name.
        return _large_words(first) <= set(second.content) and _large_words(second) <= set(first.content)
    low = first.text.lower(), second.text.lower()
    return all(name in low[1] for name in _names(first)) and all(name in low[0] for name in _names(second))


def _large_words(signature: Signature) -> set[str]:
    """Stems of the words of the content that are written large."""
    lists = load_word_lists(signature.language)
    large = {word.lower() for word in _SPOKEN.findall(signature.text) if word[0].isupper()} - lists.persons
    return {stem(word, lists) for word in large} & set(signature.content)


def _codes(signature: Signature) -> set[str]:
    """The codes of a text that are no numbers with an ending ("3rd", "50cc")."""
    return {code for code in signature.codes - _HARMLESS_CODES if not _COUNTED.fullmatch(code)}


def _direction(first: Signature, second: Signature) -> bool:
    """Whether the first text tells a direction that the second does not; who gets something off somebody, from them."""
    other = second.prepositions | ({"from"} if "off" in second.prepositions else set())
    return bool(first.prepositions & _DIRECTIONS - other)


def _relations(signature: Signature) -> frozenset[str]:
    """The relations that a text names; who marries is no relation of somebody, and "son" in French is his or hers."""
    return relations_in(signature.text) - {"relation:spouse", "relation:son" if signature.language == "fr" else ""}


def _same_frame_of_words(first: Signature, second: Signature, near: float, *, unspaced: bool) -> bool:
    """Whether both are built of shared words and others, in frames of their own, with no opposites in them."""
    words = [_words(each, unspaced=unspaced) for each in (first, second)]
    most = MAX_FRAME_UNSPACED if unspaced and near >= MIN_NEARNESS_SURE else MAX_FRAME
    if SequenceMatcher(None, words[0], words[1]).ratio() >= most:
        return False
    content = [set(_SIGNS.findall(each.text)) if unspaced else set(each.content) for each in (first, second)]
    shared, alone, other = content[0] & content[1], content[0] - content[1], content[1] - content[0]
    if not (shared and alone and other):
        return False
    if not unspaced and not (_values(first) or _without_names(shared, first)):
        return False
    if len(shared) < (3 if unspaced else 1 if _values(first) else 2) or _when(first) != _when(second):
        return False
    if unspaced:
        return not any({a, b} <= alone | other and (a in alone) != (b in alone) for a, b in _OPPOSITES)
    if alone & _UNITS_OF and other & _UNITS_OF:
        return False
    opposites = load_word_lists(first.language).antonyms
    raw = set(first.raw), set(second.raw)
    return not any((a, b) in opposites for a in raw[0] - raw[1] for b in raw[1] - raw[0])


def _roles(signature: Signature, other: Signature) -> list[str]:
    """The people, relations and names that both texts tell, in the order of the first."""
    lists = subject_words()
    named = _names(signature) & _names(other)

    def read(text: str) -> list[str]:
        words = [word.removesuffix("'s") for word in _SPOKEN.findall(text.lower())]
        found = [
            "self" if word in lists.self and word not in lists.possessive else lists.relations.get(word, word)
            for word in words
            if word in lists.self - lists.possessive or word in lists.relations or word in named
        ]
        return list(dict.fromkeys(found))

    there = set(read(other.text))
    return [key for key in read(signature.text) if key in there]


def _without_names(stems: set[str], signature: Signature) -> set[str]:
    """Stems that belong to no name: two sentences about Ana share nothing by that."""
    return {stem for stem in stems if not any(name.startswith(stem[:4]) for name in _names(signature))}


def _words(signature: Signature, *, unspaced: bool) -> list[str]:
    low = signature.text.lower()
    return [sign for sign in low if sign.isalnum()] if unspaced else _WORD.findall(low)


def same_values(first: Signature, second: Signature) -> bool:
    """Whether both name the same numbers, days and hours. 8 is 8 p.m. only for who names no half of the day."""
    halves = _halves(first), _halves(second)
    if any(one == {"early"} and other and "early" not in other for one, other in (halves, halves[::-1])):
        return False
    unsure = not (halves[0] and halves[1]) or (halves[0] == halves[1] and len(halves[0]) == 1)
    folded = unsure and not (_counts_full_hours(first) or _counts_full_hours(second))
    return _values(first, folded=folded) == _values(second, folded=folded)


def _halves(signature: Signature) -> set[str]:
    """The halves of the day that a text names in words."""
    low = signature.text.lower()
    found = {half for half, words in _HALVES.items() if words.search(low)}
    marks = set() if signature.language == "de" else set(_MERIDIEM.findall(low))
    return found | {"early" if mark == "a" else "late" for mark in marks}


def _counts_full_hours(signature: Signature) -> bool:
    """Whether a text counts the hours of a day to 24: "8 Uhr", "20:00"."""
    late = any(int(hour) > 12 for hour in _hours(signature)) and not _halves(signature)
    return late or _FULL_HOURS.search(signature.text.lower()) is not None


def _hours(signature: Signature) -> list[str]:
    return [value[2:].split(":")[0] for value in signature.times if value.startswith("t:")]


def _values(signature: Signature, *, folded: bool = False) -> set[str]:
    """The numbers and days of a text, without units and rhythms: what has to be the same in other words.

    folded: whether the hours are counted to 12 only.
    """
    if _UNSPACED.search(signature.text):
        return _unspaced_values(signature.text)
    later = 12 if _halves(signature) == {"late"} else 0
    found: set[str] = set()
    for value in (*signature.numbers, *signature.times):
        if value.startswith("t:"):
            hour, minute = value[2:].split(":")[:2]
            full = int(hour) + (later if int(hour) < 12 else 0)
            found.add(f"{full % 12 or 12 if folded else full}" + (f".{minute}" if minute != "00" else ""))
        elif value.startswith("d:"):
            found |= {f"m:{value[2:4]}", str(int(value[5:7]))}
        elif not value.startswith(("per", "o:")):
            found.add(_MARKS.sub("", value.removeprefix("y:")))
    return found - {"1"}


def units_of(signature: Signature) -> set[str]:
    """The units that numbers of a text have, currencies too."""
    if _UNSPACED.search(signature.text):
        return {_SAME_UNITS.get(hit[1], hit[1]) for hit in _COUNTED_SIGNS.finditer(signature.text)}
    known = _MORE_UNITS | set(load_word_lists(signature.language).units.values())
    pairs = zip(signature.raw, signature.raw[1:], strict=False)
    return {word for before, word in pairs if before[0].isdigit() and word in known} | _MONEY & set(signature.raw)


def _rhythms(signature: Signature) -> set[str]:
    return {value for value in signature.times if value.startswith("per")}


def _unspaced_values(text: str) -> set[str]:
    found = {f"w:{_DAY_SIGNS[day[1]] if day[1] else _DAY_NAMES[day[2]]}" for day in _WEEKDAY.finditer(text)}
    bare = _IDIOMS.sub(" ", _WEEKDAY.sub(" ", text))
    return found | {str(number) for hit in _NUMERAL.finditer(bare) if (number := _read_numeral(hit[0])) != 1}


def _read_numeral(signs: str) -> int:
    """The number that signs write: 12, 一万二 (12,000), 三百五 (350), 二十."""
    if _DIGIT.match(signs):
        return int(re.match(r"\d+", signs)[0])  # type: ignore[index]
    total = section = digit = 0
    unit = 1
    for sign in signs:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in _UNITS:
            unit = _UNITS[sign]
            section, digit = section + (digit or 1) * unit, 0
        elif sign == "万":
            unit = 10_000
            total, section, digit = total + (section + digit or 1) * unit, 0, 0
    # "三百五" is 350, "一万二" 12,000.
    return total + section + digit * (unit // 10 if unit > 10 and digit else 1)
