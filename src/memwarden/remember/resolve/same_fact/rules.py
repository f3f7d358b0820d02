"""The judgement of a pair: guards, then one rule after the other; the first that applies decides."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal

from memwarden.remember.resolve.same_fact import guards, languages
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
from memwarden.remember.resolve.same_fact.word_lists import WordLists, load_word_lists

Label = Literal["same", "supersede", "link", "different", "check"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a new statement is to an old one, which rule said so, and which guards spoke against a merge.

    ``label``: "same": the new one says what the old one says. "supersede": it gives a new value for the same thing, so
    the old one's validity ends. "link": related, both hold. "check": perhaps the same, no rule decides; ask a model,
    or keep both and link them. "different": keep both.

    ``guards`` are names in alphabetical order; with any of them the label is never "same".
    """

    label: Label
    rule: str
    guards: tuple[str, ...] = ()


MIN_COSINE: Final = 0.55
"""Cosine from which two statements about one subject that no rule decides are worth a model's look."""


def judge(old: str, new: str, *, cosine: float | None = None) -> Judgement:
    """What the statement `new` is to the statement `old`.

    `cosine` (-1 to 1) is the similarity of their vectors, if there are any: it only sends undecided pairs to "check",
    it never merges. Never raises. "same" is symmetric; the other labels depend on which statement is the newer one.
    """
    item, two = sign_text(old), sign_text(new)
    language = languages.choose_common_language(item.evidence, two.evidence)
    if item.folded == two.folded:
        return _equal(item, two)
    item = item if item.language == language else sign_text(old, language)
    two = two if two.language == language else sign_text(new, language)
    if not language or item.language != two.language or not item.language:
        return _judge_without_lists(item, two, cosine)
    found = guards.find_guards(item, two)
    if item.words == two.words and item.words and not found:
        return Judgement("same", "covered")
    if language == "ja":
        return _japanese(item, two, found, cosine)
    return _judge_with_lists(item, two, found, cosine, load_word_lists(language))


def _equal(signature: Signature, two: Signature) -> Judgement:
    found = tuple(name for name in ("case", "code", "question", "quote") if guards.GUARDS[name](signature, two))
    return Judgement("different", "written alike", found) if found else Judgement("same", "equal")


def _judge_without_lists(signature: Signature, two: Signature, cosine: float | None) -> Judgement:
    """Languages without lists: what is not equal is linked at most."""
    shared = sum((Counter(signature.content) & Counter(two.content)).values())
    near = cosine is not None and cosine >= MIN_COSINE
    half = shared * 2 >= max(len(signature.content), len(two.content), 1)
    return Judgement("link", "no lists, near") if near or half else Judgement("different", "no lists")


def _judge_with_lists(
    signature: Signature, two: Signature, found: tuple[str, ...], cosine: float | None, lists: WordLists
) -> Judgement:
    pair = SignaturePair(signature, two, lists)
    label, rule = _decide(pair, found)
    if rule in ("apart", "more on one side") and pair.one_subject and cosine is not None and cosine >= MIN_COSINE:
        label, rule = "check", "near"
    return Judgement(label, rule, found)


