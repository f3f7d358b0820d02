"""The word lists of a language, read from its TOML file into a frozen record.

The files are data: words and patterns written by hand, nothing copied from a dictionary. A form of a verb, a synonym or
an opposite that is not listed is content like any other word, so a gap in a list costs a merge and never makes a wrong
merge.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from memwarden.text.language import DEFAULT_LANGUAGE, LanguageEvidence, latin_languages
from memwarden.text.lexicon import load_lexicon

# Japanese has rules of its own (`japanese.py`).
LISTED_LANGUAGES: Final = ("en", "de", "es", "fr")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A pattern over canonical words, and its replacement."""

    pattern: re.Pattern[str]
    into: str
    need: str
    """A piece of text without which the pattern cannot match, or "": saves most of the matching."""


@dataclass(frozen=True, slots=True)
class WordLists:
    """The lists of a language. Words are in lower case."""

    code: str
    known: frozenset[str]
    dropped: frozenset[str]
    articles: frozenset[str]
    indefinite: frozenset[str]
    forms: Mapping[str, tuple[str, str]]
    """Form of a verb -> (base, kind): base, s, past, part (participle only), both (past or participle), ing."""
    bases: frozenset[str]
    unmarked: frozenset[str]
    """Verbs whose past is their base: put, quit."""
    adjectives: frozenset[str]
    plurals: Mapping[str, str]
    numbers: Mapping[str, str]
    ordinals: Mapping[str, str]
    months: Mapping[str, str]
    weekdays: Mapping[str, str]
    units: Mapping[str, str]
    contractions: tuple[Rewrite, ...]
    early: tuple[Rewrite, ...]
    free: frozenset[str]
    late: tuple[Rewrite, ...]
    negation: frozenset[str]
    modality: Mapping[str, str]
    quantifiers: Mapping[str, str]
    prepositions: frozenset[str]
    conjunctions: frozenset[str]
    case_matters: frozenset[str]
    persons: frozenset[str]
    cues: frozenset[str]
    present: frozenset[str]
    """Words that say no more than that something is so now."""
    attributes: frozenset[str]
    """Things with a single value at a time: lives in, colour, deadline."""
    described: frozenset[str]
    """Attributes whose value is a common word: a colour is red. A boss is Bea; strict is no other boss."""
    graded: frozenset[str]
    """Things with a single value at a time that stands before them: the basic plan."""
    once: frozenset[str]
    """What happens once: is born, founded."""
    scales: tuple[str, ...]
    """Lists of words that exclude each other: colours, married or single."""
    holders: frozenset[str]
    antonyms: frozenset[tuple[str, str]]
    synonyms: Mapping[str, str]
    kin: Mapping[str, str]
    symmetric: frozenset[str]
    ongoing: frozenset[str]
    rewrites: tuple[Rewrite, ...]
    uses: frozenset[str]
    """Verbs that only say that something is made use of: "takes the bus" after "goes by train"."""
    changes: tuple[Rewrite, ...]
    """A statement of a change => how things stand after it."""
    gone: tuple[Rewrite, ...]
    """Their first group is what a statement says is no longer so."""
    ended: tuple[Rewrite, ...]
    """Their first group is what a statement says has ended."""


