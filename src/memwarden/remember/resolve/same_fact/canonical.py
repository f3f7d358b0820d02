"""A single order and form for sentences that say the same: forms of verbs, rewrites, passive, "is", lists, times.

Whatever happens here happens to each sentence alone, so a comparison of two of them is the same both ways.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import Rewrite, WordLists

# Behind these stands a noun, even if it looks like a verb: "the plan".
NOUN_AFTER: Final = frozenset(
    "a an the my our your his her its their this that these those 's no some any every each all".split()
)

# Adverbs that may stand between a helping verb and its participle.
_BETWEEN: Final = frozenset(
    "not never always already just also still often usually recently only ever nolonger now fully really".split()
)
_BARE_AFTER: Final = frozenset(
    "to i you we they will would can could should may might must shall not never and".split()
)
_CLAUSE: Final = frozenset("i you he she it we they who which because but when if while although".split())
_DO: Final = frozenset({"do", "does", "did"})
# Participles that look like the base form: "has come".
_UNMARKED_PARTICIPLES: Final = frozenset("run come become cost cut hit put read set let quit split".split())
_NUMBER: Final = re.compile(r"[-+]?\d[\d.]*")


@dataclass(frozen=True, slots=True)
class BaseForms:
    """Tokens with verbs at their base.

    `tenses`: present, past, perfect (what lasts: has lived), imperfect (vivía), unmarked (put: today or once).
    `bare`, `marked`: verbs that stood as "plan" and as "plans"; either may be a noun, singular or plural.
    """

    words: tuple[str, ...]
    tenses: frozenset[str]
    bare: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()


def find_base_forms(tokens: Sequence[str], lists: WordLists, names: frozenset[str] = frozenset()) -> BaseForms:
    """The tokens with verbs at their base, and what the forms told; `names` are no verbs."""
    if lists.code != "en":
        return _look_up_forms(tokens, lists)
    reader = _Reader(tokens, lists, names)
    reader.run()
    return BaseForms(tuple(reader.out), frozenset(reader.tenses), frozenset(reader.bare), frozenset(reader.marked))


# The Spanish imperfect tells what lasted (vivía), not what ended.
_IMPERFECT: Final = ("aba", "aban", "ía", "ían", "era", "eran", "iba", "iban")


def _look_up_forms(tokens: Sequence[str], lists: WordLists) -> BaseForms:
    """Where every form is listed with its kind: present, past, part, inf."""
    out: list[str] = []
    tenses: set[str] = set()
    for word in tokens:
        base, kind = lists.forms.get(word, (word, ""))
        if kind in ("present", "past"):
            lasted = lists.code == "es" and kind == "past" and word.endswith(_IMPERFECT)
            tenses.add("imperfect" if lasted else kind)
        out.append(f"{base}-ed" if kind == "part" else base)
    return BaseForms(tuple(out), frozenset(tenses))


class _Reader:
    """English, from left to right. `helper` is a "be" or "have" that waits for its participle."""

    def __init__(self, tokens: Sequence[str], lists: WordLists, names: frozenset[str]) -> None:
        self.tokens, self.lists, self.names = tokens, lists, names
        self.out: list[str] = []
        self.tenses: set[str] = set()
        self.bare: set[str] = set()
        self.marked: set[str] = set()
        self.finite = False
        self.guessed = ""
        self.helper = ""

    def run(self) -> None:
        for at, word in enumerate(self.tokens):
            if word == "|" or word in _CLAUSE:
                self.finite = False
            before = self.out[-1] if self.out else ""
            base, kind = self.lists.forms.get(word, ("", ""))
            noun = before in NOUN_AFTER and base not in ("be", "have") and kind != "past"
            noun = noun or (kind == "s" and base not in ("be", "have") and self.stands_after_verb(before))
            if not kind or noun or word in self.names:
                self.plain(word, before)
            elif base == "be":
                self.be(word, before)
            elif base == "have" and kind != "ing" and _participle_ahead(self.tokens, at, self.lists):
                self.helper, self.finite = ("had" if word == "had" else "have"), True
            elif word in _DO and _verb_ahead(self.tokens, at, self.lists):
                self.tenses.add("past" if word == "did" else "present")
                self.helper, self.finite = "", True
            else:
                self.verb(word, base, kind, before)
                self.helper = ""

    def plain(self, word: str, before: str) -> None:
        self.out.append(_single(word, before, self.lists))
        if word not in _BETWEEN:
            self.helper = ""

    def be(self, word: str, before: str) -> None:
        if word == "being" and self.helper == "be":
            return
        if self.guessed and before == self.guessed and word != "be":
            self.tenses.discard("present")  # it was a noun: the electricity work was
        if word in ("was", "were") or (word == "been" and self.helper == "had"):
            self.tenses.add("past")
        elif word == "been" and self.helper == "have":
            self.tenses.add("perfect")
        elif word in ("is", "are", "am"):
            self.tenses.add("present")
        self.finite = self.finite or word not in ("be", "being")
        self.helper = "been" if word == "been" else "be"
        self.out.append("be")

    def verb(self, word: str, base: str, kind: str, before: str) -> None:
        passive = self.helper in ("be", "been") or before == "get"
        if kind == "ing":
            self.ing(base)
        elif kind in ("part", "both", "past") and passive and word in self.lists.adjectives:
            self.out.append(word)
        elif self.helper in ("have", "had") and kind in ("part", "both", "base"):
            lasting = self.helper == "have" and base in self.lists.ongoing
            self.tenses.add("perfect" if lasting else "past")
            self.out.append(base)
        elif kind == "part" or (kind == "both" and (passive or self.stands_after_verb(before))):
            if self.helper == "been":  # has been sold: over, as was sold is
                self.tenses = self.tenses - {"perfect"} | {"past"}
            self.out.append(f"{base}-ed")
        else:
            self.tell(word, base, kind, before)

    def stands_after_verb(self, before: str) -> bool:
        """A second form in the clause is a participle: a dog named Rex."""
        return self.finite and before not in ("and", "or", ",")

    def ing(self, base: str) -> None:
        if self.helper in ("be", "been") and base in self.lists.ongoing and self.out[-1] == "be":
            self.out[-1] = base
        else:
            self.out.append(f"{base}-ing")

    def tell(self, word: str, base: str, kind: str, before: str) -> None:
        if kind == "s":
            self.marked.add(base)
        elif kind == "base" and before not in _BARE_AFTER:
            self.bare.add(base)
        unmarked = word in self.lists.unmarked and not self.finite and before not in _BARE_AFTER
        if kind in ("past", "both") or unmarked:
            self.tenses.add("unmarked" if unmarked else "past")
            self.finite = True
        elif not self.finite and before != "to":
            self.guessed = "" if "present" in self.tenses else base
            self.tenses.add("present")
            self.finite = True
        self.out.append(base)


def _single(word: str, before: str, lists: WordLists) -> str:
    """The singular of a noun that stands after a number: the number says how many."""
    if not _NUMBER.fullmatch(before) or not word.isalpha():
        return word
    if word in lists.plurals:
        return lists.plurals[word]
    if lists.code != "en" or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]


def _participle_ahead(tokens: Sequence[str], at: int, lists: WordLists) -> bool:
    word = next((word for word in tokens[at + 1 : at + 4] if word not in _BETWEEN), "")
    _, kind = lists.forms.get(word, ("", ""))
    return kind in ("part", "both") or word == "been" or word in _UNMARKED_PARTICIPLES


def _verb_ahead(tokens: Sequence[str], at: int, lists: WordLists) -> bool:
    word = next((word for word in tokens[at + 1 : at + 4] if word not in _BETWEEN), "")
    return lists.forms.get(word, ("", ""))[1] == "base" or tokens[at + 1 : at + 2] == ["not"]


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
