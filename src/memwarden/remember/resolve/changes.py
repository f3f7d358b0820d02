"""Judges by typed statements whether a later text tells a new value of what an earlier text says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from memwarden.remember.resolve.same_fact import Judgement
from memwarden.remember.resolve.same_fact.word_lists import choose_common_language
from memwarden.statements.reader import attribute_code
from memwarden.statements.statement import NONE, PackedStatement, quoted_speaker, unpack
from memwarden.statements.wording import relations_in
from memwarden.text.language import read_evidence

# Chosen on labelled pairs: the meaning counts most, then that the later text tells of a change.
ATTRIBUTE_SHARE: Final = 0.3
CHANGE_SHARE: Final = 0.5
STATES_SHARE: Final = 0.2
# Of what somebody states, only what plainly tells of a change, and more so than the older text, ends anything.
MIN_REPLACES: Final = 1.27
MIN_CHANGE: Final = 0.5
MIN_MORE_CHANGE: Final = 0.2
# Of what was said along the way, a later value is a new value more often.
MIN_REPLACES_EXTRACTED: Final = 0.99
# And only where both speak of much the same: a big change is no new value of everything.
MIN_CLOSENESS_EXTRACTED: Final = 0.3
MIN_SHARED_EXTRACTED: Final = 0.05
# What hardly states anything is no old value: a wish, a plan.
MIN_STATES: Final = 0.2

_NONE_CODE: Final = attribute_code(NONE)
# What these rules decided stands: rules know better what the same words mean.
_DECIDED: Final = frozenset(("same", "supersede"))
_DECIDED_RULES: Final = frozenset(("roles", "another one", "another time", "written alike", "modality", "question"))
_GUARDS: Final = frozenset(("modality", "kin"))
# One of two things, by where it is.
_SIDES: Final = tuple(
    (re.compile(rf"\b(?:{first})\b"), re.compile(rf"\b(?:{second})\b"))
    for first, second in (
        (r"front|vorder\w*|delanter[oa]s?|avant", r"back|rear|hinter\w+|traser[oa]s?|arrière"),
        (r"left|link\w{1,2}|izquierd[oa]s?|gauches?", r"right|recht\w{1,2}|derech[oa]s?|droites?"),
        (
            r"upper|top|ober\w{1,2}|superior(?:es)?|supérieure?s?",
            r"lower|bottom|unter\w{2}|inferior(?:es)?|inférieure?s?",
        ),
        (r"inner|inside|innen|intérieure?s?", r"outer|outside|außen|extérieure?s?"),
    )
) + tuple((re.compile(first), re.compile(second)) for first, second in ("左右", ("前", "[后後]")))
# "Right now" is no side, and who left is on none.
_NO_SIDE: Final = re.compile(
    r"\b(?:right (?:now|away|after|before|here|there|behind)|all ?right|"
    r"(?:nothing|anything|days?|weeks?|months?|years?) left|"
    r"(?:i|we|he|she|they|you|who|i've|we've|has|have|had|just|recently|finally|already|never|and) left|"
    r"left (?:for|in|at|behind|home|work|school|town|because|after|when|last|a|my|our|his|her|their))\b"
)
# "Left Acme", but "my left Achilles".
_LEFT_NAME: Final = re.compile(r"(?<!my )(?<!his )(?<!her )(?<!the )(?<!your )(?<!their )\b[Ll]eft (?=(?:the )?[A-Z])")
# Of the last and of the next day, week or year, in all languages; "mañana" after "la" is the morning.
_WHEN: Final = {
    "last": re.compile(
        r"\b(?:last|yesterday|letzte[nmrs]?|gestern|derni(?:er|ère)s?|pasad[oa](?! mañana)|ayer)\b|"
        r"去年|昨[日天]|上[周个]|先[月週]"
    ),
    "next": re.compile(
        r"\b(?:next|tomorrow|nächste[nmrs]?|prochaine?s?|demain|próxim[oa]|(?<!la )mañana)\b|"
        r"明[年日天]|下[周个]|来[年月週]"
    ),
}
# What is another word in another language: "hier" is "here" in German.
_WHEN_IN: Final = {"fr": {"last": re.compile(r"\bhier\b")}}


class StatedText(NamedTuple):
    """A text and what it states."""

    text: str
    statements: Sequence[PackedStatement]


def read_stated(text: str, packed: bytes | None, least: float = MIN_STATES) -> StatedText:
    """Return a text with its packed statements. least: the smallest chance that one states something."""
    return StatedText(text, [each for each in unpack(packed or b"") if each.states >= 255 * least])


def tells_change(stated: StatedText) -> bool:
    """Whether a text tells of a change at all."""
    return any(each.changes >= 255 * MIN_CHANGE for each in stated.statements)


def may_replace(judgement: Judgement) -> bool:
    """Whether typed statements may decide a pair that rules judged."""
    undecided = judgement.label not in _DECIDED and judgement.rule not in _DECIDED_RULES
    return undecided and not _GUARDS & set(judgement.guards)


def replacement_score(new: StatedText, old: StatedText, *, extracted: bool) -> float:
    """Return how surely the new text replaces the old, less what it needs to: from 0 on it does.

    extracted: both were said along the way, and nobody stated them for good.
    """
    if _tell_apart(new.text, old.text):
        return -1.0
    named = relations_in(new.text), relations_in(old.text)
    alike = quoted_speaker(new.text) == quoted_speaker(old.text)
    found = [
        _score(later, earlier)
        for later in new.statements
        for earlier in old.statements
        if (_speak_of_the_same(later, earlier) if extracted else _changes(later, earlier))
        and (alike or not _are_own(later, earlier))
        and not _are_others(later, earlier)
        and _names_relation(earlier, named[0])
        and _names_relation(later, named[1])
    ]
    return max(found, default=-1.0) - (MIN_REPLACES_EXTRACTED if extracted else MIN_REPLACES)


def _tell_apart(new: str, old: str) -> bool:
    """Whether two texts pick one of two things, or a past one stands for one to come."""
    if picks_other(new, old):
        return True
    language = choose_common_language(read_evidence(new), read_evidence(old))
    return (when_told(new, language), when_told(old, language)) == ({"last"}, {"next"})


def picks_other(left: str, right: str) -> bool:
    """Return whether either text tells of one of two and the other of the other: the front tyre, the back tyre."""
    sides = _sides_in(left), _sides_in(right)
    return any((pair, 1 - side) in sides[1] and (pair, side) not in sides[1] for pair, side in sides[0])


def _sides_in(text: str) -> set[tuple[int, int]]:
    low = _NO_SIDE.sub(" ", _LEFT_NAME.sub(" ", text).lower().replace("’", "'"))
    return {
        (number, side) for number, pair in enumerate(_SIDES) for side, words in enumerate(pair) if words.search(low)
    }


def when_told(text: str, language: str) -> set[str]:
    """Return whether a text speaks of the last or the next year, week or day."""
    low = text.lower()
    own = _WHEN_IN.get(language, {}).items()
    return {when for when, words in (*_WHEN.items(), *own) if words.search(low)}


def _score(later: PackedStatement, earlier: PackedStatement) -> float:
    return (
        closeness(later, earlier)
        + ATTRIBUTE_SHARE * shared_attribute(later, earlier)
        + CHANGE_SHARE * later.changes / 255
        + STATES_SHARE * min(later.states, earlier.states) / 255
    )


def _speak_of_the_same(later: PackedStatement, earlier: PackedStatement) -> bool:
    shared = shared_attribute(later, earlier) >= MIN_SHARED_EXTRACTED
    return shared and closeness(later, earlier) >= MIN_CLOSENESS_EXTRACTED


def _changes(later: PackedStatement, earlier: PackedStatement) -> bool:
    return later.changes >= 255 * MIN_CHANGE and later.changes - earlier.changes >= 255 * MIN_MORE_CHANGE


def _names_relation(each: PackedStatement, named: frozenset[str]) -> bool:
    """Whether the other text names the relation that a statement is about: father's is not mine."""
    wanted = {key for key in each.subject.split("+") if key.startswith("relation:")}
    return not wanted or not wanted.isdisjoint(named)


def _are_own(later: PackedStatement, earlier: PackedStatement) -> bool:
    """Whether both are about whoever says them."""
    return all("self" in each.subject.split("+") for each in (later, earlier))


def _are_others(later: PackedStatement, earlier: PackedStatement) -> bool:
    """Whether both are about somebody by name, and not the same: Jo's birthday, Joan's birthday."""
    names = [{key for key in each.subject.split("+") if key.startswith("name:")} for each in (later, earlier)]
    return all(names) and not _are_own(later, earlier) and names[0].isdisjoint(names[1])


def closeness(left: PackedStatement, right: PackedStatement) -> float:
    """Return the cosine of two statements' meanings."""
    first, second = (np.frombuffer(each.vector, np.int8).astype(np.float32) for each in (left, right))
    return float(first @ second) / 127**2


def shared_attribute(left: PackedStatement, right: PackedStatement) -> float:
    """Return how much both tell the same attribute, 0..1."""
    told = dict(zip(left.attributes, left.chances, strict=True))
    both = [
        (told[code], chance)
        for code, chance in zip(right.attributes, right.chances, strict=True)
        if code in told and code != _NONE_CODE
    ]
    return float(sum((mine * other) ** 0.5 for mine, other in both)) / 255
