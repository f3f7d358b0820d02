"""Judges by typed statements whether two texts say the same in other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from functools import cache
from typing import Final

from memwarden.remember.resolve.changes import StatedText, closeness, picks_other, read_stated, when_told
from memwarden.remember.resolve.countables import (
    is_unspaced,
    named_values,
    names_day_from_now,
    rhythms_told,
    same_values,
    units_of,
)
from memwarden.remember.resolve.lookalikes import is_typed_small, light_stems, naming_stems, only_read_alike
from memwarden.remember.resolve.resolution import NeighbourPair
from memwarden.remember.resolve.same_fact import Judgement
from memwarden.remember.resolve.same_fact.signature import Signature, sign_text, stem
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, choose_common_language, load_word_lists
from memwarden.statements.reader import CommonWords, load_weights
from memwarden.statements.statement import PackedStatement
from memwarden.statements.wording import SELF, names_in, relations_in, subject_words

# Chosen on labelled pairs, of which no pair with another meaning passes.
MIN_NEARNESS: Final = 0.6
# What happens again and again is told with a word for that, and without.
MIN_NEARNESS_OF_RHYTHMS: Final = 0.7
# Without a number or a day that both name, only the meaning tells that they say the same.
MIN_NEARNESS_UNVALUED: Final = 0.74
# A name that both tell of themselves is nearly as good as a number.
MIN_NEARNESS_NAMED: Final = 0.7
MIN_COSINE: Final = 0.4
MIN_COSINE_OTHER: Final = 0.6
# What tells of a change is news, whatever it has in common with what was known.
MAX_CHANGE: Final = 0.83
MAX_CHANGE_VALUED: Final = 0.97
MAX_CHANGE_APART: Final = 0.65
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
_HARMLESS_CODES: Final = frozenset(("a.m", "p.m", "a.m.", "p.m.", "="))
_RISKY_WORDS: Final = frozenset(("least", "most-of", "half", "except", "but", "other", "few", "many", "some", "no"))
_RISKY_CONJUNCTIONS: Final = frozenset(("or", "unless", "if", "oder", "wenn", "falls", "si", "ou", "o", "except"))
_SIGNS: Final = re.compile(r"[\u30a0-\u30ff\u4e00-\u9fff]")
_WORD: Final = re.compile(r"[\w#$£€%]+")
_CLEFT: Final = re.compile(r"(?:where|what|donde|lo que|où|ce que|wo|was)\b")
_SPOKEN: Final = re.compile(r"[\w'’]+")
_COUNTED: Final = re.compile(r"\d+[a-zé]{1,3}")
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
        and not (_AGAINST - {"entity"}) & set(pair.judgement.guards)
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
        _speaks_against(judgement, old.text, new.text)
        or max(len(new.text), len(old.text)) > MAX_LENGTH
        or picks_other(new.text, old.text)
    ):
        return False
    later, earlier = _whole(new), _whole(old)
    if later is None or earlier is None:
        return False
    first, second = sign_text(old.text), sign_text(new.text)
    language = choose_common_language(first.evidence, second.evidence)
    unspaced = is_unspaced(old.text)
    if unspaced != is_unspaced(new.text) or not (unspaced or language in LISTED_LANGUAGES):
        return False
    first, second = sign_text(old.text, language), sign_text(new.text, language)
    if not together and (names_day_from_now(first) or names_day_from_now(second)):
        return False
    if not _same_subject(earlier.subject, later.subject, first, second):
        return False
    near = closeness(later, earlier)
    if language == "en" or not named_values(first):
        near = (near + cosine) / 2
    elif not unspaced and cosine < MIN_COSINE_OTHER:
        return False
    own = earlier.subject == later.subject == SELF
    if near < _least_nearness(first, second, unspaced=unspaced, own=own):
        return False
    if not _is_near(later, earlier, valued=bool(named_values(first))):
        return False
    roles = _roles(first, second), _roles(second, first)
    # Who owes whom stands in the order of the words; "my dog Lola" and "Lola, my dog" are one.
    one = {key.partition(":")[2] for each in (later, earlier) for key in each.subject.split("+")}
    if "order" in judgement.guards and roles[0] != roles[1] and not one >= set(roles[0]):
        return False
    if only_read_alike(first, second):
        return False
    return _same_countable(first, second, near) and _same_frame_of_words(first, second, near, unspaced=unspaced)


def _speaks_against(judgement: Judgement, *texts: str) -> bool:
    """Whether a guard speaks that no rewording silences. Who types without capitals writes names like other words."""
    heard = _AGAINST & set(judgement.guards)
    return bool(heard - {"entity"} if any(map(is_typed_small, texts)) else heard)


def _whole(stated: StatedText) -> PackedStatement | None:
    """The statement of a text as a whole, or of most of it."""
    widest = max(stated.statements, key=lambda each: each.end - each.start, default=None)
    if widest is None or widest.end - widest.start < MIN_COVERED * len(stated.text.strip()):
        return None
    return widest


def _least_nearness(first: Signature, second: Signature, *, unspaced: bool, own: bool) -> float:
    """own: whether both are about whoever says them, so that a name is what they tell and not whom they tell of."""
    if not named_values(first):
        names = _names(first)
        return MIN_NEARNESS_NAMED if own and names and names == _names(second) else MIN_NEARNESS_UNVALUED
    if unspaced or rhythms_told(first) != rhythms_told(second):
        return MIN_NEARNESS_OF_RHYTHMS
    return MIN_NEARNESS


def _is_near(later: PackedStatement, earlier: PackedStatement, *, valued: bool) -> bool:
    changes = later.changes / 255, earlier.changes / 255
    if valued:
        return max(changes) <= MAX_CHANGE_VALUED
    return max(changes) <= MAX_CHANGE and abs(changes[0] - changes[1]) <= MAX_CHANGE_APART


def _when(signature: Signature) -> set[str]:
    return when_told(signature.text, signature.language)


def _same_subject(left: str, right: str, first: Signature, second: Signature) -> bool:
    """Whether two statements are about the same, by their keys; or name one and the same, and nobody else.

    "The head chef is Bianca" seems to be about whoever says it, since her name stands late.
    """
    keys = set(left.split("+")), set(right.split("+"))
    if first.language == "fr":
        keys = _but_his(keys[0], first), _but_his(keys[1], second)
    if first.language == "de":  # names are compared where its nouns are
        keys = _but_names(keys[0]), _but_names(keys[1])
    if keys[0] == keys[1]:
        return True
    # "My dog is called Lola and is nine" is about my dog, "Lola, my dog, is nine" about Lola too.
    if keys[0] & keys[1] and _named_in_both(keys[0] ^ keys[1], first, second):
        return True
    if is_unspaced(first.text) or first.language == "de":
        return False
    people = _people(first)
    return people == _people(second) and len(people) < 2 and people.isdisjoint(("self", "third"))


def _named_in_both(keys: set[str], first: Signature, second: Signature) -> bool:
    names = {key.removeprefix("name:") for key in keys if key.startswith("name:")}
    low = first.text.lower(), second.text.lower()
    return len(names) == len(keys) and all(name in text for name in names for text in low)


def _but_names(keys: set[str]) -> set[str]:
    return {key for key in keys if key and not key.startswith("name:")} or {"self"}


def _but_his(keys: set[str], signature: Signature) -> set[str]:
    """Keys without a son that is but the French word for his or hers."""
    return keys if "fils" in signature.text.lower() else keys - {"relation:son"}


def _people(signature: Signature) -> set[str]:
    """The people that a text names, and whether it speaks in the first or the third person."""
    return _pronouns(signature) | _names(signature) | relations_in(signature.text)


def _pronouns(signature: Signature) -> set[str]:
    lists = subject_words()
    words = set(_SPOKEN.findall(signature.text.lower().replace("’", "'")))
    return {sort for sort, said in (("self", lists.self), ("third", lists.third)) if words & said}


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
    if _codes(first) != _codes(second) or _other_cues(first, second):
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


def _other_cues(first: Signature, second: Signature) -> bool:
    """Whether one text alone tells of a change. That something is so now is no change by itself."""
    present = frozenset[str]() if is_unspaced(first.text) else load_word_lists(first.language).present
    return bool((first.cues ^ second.cues) - present)


def _direction(first: Signature, second: Signature) -> bool:
    """Whether the first text tells a direction that the second does not; who gets something off somebody, from them."""
    other = second.prepositions | ({"from"} if "off" in second.prepositions else set())
    return bool(first.prepositions & _DIRECTIONS - other)


def _relations(signature: Signature) -> frozenset[str]:
    """The relations that a text names; who marries is no relation of somebody, and "son" in French is his or hers."""
    found = relations_in(signature.text) - {"relation:spouse"}
    return frozenset(_but_his(set(found), signature)) if signature.language == "fr" else found


def _same_frame_of_words(first: Signature, second: Signature, near: float, *, unspaced: bool) -> bool:
    """Whether both are built of shared words and others, in frames of their own, with no opposites in them."""
    words = [_words(each, unspaced=unspaced) for each in (first, second)]
    most = MAX_FRAME_UNSPACED if unspaced and near >= MIN_NEARNESS_SURE else MAX_FRAME
    if not unspaced and _is_named(first, second):
        return True
    if SequenceMatcher(None, words[0], words[1]).ratio() >= most:
        return False
    content = [set(_SIGNS.findall(each.text)) if unspaced else set(each.content) for each in (first, second)]
    shared, alone, other = content[0] & content[1], content[0] - content[1], content[1] - content[0]
    if not unspaced and shared and not (alone or other):
        return _tells_one_rhythm(first, second)
    if not (shared and alone and other):
        return False
    if not unspaced and not (named_values(first) or _without_names(shared, first)):
        return False
    if len(shared) < (3 if unspaced else 1 if named_values(first) else 2) or _when(first) != _when(second):
        return False
    if unspaced:
        return not any({a, b} <= alone | other and (a in alone) != (b in alone) for a, b in _OPPOSITES)
    if alone & _UNITS_OF and other & _UNITS_OF:
        return False
    opposites = load_word_lists(first.language).antonyms
    raw = set(first.raw), set(second.raw)
    return not any((a, b) in opposites for a in raw[0] - raw[1] for b in raw[1] - raw[0])


def _tells_one_rhythm(first: Signature, second: Signature) -> bool:
    """Whether two texts of the same words in the same order tell one rhythm, each in its own way."""
    told = rhythms_told(first)
    in_order = [word for word in first.content if word in second.content] == list(second.content)
    return in_order and bool(told) and told == rhythms_told(second) and len(named_values(first)) < 2


def _is_named(first: Signature, second: Signature) -> bool:
    """Whether both tell the same words, and one that the one is called the other, or where and what it is.

    The dog is called Rex, Rex is our dog. Ana lives in Lima, where Ana lives is Lima.
    """
    shared, light = set(first.content) & set(second.content), light_stems(first.language)
    told = {*first.content, *second.content} - shared
    if not (told and told <= light):
        return False
    if _CLEFT.match(first.text.lower()) or _CLEFT.match(second.text.lower()):
        last = [next(word for word in reversed(each.content) if word in shared) for each in (first, second)]
        return len(shared - light) > 1 and last[0] == last[1]
    named = told & naming_stems(first.language)
    return bool(named) and len(shared - light) == 2 and len(_pronouns(first) | _pronouns(second)) < 2


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
