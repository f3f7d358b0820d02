"""Shape of messages: whether they ask, their length, and whether a store holds plain statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from memwarden.recall.index.columns import Floats, Mask

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Mean terms of a text below which a store consists of plain statements.
PLAIN_TERMS: Final = 5.0


def asks(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where a place asks something: questions hold fewer answers."""
    return view.asks_question.astype(np.float32)


def share_asked(question: Question, view: NamespaceView) -> Floats:
    """Return by how far each place states the attribute that is asked for, 0..1."""
    if question.reading is None or view.statements is None:
        return view.nothing
    return view.statements.share_attribute(question.reading, view.size)


def reports(view: NamespaceView, told: Floats) -> Floats:
    """Return how far each place reports what is or was, 0..1. told: how far it states the attribute asked for.

    What states the attribute that is asked for reports something, so that two values of it differ by nothing here.
    """
    if view.second is None:
        return view.nothing
    return np.maximum(view.reports, told * ~view.says_doubt)


def log_length(question: Question, view: NamespaceView) -> Floats:
    """Return the logarithm of a place's length in words, up to that of a sentence."""
    return view.log_length


def plainness_of(view: NamespaceView, allowed: Mask) -> float:
    """Return how far the allowed texts are short plain statements, 0..1: these lie near to a question for them."""
    length = float(np.add.reduce(view.length[allowed]) / np.float32(np.count_nonzero(allowed)))
    return 1.0 / (1.0 + float(np.exp(min(2 * (length - PLAIN_TERMS), 50.0))))
