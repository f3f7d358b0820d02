"""Judges a pair of statements: guards, then rules in order; the first that applies decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from memwarden.remember.resolve.same_fact import word_lists
from memwarden.remember.resolve.same_fact.claim import (
    are_alike,
    find_gap,
    is_changed,
    is_event,
    is_measure,
    is_over,
    is_replaced,
    is_rhythm,
    is_value,
)
from memwarden.remember.resolve.same_fact.signature import Signature, is_content, sign_text
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, WordLists, load_word_lists

Guard = Callable[[Signature, Signature], bool]


def negation(old: Signature, new: Signature) -> bool:
    """Either denies what the other says, or they deny different words."""
    return old.negations != new.negations


def number(old: Signature, new: Signature) -> bool:
    """Other numbers, or the same ones in another order."""
    return old.numbers != new.numbers and (sorted(old.numbers) != sorted(new.numbers) or len(old.numbers) > 1)


def date(old: Signature, new: Signature) -> bool:
    """Other days, times, years or rhythms."""
    return sorted(old.times) != sorted(new.times)


def quantifier(old: Signature, new: Signature) -> bool:
    """All, most, some, only, at least: not the same ones."""
    return old.quantifiers != new.quantifiers


def modality(old: Signature, new: Signature) -> bool:
    """Will, may, must, wants, used to, says that: not the same ones."""
    return old.modality != new.modality


def tense(old: Signature, new: Signature) -> bool:
    """Either is over, the other is not."""
    if "any" in (old.tense, new.tense):
        return False
    return (old.tense or "present") != (new.tense or "present")


def preposition(old: Signature, new: Signature) -> bool:
    """From, against, before, under: not the same ones."""
    return old.prepositions != new.prepositions


def conjunction(old: Signature, new: Signature) -> bool:
    """And, or, if, because, that: not the same ones."""
    return old.conjunctions != new.conjunctions


def code(old: Signature, new: Signature) -> bool:
    """Other addresses, paths, versions or names of code; their case counts."""
    return old.codes != new.codes and _plain_codes(old) != _plain_codes(new)


def _plain_codes(signature: Signature) -> frozenset[str]:
    """Codes without those that were understood: a time, an amount."""
    return frozenset(found for found in signature.codes if found.lower() in signature.words)


def entity(old: Signature, new: Signature) -> bool:
    """A name in either is a word in the other: Apple, apple."""
    if old.language == "de":
        return False
    return bool(
        (old.capitals - old.smalls) & (new.smalls - new.capitals)
        or (new.capitals - new.smalls) & (old.smalls - old.capitals)
    )


def article(old: Signature, new: Signature) -> bool:
    """ "The" thing in either is "a" thing in the other; in German, another case or gender."""
    other = {noun: word for word, noun in new.articles}
    return any(other.get(noun, word) != word for word, noun in old.articles)


def kin(old: Signature, new: Signature) -> bool:
    """A wife in either is a husband in the other."""
    return bool(old.kin and new.kin) and old.kin != new.kin


def plural(old: Signature, new: Signature) -> bool:
    """What may be a noun is singular in either and plural in the other: the old plan, the old plans."""
    return bool(old.bare & new.marked or new.bare & old.marked)


def question(old: Signature, new: Signature) -> bool:
    """Either asks, the other states."""
    return old.asks != new.asks


def quote(old: Signature, new: Signature) -> bool:
    """Either quotes, the other does not."""
    return old.quotes != new.quotes


def case(old: Signature, new: Signature) -> bool:
    """A word whose meaning hangs on its capital letter: US, us."""
    if old.language not in LISTED_LANGUAGES:
        return False
    telling = load_word_lists(old.language).case_matters
    return bool(telling & ((old.capitals & new.smalls) | (new.capitals & old.smalls)))


def order(old: Signature, new: Signature) -> bool:
    """The words that both have stand in another order: who does what to whom."""
    first = [word for word in old.content if word in new.content]
    second = [word for word in new.content if word in old.content]
    return first != second and sorted(first) == sorted(second) and old.words != new.words


# The guards by name, in alphabetical order.
GUARDS: Final[Mapping[str, Guard]] = MappingProxyType(
    {
        guard.__name__: guard
        for guard in (
            article,
            case,
            code,
            conjunction,
            date,
            entity,
            kin,
            modality,
            negation,
            number,
            order,
            plural,
            preposition,
            quantifier,
            question,
            quote,
            tense,
        )
    }
)


def find_guards(old: Signature, new: Signature) -> tuple[str, ...]:
    """The names of the guards that speak against a merge, in alphabetical order."""
    return tuple(name for name, guard in GUARDS.items() if guard(old, new))


Label = Literal["same", "supersede", "link", "different", "check"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relation of a new statement to an old one, the rule that decided, and the guards against a merge.

    ``label``: "same": both say the same. "supersede": the new statement gives a new value for the same thing, so the
    old statement's validity ends. "link": related, both hold. "check": perhaps the same, but no rule decides; ask a
    model, or keep both and link them. "different": keep both.

    ``guards`` are names in alphabetical order; with any of them the label is never "same".
    """

    label: Label
    rule: str
    guards: tuple[str, ...] = ()


