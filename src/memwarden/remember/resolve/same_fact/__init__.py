"""Judges by rules whether two statements say the same, whether one ends the other, or whether both may be true.

`judge` is pure: two texts in, a frozen `Judgement` out.
"""

from memwarden.remember.resolve.same_fact.rules import Judgement, Label, judge

__all__ = ["Judgement", "Label", "judge"]
