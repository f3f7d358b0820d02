"""The signature of a statement: everything that the judgement of a pair needs, made once for each text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memwarden.remember.resolve.same_fact import normal, word_lists
from memwarden.remember.resolve.same_fact.canonical import CanonicalSentence, canonicalize
from memwarden.remember.resolve.same_fact.normal import (
    BE,
    JOINING,
    NUMBER,
    TIMES,
    NormalText,
    find_names,
    fold_text,
    normalize,
)
from memwarden.remember.resolve.same_fact.word_lists import LISTED_LANGUAGES, Rewrite, WordLists, load_word_lists
from memwarden.text.language import LanguageEvidence, read_evidence
from memwarden.text.tokenizer import GLUED_SCRIPT, fold, stemmer


@dataclass(frozen=True, slots=True)
class ChangeReading:
    """A statement read as a change.

    after: the words of the state that it leads to, or the words as they are. changed: whether a pattern was met.
    gone, ended: words that name what is no longer so, or is over.
    """

    after: tuple[str, ...]
    changed: bool = False
    gone: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


def read_change(words: tuple[str, ...], lists: WordLists) -> ChangeReading:
    """Read the words of a statement as a change, if they tell of a change."""
    told = " ".join(word for word in words if word not in lists.present)
    line = told
    for item in lists.changes:
        if item.need in line:
            line = " ".join(item.pattern.sub(f"{item.into} ", line).split())
    return ChangeReading(tuple(line.split()), line != told, _find_name(told, lists.gone), _find_name(told, lists.ended))


def _find_name(line: str, patterns: tuple[Rewrite, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        if pattern.need in line and (met := pattern.pattern.search(line)) is not None:
            return tuple(met[1].split()) if met.re.groups else ()
    return ()


# A longer text is no single fact: it only merges with a text that is equal.
MAX_WORDS: Final = 60


@dataclass(frozen=True, slots=True)
class Signature:
    """A statement taken apart. Two are compared only if they share a language."""

    text: str
    folded: str
    language: str
    """en, de, es, fr, ja, or "" where there are no lists (or the text is too long)."""
    evidence: LanguageEvidence
    words: tuple[str, ...] = ()
    """Canonical words in order: what has to be equal for "same". Times stand apart if each kind occurs once."""
    content: tuple[str, ...] = ()
    """Stems of the words that carry content, in order: for what is new in an update."""
    raw: tuple[str, ...] = ()
    """All words in the order of the active sentence, unstemmed."""
    subject: str = ""
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    quantifiers: frozenset[str] = frozenset()
    modality: frozenset[str] = frozenset()
    tense: str = ""
    prepositions: frozenset[str] = frozenset()
    conjunctions: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    capitals: frozenset[str] = frozenset()
    smalls: frozenset[str] = frozenset()
    articles: frozenset[tuple[str, str]] = frozenset()
    kin: frozenset[str] = frozenset()
    """Words that tell a man from a woman: wife, husband."""
    bare: frozenset[str] = frozenset()
    marked: frozenset[str] = frozenset()
    """Words that may be verbs or nouns, as they stood: plan, plans."""
    cues: frozenset[str] = frozenset()
    state: tuple[str, ...] = ()
    """Stems in order without articles and "now": how things stand once it is true."""
    changed: bool = False
    """It tells of a change; the state is what comes after it."""
    gone: tuple[str, ...] = ()
    """Stems of what it says is no longer so."""
    ended: tuple[str, ...] = ()
    """Stems of what it says has ended."""
    named: tuple[tuple[str, str], ...] = ()
    """Numbers that are names, each with what it names: hive, 3."""
    topic: tuple[str, ...] = ()
    """Stems, numbers and times before the first verb: what is spoken of."""
    verbs: frozenset[str] = frozenset()
    """Stems of the words of the content that are forms of verbs."""
    asks: bool = False
    quotes: int = 0


@lru_cache(maxsize=4096)
def sign_text(text: str, language: str | None = None) -> Signature:
    """Take a text apart, in `language` (en, de, es, fr, ja, "" for none) or in the language that its words show.

    Never raises. Cached, so that a new text against many old texts is taken apart once.
    """
    evidence = read_evidence(text)
    code = word_lists.choose_language(evidence) if language is None else language
    if code == "ja":
        return sign_japanese(text, evidence)
    if code not in LISTED_LANGUAGES or len(text) > 20 * MAX_WORDS or len(text.split()) > MAX_WORDS:
        return Signature(text, fold_text(text), "", evidence, content=_words_of_any_language(text))
    lists = load_word_lists(code)
    found = normalize(text, lists)
    sentence = canonicalize(found.tokens, lists, found.capitals - found.smalls)
    return _build_signature(text, evidence, found, sentence, lists)


def _build_signature(
    text: str, evidence: LanguageEvidence, found: NormalText, sentence: CanonicalSentence, lists: WordLists
) -> Signature:
    spoken = sentence.spoken
    content = _content(spoken, lists)
    told = read_change(_mark_occupation(spoken, sentence.base_forms.words), lists)
    spread = set(spoken) | {part for word in spoken for part in word.split("-")[:1] if word.endswith(("-ed", "-ing"))}
    return Signature(
        text=text,
        folded=fold_text(text),
        language=lists.code,
        evidence=evidence,
        words=sentence.words,
        content=content,
        raw=tuple(word.removesuffix("-ing").removesuffix("-ed") for word in spoken),
        subject=content[0] if content else "",
        numbers=tuple(word for word in spoken if NUMBER.match(word)),
        times=tuple(word for word in spoken if word.startswith(TIMES)),
        negations=tuple(_bind_negations(spoken, lists)),
        quantifiers=frozenset(lists.quantifiers[word] for word in spoken if word in lists.quantifiers),
        modality=frozenset(lists.modality[word] for word in spread if word in lists.modality),
        tense=sentence.tense,
        prepositions=lists.prepositions & set(spoken),
        conjunctions=lists.conjunctions & set(spoken),
        codes=found.codes,
        capitals=found.capitals,
        smalls=found.smalls,
        articles=frozenset(_articles(sentence.base_forms.words, lists)),
        kin=frozenset(lists.kin[word] for word in sentence.base_forms.words if word in lists.kin),
        bare=sentence.base_forms.bare,
        marked=sentence.base_forms.marked,
        cues=lists.cues & ({*found.tokens, *spread}),
        state=state_words(told.after, lists),
        changed=told.changed or bool(_BECOME.search(" ".join(sentence.base_forms.words))),
        gone=_content(told.gone, lists),
        ended=_content(told.ended, lists),
        named=tuple(find_names(spoken, lists)),
        topic=_topic(spoken, lists),
        verbs=frozenset(stem(word, lists) for at, word in enumerate(spoken) if _verb(word, at, spoken, lists)),
        asks=found.asks,
        quotes=found.quotes,
    )


def _content(words: tuple[str, ...], lists: WordLists) -> tuple[str, ...]:
    """Stems of what is not grammar, a number or a time. "I" and "my" are the same subject."""
    out = []
    for place, word in enumerate(words):
        if word in lists.persons:
            if place == 0:
                out.append(_PERSON.get(word, word))
        elif not is_grammar(word, lists):
            out.append(stem(word, lists))
    return tuple(out)


# "My car" and "me" have the subject of "I": statements of the same speaker.
_PERSON: Final = {
    "my": "i",
    "me": "i",
    "our": "we",
    "us": "we",
    "mein": "ich",
    "meine": "ich",
    "unser": "wir",
    "mi": "yo",
    "mon": "je",
    "ma": "je",
}


def is_grammar(word: str, lists: WordLists) -> bool:
    """Whether a canonical word carries no content of its own."""
    return (
        word in ("be", "have", "|", "'s", ",", "be-ing", "?")
        or word in lists.dropped
        or word in lists.articles
        or word in lists.prepositions
        or word in lists.conjunctions
        or word in lists.negation
        or word in lists.quantifiers
        or word in lists.modality
        or word in lists.cues
        or word in _SMALL
        or NUMBER.match(word) is not None
        or word.startswith(TIMES)
    )


def is_content(word: str, lists: WordLists) -> bool:
    """Whether a canonical word is a noun, a verb, a name or the like."""
    return not is_grammar(word, lists) and word not in lists.persons


_SMALL: Final = frozenset(
    "of to in on at for with by a very really quite pct usd eur gbp kg lb km mi cm m h min l times time".split()
)


@lru_cache(maxsize=50_000)
def _stem_words(word: str, code: str) -> str:
    return fold(str(stemmer(code).stemWord(word)))


def stem(word: str, lists: WordLists) -> str:
    """The stem of a canonical word, of its group of synonyms if there is a group."""
    bare = word.removesuffix("-ing").removesuffix("-ed")
    bare = lists.synonyms.get(bare, bare)
    return _stem_words(bare, lists.code) if bare.isalpha() else bare


def _bind_negations(words: tuple[str, ...], lists: WordLists) -> list[str]:
    """The word that each negation binds to."""
    out = []
    for place, word in enumerate(words):
        if word in lists.negation or word.startswith("non-"):
            out.append(next((word for word in words[place + 1 :] if word not in lists.articles), ""))
    return sorted(out)


def _articles(words: tuple[str, ...], lists: WordLists) -> list[tuple[str, str]]:
    out = []
    for place, word in enumerate(words):
        if word not in lists.articles:
            continue
        head = ""
        for after in words[place + 1 :]:
            if not after.isalpha() or is_grammar(after, lists) or (head and after in lists.forms):
                break
            head = after
        if head:
            out.append((word if lists.code == "de" else "a" if word in lists.indefinite else "the", head))
    return out


def _topic(words: tuple[str, ...], lists: WordLists) -> tuple[str, ...]:
    """Canonical words before the first verb, with numbers and times."""
    end = next((at for at, word in enumerate(words) if _verb(word, at, words, lists)), 0)
    return (
        *_content(words[:end], lists),
        *(word for word in words[:end] if word.startswith(TIMES) or word[0].isdigit()),
    )


def _verb(word: str, at: int, words: tuple[str, ...], lists: WordLists) -> bool:
    bare = word.removesuffix("-ed").removesuffix("-ing")
    return at > 0 and bare in lists.bases and words[at - 1] not in lists.articles and words[at - 1] != "'s"


# "got married" tells of a change although no pattern of changes knows its object.
_BECOME: Final = re.compile(r"\bget (?:engaged|married|divorced|separated)\b")


def _mark_occupation(words: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
    """Mark the job of who "works as" something, and the name of what "is called" something: "is" alone would not
    tell them from what else somebody is."""
    line = " ".join(said)
    if "be" not in words:
        return words
    at = words.index("be")
    if "work as" in line or "job be" in line or "job title be" in line:
        return (*words[:at], "occupation", *words[at:])
    return (*words[: at + 1], "called", *words[at + 1 :]) if " be call-ed " in line else words


def state_words(words: tuple[str, ...], lists: WordLists) -> tuple[str, ...]:
    """Stems of the words of a statement but for articles and what says that it is so now."""
    left_out = lists.articles | lists.present | _TITLES
    return tuple(
        word
        if word in BE or word in JOINING or word.endswith(("-ed", "-ing")) or is_grammar(word, lists)
        else stem(word, lists)
        for at, word in enumerate(words)
        if word not in left_out or (at == len(words) - 1 > 0 and word in lists.articles)
    )


_TITLES: Final = frozenset("| , dr prof mr mrs ms".split())


def _words_of_any_language(text: str) -> tuple[str, ...]:
    return tuple(fold_text(text).split()) if not GLUED_SCRIPT.search(text) else tuple(fold_text(text))


def sign_japanese(text: str, evidence: LanguageEvidence) -> Signature:
    parts = normal.split_japanese(text)
    return Signature(
        text,
        fold_text(text),
        "ja",
        evidence,
        words=parts.words,
        content=parts.content,
        subject=parts.topic,
        numbers=parts.numbers,
        negations=("",) * parts.negations,
        tense=parts.tense,
        modality=parts.modality,
        asks=parts.asks,
    )