# From here on a pair that no rule decides is worth a question to a model; the cosine itself never merges.
MIN_COSINE: Final = 0.55


def judge(old: str, new: str, *, cosine: float | None = None) -> Judgement:
    """Judge the relation of the statement `new` to the statement `old`.

    `cosine` (-1 to 1) is the similarity of their vectors, if there are any: it only sends undecided pairs to "check",
    it never merges. Never raises. "same" is symmetric; the other labels depend on which statement is newer.
    """
    before, after = sign_text(old), sign_text(new)
    language = word_lists.choose_common_language(before.evidence, after.evidence)
    if before.folded == after.folded:
        return _equal(before, after)
    before = before if before.language == language else sign_text(old, language)
    after = after if after.language == language else sign_text(new, language)
    if not language or before.language != after.language or not before.language:
        return _judge_without_lists(before, after, cosine)
    found = find_guards(before, after)
    if before.words == after.words and before.words and not found:
        return Judgement("same", "covered")
    if language == "ja":
        return _japanese(before, after, found, cosine)
    return _judge_with_lists(before, after, found, cosine, load_word_lists(language))


def _equal(old: Signature, new: Signature) -> Judgement:
    found = tuple(name for name in ("case", "code", "question", "quote") if GUARDS[name](old, new))
    return Judgement("different", "written alike", found) if found else Judgement("same", "equal")


def _judge_without_lists(old: Signature, new: Signature, cosine: float | None) -> Judgement:
    """Languages without lists: what is not equal is linked at most."""
    shared = sum((Counter(old.content) & Counter(new.content)).values())
    near = cosine is not None and cosine >= MIN_COSINE
    half = shared * 2 >= max(len(old.content), len(new.content), 1)
    return Judgement("link", "no lists, near") if near or half else Judgement("different", "no lists")


def _judge_with_lists(
    old: Signature, new: Signature, found: tuple[str, ...], cosine: float | None, lists: WordLists
) -> Judgement:
    pair = SignaturePair(old, new, lists)
    label, rule = _decide(pair, found)
    if rule in ("apart", "more on one side") and pair.same_subject and cosine is not None and cosine >= MIN_COSINE:
        label, rule = "check", "near"
    return Judgement(label, rule, found)


class SignaturePair:
    """Two signatures, with the words that each has alone."""

    __slots__ = ("cue", "first", "lists", "new", "old", "same_subject", "second")

    def __init__(self, old: Signature, new: Signature, lists: WordLists) -> None:
        self.old, self.new, self.lists = old, new, lists
        self.first, self.second = _alone(old.content, new.content), _alone(new.content, old.content)
        self.cue = bool(new.cues - old.cues)
        self.same_subject = old.subject == new.subject or _subject_inside(old, new)
        if self.cue and old.topic and not _alone(old.topic, (*new.content, *new.times, *new.numbers)):
            self.same_subject = True

    def opposites(self) -> bool:
        """Nothing but a word and its opposite tells them apart, and it does not pick among several things."""
        if len(self.first) == 1 and len(self.second) == 1 and self.first[0].endswith("handed"):
            return True
        first, second = self._bare(self.old, self.new), self._bare(self.new, self.old)
        pairs = [(a, b) for a in first for b in second if (a, b) in self.lists.antonyms or _denying(a, b)]
        return any(self._is_predicate(self.old, a) and self._is_predicate(self.new, b) for a, b in pairs)

    def _is_predicate(self, signature: Signature, word: str) -> bool:
        """The word is what is said, and not a part of a name: the boat is red, not the red boat."""
        after = signature.raw[signature.raw.index(word) + 1 :][:1]
        if word in self.lists.prepositions:
            return True
        return not after or word in self.lists.bases or not is_content(after[0], self.lists) or after[0] in _LASTING

    def _bare(self, old: Signature, new: Signature) -> set[str]:
        return set(old.raw) - set(new.raw)

    def topic_alone(self) -> bool:
        """Either has words of its own before the verb."""
        return bool(_alone(self.old.topic, self.new.content) or _alone(self.new.topic, self.old.content))

    def topics_differ(self) -> bool:
        """Both have words of their own before the verb."""
        return bool(_alone(self.old.topic, self.new.content) and _alone(self.new.topic, self.old.content))


