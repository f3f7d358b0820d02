"""Design E's view of memory: a task's scratch pad, a project's knowledge and what holds everywhere.

The three stores are views of the one record and its one way in; :attr:`memwarden.warden.AsyncWarden.tiers` makes them.
"""

from memwarden.backend import ContextItem
from memwarden.tiers.failure import FailureSignature

__all__ = ["ContextItem", "FailureSignature"]