@cache
def load_word_lists(code: str) -> WordLists:
    """The lists of a language of `LISTED`."""
    raw = tomllib.loads(Path(__file__).with_name(f"{code}.toml").read_text(encoding="utf-8"))
    guards, words = raw["guards"], raw["words"]
    forms = {
        **_regular(raw.get("verbs", "")),
        **_irregular(raw.get("irregular", "")),
        **_given_forms(raw.get("forms", "")),
    }
    groups = _groups(words["synonyms"])
    return WordLists(
        code=code,
        known=_read_set(raw["known"]),
        dropped=_read_set(raw["dropped"]),
        articles=_read_set(raw["articles"]),
        indefinite=_read_set(raw["indefinite"]),
        forms=_frozen(forms),
        bases=frozenset(groups.get(base, base) for base, _ in forms.values()),
        unmarked=_unmarked_forms(raw.get("irregular", "")),
        adjectives=_read_set(raw.get("adjectives", "")),
        plurals=_pairs(raw.get("plurals", "")),
        numbers=_pairs(raw["numbers"]),
        ordinals=_pairs(raw.get("ordinals", "")),
        months=_frozen(_read_calendar("months", code)),
        weekdays=_frozen(_read_calendar("weekdays", code)),
        units=_pairs(raw["units"]),
        contractions=_rewrites(raw.get("contractions", "")),
        early=_rewrites(raw.get("early", "")),
        free=_read_set(raw.get("free", "")),
        late=_rewrites(raw["guards"].get("late", "")),
        negation=_read_set(guards["negation"]),
        modality=_classes(guards["modality"]),
        quantifiers=_classes(guards["quantifiers"]),
        prepositions=_read_set(guards["prepositions"]),
        conjunctions=_read_set(guards["conjunctions"]),
        case_matters=_read_set(guards.get("case_matters", "")),
        persons=_read_set(words["persons"]),
        cues=_read_set(words["cues"]),
        present=_read_set(words["present"]),
        attributes=_read_set(words["attributes"]),
        described=_read_set(words["described"]),
        graded=_read_set(words["graded"]),
        once=_read_set(words.get("once", "")),
        scales=tuple(words.get("scales", "").split("|")),
        holders=_read_set(words["holders"]),
        antonyms=_opposites(words["antonyms"], groups),
        synonyms=groups,
        kin=_classes(words.get("kin", "")),
        symmetric=_read_set(words.get("symmetric", "")),
        ongoing=_read_set(words.get("ongoing", "")),
        rewrites=_rewrites(words["rewrites"]),
        uses=_read_set(words.get("uses", "")),
        changes=_rewrites(words.get("changes", "")),
        gone=_rewrites(words.get("gone", "")),
        ended=_rewrites(words.get("ended", "")),
    )


