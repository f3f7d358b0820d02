"""Thresholds on calibrated chances, apart from the arithmetic so that settings need not load numpy."""

from __future__ import annotations

from typing import Final

DEFAULT_THRESHOLD: Final = 0.44
"""An answer is given when the chance that it holds what was asked for reaches this."""
HALF_BUDGET_THRESHOLD: Final = 0.55
"""A block put in unasked takes half of its budget while the chance is below this."""
MIN_ITEM_SCORE: Final = 0.01
"""Items are shown down to this chance of bearing on the question."""
