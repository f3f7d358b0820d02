"""Forms of verbs brought to their base, and the tenses that they show.

A participle after "is" keeps a mark (``lead-ed``), a form in -ing too (``run-ing``), so that "is led" and "leads" stay
two things until the passive is understood. A form that is not listed is left as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memwarden.remember.resolve.same_fact.word_lists import WordLists

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
