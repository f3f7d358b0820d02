"""Judges by rules whether two statements say the same fact, a new value of it, or something else.

`judge` is pure: two texts in, a frozen `Judgement` out.
"""

from memwarden.remember.resolve.same_fact.rules import Judgement, Label, judge
from memwarden.remember.resolve.same_fact.signature import Signature, sign_text

__all__ = ["Judgement", "Label", "Signature", "judge", "sign_text"]
