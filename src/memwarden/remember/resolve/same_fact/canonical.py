"""A single order and form for sentences that say the same: forms of verbs, rewrites, passive, "is", lists, times.

Whatever happens here happens to each sentence alone, so a comparison of two of them is the same both ways.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memwarden.remember.resolve.same_fact.verbs import NOUN_AFTER, BaseForms, find_base_forms
from memwarden.remember.resolve.same_fact.word_lists import Rewrite, WordLists

_KINDS: Final = ("t:", "d:", "m:", "y:", "w:", "o:", "per-")
_NOT_AFTER: Final = re.compile(r"\b(be|can|will|would|could|should|may|might|must|shall|have) (not|nolonger|never)\b")


@dataclass(frozen=True, slots=True)
class CanonicalSentence:
    """Canonical words; `tense` is a tense of verbs.BaseForms, mixed, any, or "" if no verb was understood."""

    spoken: tuple[str, ...]
    """In the order of the active sentence."""
    words: tuple[str, ...]
    tense: str
    base_forms: BaseForms
    """Before any rewrite."""


def canonicalize(tokens: Sequence[str], lists: WordLists, names: frozenset[str] = frozenset()) -> CanonicalSentence:
    """The canonical words of a sentence of canonical tokens; `names` are no verbs."""
    text = _rewrite(" ".join(tokens), lists.early)
    base = find_base_forms(text.split(), lists, names)
    tense = _tense(base.tenses)
    line = " ".join(base.words)
    line = _NOT_AFTER.sub(r"\2 \1", line)
    line = re.sub(r"\bhave no (?!1\b)", "not have ", line)
    line = _rewrite(line, lists.rewrites)
    words = line.split()
    if "@" in words:
        words = [word for word in words if word != "@"]
        tense = "any"
    words = _to_active(words, lists)
    spoken = tuple(lists.synonyms.get(word, word) for word in words)
    words = _rewrite(" ".join(words), lists.late).split()
    words = _order_sides(words, lists)
    words = _order_lists(words, lists)
    words = [word for word in words if word not in lists.dropped]
    words = [lists.synonyms.get(word, word) for word in words]
    if tense == "present" and "|" not in words and not set(words) & lists.conjunctions:
        words = [word for word in words if word != "now"]
    return CanonicalSentence(spoken, tuple(_move_times_last(words, lists)), tense, base)


def _tense(found: frozenset[str]) -> str:
    for rare in ("unmarked", "perfect", "imperfect"):
        if rare in found:
            return rare
    if "past" in found:
        return "past" if "present" not in found else "mixed"
    return "present" if "present" in found else ""


def _rewrite(line: str, rewrites: Sequence[Rewrite]) -> str:
    for rewrite in rewrites:
        if rewrite.need in line:
            line, changed = rewrite.pattern.subn(f" {rewrite.into} ", line)
            if changed:
                line = " ".join(line.split())
    return line


def _to_active(words: list[str], lists: WordLists) -> list[str]:
    """ "X be led by Y" as "Y lead X", if there is a single "by" with somebody behind it."""
    agent = {"en": "by", "de": "von", "es": "por", "fr": "par"}[lists.code]
    if words.count(agent) != 1 or "|" in words or words.count("be") != 1:
        return words
    be, by = words.index("be"), words.index(agent)
    if not 0 < be < by < len(words) - 1 or words[by + 1].startswith(_KINDS) or words[by + 1][0].isdigit():
        return words
    verb = next((at for at in range(be + 1, by) if words[at].endswith("-ed")), None)
    if verb is None or any(word in lists.prepositions for word in words[:be]):
        return words
    end = next(
        (at for at in range(by + 2, len(words)) if words[at] in _AFTER_AGENT or words[at].startswith(_KINDS)),
        len(words),
    )
    before = [word for word in words[:be] if word not in ("not", "nolonger", "never")]
    denial = [word for word in words[:be] if word in ("not", "nolonger", "never")]
    between = words[be + 1 : verb] + words[verb + 1 : by]
    return [*words[by + 1 : end], *denial, words[verb][:-3], *before, *between, *words[end:]]


# The words that end the agent of a passive: "led by Bea since May".
_AFTER_AGENT: Final = frozenset("in on at for to with from since until during as per because and but".split())


def _order_sides(words: list[str], lists: WordLists) -> list[str]:
    """Put the two sides of an "is" between names or descriptions in alphabetical order: "A is B" says "B is A"."""
    if words.count("be") != 1 or "|" in words:
        return words
    at = words.index("be")
    left, right = words[:at], words[at + 1 :]
    if not left or not right or (set(words) & _ONE_WAY) or right[0] in lists.prepositions | _PLACES:
        return words
    guarded = lists.negation | lists.quantifiers.keys() | lists.modality.keys() | lists.conjunctions
    if set(words) & guarded:
        return words
    if len(right) >= 2 and right[0] in lists.symmetric and len(left) == 1:
        tail = [word for word in right[1:] if word not in ("to", "with", "of")]
        if len(tail) == 1:
            item, second = sorted((left[0], tail[0]))
            return [item, "be", right[0], second]
    if not _definite(left, lists) and not _definite(right, lists):
        return words
    if any(
        lists.forms.get(word.removesuffix("-ed").removesuffix("-ing"), ("", ""))[1] == "base"
        and word.endswith(("-ed", "-ing"))
        for word in words
    ):
        return words
    sides = sorted([word for word in side if word not in lists.dropped] for side in (left, right))
    return [*sides[0], "be", *sides[1]]


# Words that make "A is B" another statement than "B is A".
_ONE_WAY: Final = frozenset("than as like more less not".split())
# "Bea is in Oslo" has no second name to swap.
_PLACES: Final = frozenset("in on at of for with to by".split())


def _definite(side: list[str], lists: WordLists) -> bool:
    return (
        "'s" in side
        or bool(side and side[0] in lists.articles - lists.indefinite)
        or bool(side and side[0] in NOUN_AFTER - {"a", "an", "no", "some", "any", "every", "each", "all"})
    )


def _order_lists(words: list[str], lists: WordLists) -> list[str]:
    """ "tea and cake" at the end, after a verb or a preposition, in alphabetical order."""
    joiner = {"en": "and", "de": "und", "es": "y", "fr": "et"}[lists.code]
    if words.count(joiner) != 1 or "|" in words or "respectively" in words:
        return words
    at = words.index(joiner)
    if at == len(words) - 2 and at >= 2:
        first = at - 1
        while first >= 2 and words[first - 1] == ",":
            first -= 2
        opener = words[first - 1] if first else ""
        listed = [word for word in words[first:] if word not in (",", joiner)]
        plain = all(word.isalpha() and word not in lists.persons and word not in lists.quantifiers for word in listed)
        if (
            plain
            and len(listed) >= 2
            and (opener in lists.forms or opener in _OPENERS)
            and words[first - 1 : first] != ["be"]
        ):
            return [*words[:first], *_join_list(sorted(listed), joiner)]
    if at == 1 and len(words) > 3 and words[3 - 1].isalpha() and words[0].isalpha() and words[3] in lists.forms:
        item, second = sorted((words[0], words[2]))
        if not {item, second} & lists.persons:
            return [item, joiner, second, *words[3:]]
    return words


_OPENERS: Final = frozenset("with to of for from in between both and ,".split()) - {",", "and"}


def _join_list(items: list[str], joiner: str) -> list[str]:
    return [*(word for item in items[:-1] for word in (item, joiner)), items[-1]]


def _move_times_last(words: list[str], lists: WordLists) -> list[str]:
    """Times at the end where it cannot matter where they stand: a single clause, each kind once."""
    if (
        "|" in words
        or any(word in lists.conjunctions for word in words)
        or any(word in lists.negation for word in words)
    ):
        return words
    kept: list[str] = []
    tail: list[str] = []
    for word in words:
        if word.startswith(_KINDS) or word in lists.free:
            before = kept[-1] if kept else ""
            if word.startswith(_KINDS) and before in ("since", "until", "till", "before", "after", "from", "by"):
                kept.pop()
                word = f"{before} {word}"
            tail.append(word)
        else:
            kept.append(word)
    kinds = Counter(re.sub(r"^(?:\w+ )?(\w+[:-]).*$", r"\1", word) for word in tail)
    if any(count > 1 for count in kinds.values()) or any(lists.modality.get(word) == "report" for word in words):
        return words
    return [*kept, *sorted(tail)]