# Somebody has a single one of these, whatever stands before them.
_LASTING: Final = frozenset({"hair"})

# Beginnings that turn a word into its opposite: un-happy, in-valid.
_DENYING: Final = re.compile(r"^(?:un|in|im|ir|il|dis|non-?|de|a)")


def _denying(word: str, other: str) -> bool:
    """Either word is the other with a denying beginning or ending: reachable, unreachable; painful, painless."""
    short, long = sorted((word, other), key=len)
    if len(short) > 3 and long.endswith(short) and _DENYING.sub("", long, count=1) == short:
        return True
    return word.removesuffix("ful") == other.removesuffix("less") or word.removesuffix("less") == other.removesuffix(
        "ful"
    )


def _alone(words: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
    left = Counter(other)
    out = []
    for word in words:
        if left[word]:
            left[word] -= 1
        else:
            out.append(word)
    return out


def _subject_inside(old: Signature, new: Signature) -> bool:
    """The deadline of Atlas, Atlas's deadline: the first word of each is among the first three of the other."""
    return bool(old.subject) and bool(new.subject) and old.subject in new.content[:3] and new.subject in old.content[:3]


def _decide(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str]:
    for rule in (
        _check_ended,
        _check_changed,
        _another,
        _subject,
        _order,
        _question,
        _modality,
        _tense,
        _check_denied,
        _opposite,
        _amount,
        _more,
        _value,
    ):
        decided = rule(pair, found)
        if decided is not None:
            return decided
    if not pair.first or not pair.second:
        return "link", "more on one side"
    return "different", "apart"


def _subject(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if pair.same_subject:
        return None
    rest = len(pair.first) <= 1 and len(pair.second) <= 1
    holder = bool(set(pair.old.raw) & pair.lists.holders & set(pair.new.raw))
    changed = bool({"now", "jetzt", "ahora", "maintenant", "désormais", "nun"} & pair.new.cues) or (
        holder and pair.old.tense == pair.new.tense == "present"
    )
    if rest and changed and not {"negation", "number", "date"} & set(found):
        return "supersede", "new holder"
    return "different", "other subject"


def _check_ended(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if is_replaced(pair.old, pair.new, pair.lists):
        return "supersede", "replaced"
    return ("supersede", "over") if is_over(pair.old, pair.new, pair.lists) else None


def _check_changed(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The new statement tells of a change that has come about."""
    return _value(pair, found) if pair.new.changed and pair.new.modality - pair.old.modality <= {"-"} else None


def _order(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if (
        "order" in found
        and not {"negation", "number", "date", "modality"} & set(found)
        and not pair.first
        and not pair.second
    ):
        return "different", "roles"
    return None


def _question(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    return ("link", "question") if "question" in found or "quote" in found else None


def _close(pair: SignaturePair, first: int, second: int) -> bool:
    return len(pair.first) <= first and len(pair.second) <= second


def _modality(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    before, after = pair.old.modality, pair.new.modality
    if before == after:
        return None
    if pair.first or not _close(pair, 0, 2):
        return ("link", "modality") if _close(pair, 2, 2) else None
    if "used" in after - before:
        return "supersede", "used to"
    if "used" in before - after:
        return "link", "modality"
    if "decide" in after and {"may", "plan"} & before:
        return "supersede", "happened"
    if (
        {"future", "plan"} & (before - after)
        and pair.new.tense in ("past", "perfect", "imperfect", "unmarked", "present")
        and not after - before
        and not ("date" in found and pair.old.times and pair.new.times)
    ):
        return "supersede", "happened"
    if before - after == {"past"} or after - before == {"past"}:
        return ("supersede", "over") if "past" in after else ("link", "modality")
    return "link", "modality"


def _tense(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if "tense" not in found or pair.first or pair.second or pair.cue or {"number", "date"} & set(found):
        return None
    if pair.new.tense in ("past", "imperfect") and not {"negation", "quantifier"} & set(found):
        return "supersede", "over"
    return ("link", "tense") if pair.old.tense == "past" else None


def _check_denied(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if len(pair.old.negations) % 2 == len(pair.new.negations) % 2 or not _close(pair, 1, 1):
        return None
    if pair.first and (pair.second or "date" in found or "and" in pair.old.raw):
        return None  # allergic to nuts and eggs, not to nuts: the eggs stay
    if pair.topic_alone():
        return None  # the user is, the user's daughter is not
    bound = Counter(pair.old.negations), Counter(pair.new.negations)
    denied = set((bound[0] - bound[1]) + (bound[1] - bound[0])) - {""}
    said = set(pair.old.raw) & set(pair.new.raw)
    if denied <= said or _close(pair, 1, 0):
        return "supersede", "negation"
    return None


def _opposite(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if {"order", "number", "date", "quantifier"} & set(found) or pair.topics_differ() or not _close(pair, 1, 1):
        return None
    return ("supersede", "opposite") if pair.opposites() else None


def _amount(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    before, after = pair.old.quantifiers & _SCALE, pair.new.quantifiers & _SCALE
    if before and after and before != after and "order" not in found and _close(pair, 0, 1):
        return "supersede", "quantifier"
    return None


# Amounts exclude each other only among these: "all" is no longer "some".
_SCALE: Final = frozenset("all most some few many none only least most-of half except but other more less".split())


def _more(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The new statement says the old and something on top."""
    if pair.first or {"negation"} & set(found):
        return None
    old, new = Counter((*pair.old.numbers, *pair.old.times)), Counter((*pair.new.numbers, *pair.new.times))
    if old - new or not (pair.second or new - old):
        return None
    return "link", "more said"


def _another(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """Hive 3 is not hive 4, whatever is said of them."""
    before, after = dict(pair.old.named), dict(pair.new.named)
    other = any(after.get(noun, number) != number for noun, number in before.items())
    return ("different", "another one") if other else None


def _value(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The two differ in a single place, and what stands there has a single value at a time."""
    place = find_gap(pair.old, pair.new)
    if pair.new.changed and not pair.old.changed and pair.old.tense == "past":
        return None
    against = {"order"} if pair.new.changed else {"order", "tense"}
    if place is None or against & set(found) or is_event(pair.old, pair.new, pair.lists):
        return None
    if is_measure(place, pair.lists):
        return (
            ("different", "another time")
            if is_rhythm(place, pair.lists) and not pair.new.changed
            else ("supersede", "number or day")
        )
    fits = is_value(place, pair.lists) or (pair.new.changed and is_changed(place, pair.old, pair.lists))
    if fits and are_alike(place, pair.old, pair.new, pair.lists):
        return "supersede", "new value"
    return None


def _japanese(old: Signature, new: Signature, found: tuple[str, ...], cosine: float | None) -> Judgement:
    label, rule = _japanese_rule(old, new)
    if rule == "apart" and cosine is not None and cosine >= MIN_COSINE and old.subject == new.subject:
        label, rule = "check", "near"
    return Judgement(label, rule, found or ("words",))


_JA_VALUE: Final = ("住", "働", "勤", "曜")
_JA_CUE: Final = (
    "になりました",
    "になった",
    "変わ",
    "変更",
    "今は",
    "最近",
    "やめ",
    "引っ越",
    "転職",
    "増設",
    "現在は",
)
_JA_OPPOSITE: Final = (
    ("午前", "午後"),
    ("好き", "嫌い"),
    ("ある", "ない"),
    ("いる", "いない"),
    ("高い", "安い"),
    ("有効", "無効"),
    ("合格", "不合格"),
    ("多い", "少ない"),
    ("朝", "夜"),
    ("右", "左"),
)


def _japanese_rule(old: Signature, new: Signature) -> tuple[Label, str]:
    if old.subject != new.subject:
        return "different", "other subject"
    first, second = _alone(old.content, new.content), _alone(new.content, old.content)
    if not first and not second:
        return "different", "roles"
    if old.modality != new.modality:
        return "link", "modality"
    if (len(old.negations) - len(new.negations)) % 2 and len(first) <= 1 and len(second) <= 1:
        return "supersede", "negation"
    if old.tense == "present" and new.tense == "past" and len(first) <= 1 and len(second) <= 1 and not old.numbers:
        return "supersede", "over"
    if any(cue in new.text and cue not in old.text for cue in _JA_CUE) and len(first) <= 2 and len(second) <= 3:
        return "supersede", "new value"
    if len(first) > 1 or len(second) > 1 or not first or not second:
        return ("link", "more on one side") if not first or not second else ("different", "apart")
    a, b = first[0], second[0]
    for x, y in _JA_OPPOSITE:
        if (x in a and y in b) or (y in a and x in b):
            return "supersede", "opposite"
    if old.numbers != new.numbers and old.numbers and new.numbers:
        return "supersede", "number or day"
    if any(sign in old.text and sign in new.text for sign in _JA_VALUE) or (
        a == old.content[-1] and b == new.content[-1] and len(old.content) == 1
    ):
        return "supersede", "new value"
    return "different", "apart"
