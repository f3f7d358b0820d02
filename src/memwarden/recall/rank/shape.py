"""Shape of a message: whether it only asks, and its length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question


def asks(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where a place asks something: questions hold fewer answers."""
    return view.asks_question.astype(np.float32)


def log_length(question: Question, view: NamespaceView) -> Floats:
    """Return the logarithm of a place's length in words, up to that of a sentence."""
    return view.log_length
