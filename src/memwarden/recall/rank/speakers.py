"""Speakers: who said a place, and whom a question names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question


def said_by_named(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where the only speaker named in the question speaks."""
    if len(question.speakers) != 1:
        return view.nothing
    return np.asarray(view.speaker == question.speakers[0], np.float32)


def said_by_assistant(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where an assistant speaks: it mostly repeats what the person said."""
    return view.nothing if view.by_model is None else view.by_model.astype(np.float32)