class SignaturePair:
    """What two signatures have in common and what each has alone."""

    __slots__ = ("cue", "first", "lists", "one", "one_subject", "second", "two")

    def __init__(self, signature: Signature, two: Signature, lists: WordLists) -> None:
        self.one, self.two, self.lists = signature, two, lists
        self.first, self.second = _alone(signature.content, two.content), _alone(two.content, signature.content)
        self.cue = bool(two.cues - signature.cues)
        self.one_subject = signature.subject == two.subject or _subject_inside(signature, two)
        if self.cue and signature.topic and not _alone(signature.topic, (*two.content, *two.times, *two.numbers)):
            self.one_subject = True

    def opposites(self) -> bool:
        """Nothing but a word and its opposite tells them apart, and it does not pick one of several things."""
        if len(self.first) == 1 and len(self.second) == 1 and self.first[0].endswith("handed"):
            return True
        first, second = self._bare(self.one, self.two), self._bare(self.two, self.one)
        pairs = [(a, b) for a in first for b in second if (a, b) in self.lists.antonyms or _denying(a, b)]
        return any(self._is_predicate(self.one, a) and self._is_predicate(self.two, b) for a, b in pairs)

    def _is_predicate(self, signature: Signature, word: str) -> bool:
        """The word is what is said, and not a part of a name: the boat is red, not the red boat."""
        after = signature.raw[signature.raw.index(word) + 1 :][:1]
        if word in self.lists.prepositions:
            return True
        return not after or word in self.lists.bases or not is_content(after[0], self.lists) or after[0] in _LASTING

    def _bare(self, signature: Signature, two: Signature) -> set[str]:
        return set(signature.raw) - set(two.raw)

    def topic_alone(self) -> bool:
        """One of them has words of its own before the verb."""
        return bool(_alone(self.one.topic, self.two.content) or _alone(self.two.topic, self.one.content))

    def topics_differ(self) -> bool:
        """Both have words of their own before the verb."""
        return bool(_alone(self.one.topic, self.two.content) and _alone(self.two.topic, self.one.content))


_LASTING: Final = frozenset({"hair"})
"""Things that one has one of, whatever stands before them."""

_DENYING: Final = re.compile(r"^(?:un|in|im|ir|il|dis|non-?|de|a)")


def _denying(text: str, two: str) -> bool:
    """One is the other with a denying beginning or ending: reachable, unreachable; painful, painless."""
    short, long = sorted((text, two), key=len)
    if len(short) > 3 and long.endswith(short) and _DENYING.sub("", long, count=1) == short:
        return True
    return text.removesuffix("ful") == two.removesuffix("less") or text.removesuffix("less") == two.removesuffix("ful")


def _alone(item: tuple[str, ...], two: tuple[str, ...]) -> list[str]:
    left = Counter(two)
    out = []
    for word in item:
        if left[word]:
            left[word] -= 1
        else:
            out.append(word)
    return out


def _subject_inside(signature: Signature, two: Signature) -> bool:
    """The deadline of Atlas, Atlas's deadline: the first word of each is among the first three of the other."""
    return (
        bool(signature.subject)
        and bool(two.subject)
        and signature.subject in two.content[:3]
        and two.subject in signature.content[:3]
    )


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
    if pair.one_subject:
        return None
    rest = len(pair.first) <= 1 and len(pair.second) <= 1
    holder = bool(set(pair.one.raw) & pair.lists.holders & set(pair.two.raw))
    changed = bool({"now", "jetzt", "ahora", "maintenant", "désormais", "nun"} & pair.two.cues) or (
        holder and pair.one.tense == pair.two.tense == "present"
    )
    if rest and changed and not {"negation", "number", "date"} & set(found):
        return "supersede", "new holder"
    return "different", "other subject"