def _frozen(table: dict[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(table)


def _read_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> Mapping[str, str]:
    words = text.split()
    return _frozen(dict(zip(words[::2], words[1::2], strict=True)))


def _read_numbers(text: str) -> dict[str, str]:
    return {word: f"{place:02d}" for place, word in enumerate(text.split(), 1) if word != "-"}


def _read_calendar(name: str, code: str) -> dict[str, str]:
    words = load_lexicon(code).words
    return {
        word: f"{place:02d}"
        for role in (name, f"{name}_short")
        for place, word in enumerate(words.get(role, ()), 1)
        if word != "-"
    }


def _classes(text: str) -> Mapping[str, str]:
    entries = (entry.rpartition(":") for entry in text.split())
    return _frozen({word: name for word, _, name in entries})


def _opposites(text: str, groups: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    lines = (pair.split() for line in text.strip().splitlines() for pair in line.split("|"))
    pairs = ([groups.get(word, word) for word in pair] for pair in lines)
    return frozenset((word, other) for item, two in pairs for word, other in ((item, two), (two, item)))


def _groups(text: str) -> Mapping[str, str]:
    groups = (group.split() for line in text.strip().splitlines() for group in line.split("|"))
    return _frozen({word: group[0] for group in groups if group for word in group})


def _rewrites(text: str) -> tuple[Rewrite, ...]:
    out = []
    for line in text.strip().splitlines():
        pattern, _, into = line.partition(" =>")
        out.append(Rewrite(re.compile(pattern), into.removeprefix(" "), _literal(pattern)))
    return tuple(out)


def _literal(pattern: str) -> str:
    """The longest word of the pattern that stands outside every group, or ""."""
    depth, bare = 0, []
    for sign in re.sub(r"\\.", " ", pattern):
        depth += (sign == "(") - (sign == ")")
        bare.append(sign if depth == 0 else " ")
    plain = re.sub(r"\w[?*{]", " ", re.sub(r"\)[?*]?", " ", "".join(bare)))
    return max(re.findall(r"[^\W\d_]{2,}", plain), key=len, default="")


def _regular(text: str) -> dict[str, tuple[str, str]]:
    """Regular forms of English verbs: works, worked, working."""
    out: dict[str, tuple[str, str]] = {}
    for base in text.split():
        out.update(_forms(base, _past(base), _past(base)))
    return out


def _irregular(text: str) -> dict[str, tuple[str, str]]:
    """Lines of "base past participle", separated by |."""
    out: dict[str, tuple[str, str]] = {}
    for entry in (part.split() for line in text.strip().splitlines() for part in line.split("|")):
        base, past, participle = entry
        out.update(_forms(base, past, participle))
    if out:
        out.update(dict.fromkeys(("am", "is", "are"), ("be", "s")), were=("be", "past"), has=("have", "s"))
    return out


def _unmarked_forms(text: str) -> frozenset[str]:
    entries = (part.split() for line in text.strip().splitlines() for part in line.split("|"))
    return frozenset(base for base, past, _ in entries if past == base)


def _forms(base: str, past: str, participle: str) -> dict[str, tuple[str, str]]:
    out = {base: (base, "base"), _third(base): (base, "s"), _gerund(base): (base, "ing")}
    if past.endswith("lled") and base.endswith("l") and not base.endswith("ll"):
        out |= {base + "ed": (base, "both"), base + "ing": (base, "ing")}
    if past != base:
        out[past] = (base, "both" if past == participle else "past")
    if participle not in (past, base):
        out[participle] = (base, "part")
    return out


def _third(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "s"


# Verbs that double their last letter (stop, stopped), by sound; the exceptions follow.
_DOUBLED: Final = re.compile(r"(?:^|[^aeiou])[aeiou][bdgklmnprt]$")
_NOT_DOUBLED: Final = frozenset(
    """
    answer appear consider cover deliver design develop discover enter follow gather happen listen monitor offer open
    order pack remain remember repair return water weigh train eat read clean wear look cook book keep sleep need feed
    feel volunteer tutor mentor trigger limit visit credit edit profit exhibit inherit recommend campaign explain
    maintain complain gain contain sail fail mail email join rain wait treat heat repeat beat bear sign gamble host text
    lower recover
    """.split()
)


def _doubles(base: str) -> bool:
    return bool(_DOUBLED.search(base)) and base not in _NOT_DOUBLED


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + base[-1] + "ed" if _doubles(base) else base + "ed"


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    return base + base[-1] + "ing" if _doubles(base) else base + "ing"


def _given_forms(text: str) -> dict[str, tuple[str, str]]:
    """Forms that are written out: lines of "base kind form form ..."."""
    out: dict[str, tuple[str, str]] = {}
    for line in text.strip().splitlines():
        for entry in line.split("|"):
            base, kind, *forms = entry.split()
            out.update(dict.fromkeys(forms, (base, kind)))
    return out


MAX_MISFIT: Final = 9.0
# Nats by which another language may fit the letters better, with and without a function word of the chosen language;
# beyond, the words are of a language without lists.
MAX_UNVOTED_MISFIT: Final = 3.0
# Statements are short: without an English function word a small lead tells another language.
UNVOTED_CAUTION: Final = 0.25
_COMPARED: Final = frozenset((*LISTED_LANGUAGES, "ja"))


def choose_language(evidence: LanguageEvidence) -> str:
    """Return the language that a text shows if the product can compare in it, else ""."""
    code = evidence.likely(caution=1.0 if DEFAULT_LANGUAGE in evidence.voted else UNVOTED_CAUTION)
    if code not in _COMPARED:
        return ""
    if code not in latin_languages():
        return code
    misfit = max(evidence.scores) - evidence.scores[latin_languages().index(code)]
    return code if misfit <= (MAX_MISFIT if code in evidence.voted else MAX_UNVOTED_MISFIT) else ""


def choose_common_language(evidence: LanguageEvidence, other: LanguageEvidence) -> str:
    """Return the language of two statements that are compared: where they differ, the evidence of both counts."""
    alone = choose_language(evidence)
    if alone and alone == choose_language(other):
        return alone
    return choose_language(evidence.join(other)) if evidence.script == other.script else ""
