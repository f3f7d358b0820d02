"""Spelling: words of a question that a store has never seen, and that it holds with one letter changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from memwarden.recall.rank.bm25 import count_holding
from memwarden.text.language import has_capital_nouns, is_english, normalize_text
from memwarden.text.misspelling import change_one_letter
from memwarden.text.tokenizer import fold, surface_id, surface_of, term_id, terms

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView

# Letters of a word that is looked up. Shorter ones are one letter away from too many others, longer ones are no words.
MIN_LETTERS: Final = 4
MAX_LETTERS: Final = 24
# The same of words in other languages than English, whose short words the vocabularies lack more often.
MIN_FOREIGN: Final = 5
# Unknown words of a question that are looked up. A text with more is no question in a language of the store.
MAX_UNKNOWN: Final = 4
# Words of a text in which misspelled ones are looked for.
MAX_WORDS: Final = 60
# Words that a view remembers as not misspelled. Questions repeat most of their words.
MAX_KNOWN: Final = 4_096

_WORD: Final = re.compile(rf"[^\W\d_]{{{MIN_LETTERS},}}")


def correct_spelling(text: str, view: NamespaceView, is_word: Callable[[str], bool]) -> str:
    """Return a question with each misspelled word as the store spells it.

    A word counts as misspelled if no text of the store holds it in any form, and ``is_word`` does not know it. It
    becomes the word with one letter added, removed, replaced or swapped with the next that most texts hold. The first
    letter stays. The last letter of a capitalised word inside of a sentence stays too: "Jonah" is not "Jonas". Of other
    languages than English the vocabularies lack many usual words, so that there only names become usual words.
    """
    words = list(islice(_WORD.finditer(text), MAX_WORDS + 1))
    unknown = [] if len(words) > MAX_WORDS else [found for found in words if _is_unknown(found[0], view, is_word)]
    if len(unknown) > MAX_UNKNOWN:
        return text
    english = is_english(text)
    unknown = [found for found in unknown if english or len(found[0]) >= MIN_FOREIGN]
    for found in reversed(unknown):
        plain = surface_of(normalize_text(found[0]))
        capital = found[0][0].isupper() and _has_begun(text[: found.start()])
        ends = plain[-1:] if capital else ""
        forms = [form for form in change_one_letter(plain) if form[:1] == plain[:1] and form.endswith(ends)]
        best = max(_find_held(forms, view), key=partial(_count_texts, view), default=plain)
        name = capital and not has_capital_nouns(text)
        if _count_texts(view, best) and terms(best) and (english or name or not is_word(best)):
            text = text[: found.start()] + best + text[found.end() :]
    return text


def _has_begun(text: str) -> bool:
    """Whether the sentence has begun where a text ends."""
    return bool(text.strip()) and text.rstrip()[-1] not in ".!?…:\n"


def _is_unknown(word: str, view: NamespaceView, is_word: Callable[[str], bool]) -> bool:
    if len(word) > MAX_LETTERS or word in view.known_words:
        return False
    if not _is_known(word, view, is_word):
        return True
    if len(view.known_words) >= MAX_KNOWN:
        view.known_words.clear()
    view.known_words.add(word)
    return False


def _is_known(word: str, view: NamespaceView, is_word: Callable[[str], bool]) -> bool:
    if _count_texts(view, surface_of(normalize_text(word))) or any(
        map(is_word, (word, word.lower(), word.capitalize()))
    ):
        return True
    stems = terms(word)  # last, since it takes most of the time
    return not stems or any(_count_texts(view, fold(stem)) for stem in stems)


def _find_held(words: Sequence[str], view: NamespaceView) -> list[str]:
    """Return the words that the store may hold: a misspelled word has hundreds of forms, of which it holds few."""
    stems = np.fromiter(map(term_id, words), np.uint32, len(words))
    either = np.concatenate([stems, np.fromiter(map(surface_id, words), np.uint32, len(words))])
    held = view.passages.holds(either)
    if view.whole is not None:
        held |= view.whole.holds(either)
    return [words[number] for number in np.flatnonzero(held[: len(words)] | held[len(words) :]).tolist()]


def _count_texts(view: NamespaceView, word: str) -> int:
    """Return how many texts hold a word as a stem or a surface form."""
    ids = (term_id(word), surface_id(word))
    texts = max(count_holding(each, len(view.passages.postings(each)[0]), view) for each in ids)
    if texts or view.whole is None:
        return texts
    return int(np.count_nonzero(view.whole.holds(np.array(ids, np.uint32))))
