"""Evidence of absence: whether a question asks about a relation that the store never mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from memwarden.recall.index.columns import Mask
from memwarden.statements.wording import relation_words
from memwarden.text.tokenizer import GLUED_SCRIPT, index_ids

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Relations that are easily taken for each other. Where only a cat was mentioned, a dog would get its name.
SIMILAR_RELATIONS: Final[tuple[frozenset[str], ...]] = (
    frozenset({"dog", "cat"}),
    frozenset({"sister", "brother"}),
    frozenset({"mother", "father", "uncle", "aunt", "grandmother", "grandfather"}),
    frozenset({"son", "daughter", "nephew", "niece", "cousin"}),
)

_HeldTerms = tuple[Callable[[Iterable[bool]], bool], tuple[int, ...]]


def is_never_mentioned(question: Question, view: NamespaceView, allowed: Mask) -> bool:
    """Whether a question asks about a relation that no allowed place mentions, while one mentions a relation like it.

    Words alone cannot prove absence: a labrador is a dog. So only an answer that may belong to another relation is
    doubted.
    """
    relation = None if question.reading is None else question.reading.relation
    # Of a part of a large namespace, words that the question does not hold are unknown.
    if relation is None or view.whole is not None or _mentions(relation, view, allowed):
        return False
    others = {other for group in SIMILAR_RELATIONS if relation in group for other in group - {relation}}
    return any(_mentions(other, view, allowed) for other in sorted(others))


def _mentions(relation: str, view: NamespaceView, allowed: Mask) -> bool:
    return any(every(_is_held(term, view, allowed) for term in ids) for every, ids in _ids_of_relation(relation))


@cache
def _ids_of_relation(relation: str) -> tuple[_HeldTerms, ...]:
    """Return the term ids of each word of a relation. Of a script without spaces all parts of a word must be there."""
    return tuple(
        (all if GLUED_SCRIPT.search(word) else any, tuple(index_ids(word))) for word in relation_words(relation)
    )


def _is_held(term: int, view: NamespaceView, allowed: Mask) -> bool:
    return bool(allowed[view.postings(term)[0]].any())
