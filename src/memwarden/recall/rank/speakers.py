"""Speakers: who said a place, and whom a question names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats, Mask
from memwarden.statements.wording import SELF
from memwarden.text.question_words import opens_as_question

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


def tells_of_others(question: Question, view: NamespaceView) -> Mask | None:
    """Return where somebody else than whom the question is about is told of; None where that cannot be said.

    It can be said of a question that names whom it is about, or says "I" or "my".
    """
    if not _is_about_known(question, view):
        return None
    assert question.reading is not None
    assert view.statements is not None
    return view.statements.are_of_others(question.reading, view.size)


def share_of_others(question: Question, view: NamespaceView) -> Floats:
    """Return how much more a person tells what is asked for of somebody else than of whom it is asked, 0..1."""
    if not _is_about_known(question, view):
        return view.nothing
    assert question.reading is not None
    assert view.statements is not None
    told = view.statements.share_of_others(question.reading, view.size)
    return np.asarray(told * (view.from_person > 0), np.float32)


def about_others(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where a person tells only of others and is asked about themselves, else 0."""
    if not question.asks_of_self or not opens_as_question(question.text):
        return view.nothing
    others = tells_of_others(question, view)
    return view.nothing if others is None else np.asarray(others & (view.from_person > 0), np.float32)


def _is_about_known(question: Question, view: NamespaceView) -> bool:
    reading = question.reading
    if (
        reading is None
        or reading.is_request
        or reading.of_somebody
        or view.statements is None
        or not len(view.statements)
    ):
        return False
    return question.asks_of_self or SELF not in reading.subjects
