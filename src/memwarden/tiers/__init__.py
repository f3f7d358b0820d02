"""Three tiers of memory: a task's scratch pad, a project's knowledge, and global memory.

The three stores are views of ordinary memories, written the ordinary way. An assembler makes a single context of them.
:attr:`memwarden.api.warden.AsyncWarden.tiers` makes all four.
"""

from memwarden.tiers.backend import ContextItem
from memwarden.tiers.budget import (
    ContextPackage,
    ContextPolicy,
    ContextRequest,
    IncludedItem,
    LeftOut,
    MemoryConfig,
    Profile,
    Task,
    TierUse,
)
from memwarden.tiers.items import FailureSignature

__all__ = [
    "ContextItem",
    "ContextPackage",
    "ContextPolicy",
    "ContextRequest",
    "FailureSignature",
    "IncludedItem",
    "LeftOut",
    "MemoryConfig",
    "Profile",
    "Task",
    "TierUse",
]
