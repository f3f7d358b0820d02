"""Judges a pair of statements: a duplicate, an explicit update, or two facts that may both be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from memwarden.remember.resolve.same_fact.updates import find_update
from memwarden.statements.explicit import ReadText, read_text
from memwarden.statements.statement import quoted_words, shows_context
from memwarden.text.language import normalize_text, read_evidence

Label = Literal["same", "supersede", "link", "different", "check"]
# Lowest cosine from which a pair that no rule decides is worth a question to a model. A cosine never merges.
MIN_COSINE: Final = 0.55
# Share of the content words of the longer statement from which two statements are related.
MIN_SHARED: Final = 0.5

# Punctuation around a word, and signs that end a phrase in scripts without spaces.
_AROUND: Final = ".,;:!?…\"'“”‘’()«»„"
_GLUED_ENDS: Final = str.maketrans("。，、！？「」", "       ")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relation of a new statement to an old one, the rule that decided, and the guards against a merge.

    ``label``: "same": both say the same words. "supersede": the new statement says that the old one is over, changed or
    wrong, so the old statement's validity ends. "link": related, both hold. "check": near, but no rule decides. Ask a
    model, or keep both. "different": keep both.

    ``guards`` are names in alphabetical order. With any of them the label is never "same".
    """

    label: Label
    rule: str
    guards: tuple[str, ...] = ()


def judge(old: str, new: str, *, cosine: float | None = None) -> Judgement:
    """Judge the relation of the statement `new` to the statement `old`.

    `cosine` (-1 to 1) is the similarity of their vectors, if there are any: it sends undecided pairs to "check" and
    never merges. Never raises. "same" is symmetric. The other labels depend on which statement is newer.
    """
    first, second = quoted_words(old), quoted_words(new)
    code = read_evidence(first).join(read_evidence(second)).likely()
    before, after = read_text(first, code), read_text(second, code)
    guards = find_guards(before, after)
    words = _words_of(first), _words_of(second)
    if [normalize_text(word) for word in words[0]] == [normalize_text(word) for word in words[1]]:
        return _judge_equal(words, before.asks != after.asks)
    # Words that need others to be understood do not say what they are about, so nothing tells that it changed.
    rule = None if shows_context(old) else find_update(before, after)
    if rule is not None:
        return Judgement("supersede", rule, guards)
    shared = before.content & after.content
    if shared and cosine is not None and cosine >= MIN_COSINE and "question" not in guards:
        return Judgement("check", "near", guards)
    related = shared and len(shared) >= MIN_SHARED * max(len(before.content), len(after.content))
    return Judgement("link", "related", guards) if related else Judgement("different", "apart", guards)


def _words_of(text: str) -> list[str]:
    """The words of a text without the punctuation around them."""
    bare = (word.strip(_AROUND) for word in text.translate(_GLUED_ENDS).split())
    return [word for word in bare if word]


def _judge_equal(words: tuple[list[str], list[str]], only_one_asks: bool) -> Judgement:
    """Two texts that differ in case and punctuation alone, which matter in a question and in a code."""
    if only_one_asks:
        return Judgement("different", "written alike", ("question",))
    pairs = list(zip(*words, strict=True))
    if any(old != new and (_is_code(old) or _is_code(new)) for old, new in pairs):
        return Judgement("different", "written alike", ("code",))
    # "Likes Apple" is not "likes apple", but where somebody types without capitals.
    if any(old != new for old, new in pairs[1:]) and all(any(map(_has_capital, side)) for side in words):
        return Judgement("different", "written alike", ("name",))
    return Judgement("same", "equal")


def _has_capital(word: str) -> bool:
    return not word.isupper() and any(map(str.isupper, word))


def _is_code(word: str) -> bool:
    """Whether the case of a word may matter: capitals or digits inside it."""
    return not word.isupper() and any(sign.isupper() or sign.isdigit() for sign in word[1:])


def find_guards(old: ReadText, new: ReadText) -> tuple[str, ...]:
    """Return the names of the differences that forbid a merge, in alphabetical order."""
    differences = {
        "date": old.days != new.days,
        "name": old.names != new.names,
        "negation": old.has("negation") != new.has("negation"),
        "number": old.numbers != new.numbers,
        "question": old.asks != new.asks,
        "relation": old.relations != new.relations,
    }
    return tuple(name for name, differs in differences.items() if differs)
