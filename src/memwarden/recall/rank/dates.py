"""Days that a question asks about, and the places said on them or naming them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memwarden.recall.index.columns import Floats
from memwarden.recall.index.view import date_closeness
from memwarden.text.dates.calendar import day_number

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question


def says_when(question: Question, view: NamespaceView) -> Floats:
    """Return 1 where a question of time meets a time word."""
    return view.has_time_word.astype(np.float32) if question.when else view.nothing


def on_day(question: Question, view: NamespaceView) -> Floats:
    """Return 0..1: whether a place was said on the days asked about, or the share of its own days among them."""
    if not question.asked_days:
        return view.nothing
    said = np.zeros(view.size, np.bool_)
    for span in question.asked_days:
        said |= (view.said_day >= day_number(span.first)) & (view.said_day <= day_number(span.last))
    named = date_closeness(view.day_places, view.days, view.size, question.asked_days)
    return np.maximum(said.astype(np.float32), named)
