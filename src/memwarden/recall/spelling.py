"""Spelling: words of a question that a store has never seen, and that it holds with one letter changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from memwarden.recall.rank.bm25 import count_holding
from memwarden.text.language import normalize_text
from memwarden.text.misspelling import change_one_letter
from memwarden.text.tokenizer import fold, surface_id, surface_of, term_id, terms

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView

# Letters of a word that is looked up. Shorter ones are one letter away from too many others.
MIN_LETTERS: Final = 4
_WORD: Final = re.compile(rf"[^\W\d_]{{{MIN_LETTERS},}}")


def correct_spelling(text: str, view: NamespaceView, is_word: Callable[[str], bool]) -> str:
    """Return a question with each misspelled word as the store spells it.

    A word counts as misspelled if no text of the store holds it in any form, and ``is_word`` does not know it. It
    becomes the word with one letter added, removed, replaced or swapped with the next that most texts hold.
    """
    return _WORD.sub(lambda found: _correct(found[0], view, is_word), text)


def _correct(word: str, view: NamespaceView, is_word: Callable[[str], bool]) -> str:
    plain = surface_of(normalize_text(word))
    stems = terms(word)
    holding = partial(_count_texts, view)
    if not stems or any(map(holding, (plain, *map(fold, stems)))) or is_word(word):
        return word
    best = max(change_one_letter(plain), key=holding, default=plain)
    return best if holding(best) else word


def _count_texts(view: NamespaceView, word: str) -> int:
    """Return how many texts hold a word as a stem or a surface form."""
    ids = (term_id(word), surface_id(word))
    return max(count_holding(each, len(view.passages.postings(each)[0]), view) for each in ids)