def _check_ended(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if is_replaced(pair.one, pair.two, pair.lists):
        return "supersede", "replaced"
    return ("supersede", "over") if is_over(pair.one, pair.two, pair.lists) else None


def _check_changed(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The new one tells of a change that has come about."""
    return _value(pair, found) if pair.two.changed and pair.two.modality - pair.one.modality <= {"-"} else None


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
    before, after = pair.one.modality, pair.two.modality
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
        and pair.two.tense in ("past", "perfect", "imperfect", "unmarked", "present")
        and not after - before
    ):
        return "supersede", "happened"
    if before - after == {"past"} or after - before == {"past"}:
        return ("supersede", "over") if "past" in after else ("link", "modality")
    return "link", "modality"


def _tense(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if "tense" not in found or pair.first or pair.second or pair.cue or {"number", "date"} & set(found):
        return None
    if pair.two.tense in ("past", "imperfect") and not {"negation", "quantifier"} & set(found):
        return "supersede", "over"
    return ("link", "tense") if pair.one.tense == "past" else None


def _check_denied(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if len(pair.one.negations) % 2 == len(pair.two.negations) % 2 or not _close(pair, 1, 1):
        return None
    if pair.first and (pair.second or "date" in found or "and" in pair.one.raw):
        return None  # allergic to nuts and eggs, not to nuts: the eggs stay
    if pair.topic_alone():
        return None  # the user is, the user's daughter is not
    bound = Counter(pair.one.negations), Counter(pair.two.negations)
    denied = set((bound[0] - bound[1]) + (bound[1] - bound[0])) - {""}
    said = set(pair.one.raw) & set(pair.two.raw)
    if denied <= said or _close(pair, 1, 0):
        return "supersede", "negation"
    return None


def _opposite(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    if {"order", "number", "date", "quantifier"} & set(found) or pair.topics_differ() or not _close(pair, 1, 1):
        return None
    return ("supersede", "opposite") if pair.opposites() else None


def _amount(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    before, after = pair.one.quantifiers & _SCALE, pair.two.quantifiers & _SCALE
    if before and after and before != after and "order" not in found and _close(pair, 0, 1):
        return "supersede", "quantifier"
    return None


_SCALE: Final = frozenset("all most some few many none only least most-of half except but other more less".split())


def _more(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The new one says the old one and something on top."""
    if pair.first or {"negation"} & set(found):
        return None
    old, new = Counter((*pair.one.numbers, *pair.one.times)), Counter((*pair.two.numbers, *pair.two.times))
    if old - new or not (pair.second or new - old):
        return None
    return "link", "more said"


def _another(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """Hive 3 is not hive 4, whatever is said of them."""
    item, two = dict(pair.one.named), dict(pair.two.named)
    other = any(two.get(noun, number) != number for noun, number in item.items())
    return ("different", "another one") if other else None


def _value(pair: SignaturePair, found: tuple[str, ...]) -> tuple[Label, str] | None:
    """The two differ in one place, and what stands there has one value at a time."""
    place = find_gap(pair.one, pair.two)
    if pair.two.changed and not pair.one.changed and pair.one.tense == "past":
        return None
    against = {"order"} if pair.two.changed else {"order", "tense"}
    if place is None or against & set(found) or is_event(pair.one, pair.two, pair.lists):
        return None
    if is_measure(place, pair.lists):
        return (
            ("different", "another time")
            if is_rhythm(place, pair.lists) and not pair.two.changed
            else ("supersede", "number or day")
        )
    fits = is_value(place, pair.lists) or (pair.two.changed and is_changed(place, pair.one, pair.lists))
    if fits and are_alike(place, pair.one, pair.two, pair.lists):
        return "supersede", "new value"
    return None


def _japanese(signature: Signature, two: Signature, found: tuple[str, ...], cosine: float | None) -> Judgement:
    label, rule = _japanese_rule(signature, two)
    if rule == "apart" and cosine is not None and cosine >= MIN_COSINE and signature.subject == two.subject:
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


def _japanese_rule(signature: Signature, two: Signature) -> tuple[Label, str]:
    if signature.subject != two.subject:
        return "different", "other subject"
    first, second = _alone(signature.content, two.content), _alone(two.content, signature.content)
    if not first and not second:
        return "different", "roles"
    if signature.modality != two.modality:
        return "link", "modality"
    if (len(signature.negations) - len(two.negations)) % 2 and len(first) <= 1 and len(second) <= 1:
        return "supersede", "negation"
    if (
        signature.tense == "present"
        and two.tense == "past"
        and len(first) <= 1
        and len(second) <= 1
        and not signature.numbers
    ):
        return "supersede", "over"
    if any(cue in two.text and cue not in signature.text for cue in _JA_CUE) and len(first) <= 2 and len(second) <= 3:
        return "supersede", "new value"
    if len(first) > 1 or len(second) > 1 or not first or not second:
        return ("link", "more on one side") if not first or not second else ("different", "apart")
    a, b = first[0], second[0]
    for x, y in _JA_OPPOSITE:
        if (x in a and y in b) or (y in a and x in b):
            return "supersede", "opposite"
    if signature.numbers != two.numbers and signature.numbers and two.numbers:
        return "supersede", "number or day"
    if any(sign in signature.text and sign in two.text for sign in _JA_VALUE) or (
        a == signature.content[-1] and b == two.content[-1] and len(signature.content) == 1
    ):
        return "supersede", "new value"
    return "different", "apart"
