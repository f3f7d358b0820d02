"""The request for a task's context, and the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from memwarden.tiers.backend import ContextItem

# The project of tasks that name none.
DEFAULT_PROJECT = "default"


@dataclass(frozen=True, slots=True)
class Task:
    """A task, as the assembler needs it; any object with these attributes will do.

    metadata: ``project_id`` in it names the project; the default is ``default``.
    """

    task_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A request for a context; any object with ``budget_tokens`` will do.

    Attributes:
        budget_tokens: maximum tokens of the rendered text, titles and tags included.
        query: choose answers to it from project and global memory. None: what matters most there.
        shares: of the budget, such as ``{"task": 0.4, "project": 0.4, "global": 0.2}``. None: those of the profile.
        profile: the name of a profile of the assembler. None: the default shares.
        agent: only what this agent's allowlist lets it read. None: everything.
        threshold: with a query, the minimum score, 0..1; None: the calibrated bar, 0: no bar.
        head_tail_preserve: so many of the task's first and of its last items precede its others. None: as the profile
            or the assembler's ``memory_config`` says.
        explain: with a query, name every omitted item of project and global memory, not only answers and the 20 nearest
            others in each. Without a query all are named anyway.
    """

    budget_tokens: int
    query: str | None = None
    shares: Mapping[str, float] | None = None
    profile: str | None = None
    agent: str | None = None
    threshold: float | None = None
    head_tail_preserve: int | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """How the context of a kind of agent is made. See :class:`ContextRequest`."""

    shares: Mapping[str, float] | None = None
    head_tail_preserve: int | None = None


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    """The policy of an assembler. head_tail_preserve: see :class:`ContextRequest`."""

    head_tail_preserve: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """The configuration of an assembler."""

    context_policy: ContextPolicy | None = None


class IncludedItem(NamedTuple):
    """An item of a context, and why. tokens: the size of its line. score: 0..1 with a query, else None."""

    tier: str
    item: ContextItem
    reason: str
    tokens: int
    score: float | None


class LeftOut(NamedTuple):
    """An omitted item. gate: the name of what stopped it; ``reason`` says it in words."""

    tier: str
    item_id: str
    gate: str
    reason: str
    score: float | None


@dataclass(frozen=True)
class ContextPackage:
    """The context of a task.

    Attributes:
        context_package_id: ``ctx-<task id>``.
        items: in the order of the text: the task's by time, the others by what matters most.
        summary: always None; part of the contract's shape.
        compression_ratio: cost of the items over the cost of all candidates, 0..1; 0.0 for none.
        text: the items as they go into a prompt; empty for none. tokens: its size, never above ``budget_tokens``.
        included: why each item is in, in their order. omissions: see ``left_out``.
        allotted: the tokens of each tier's share. used: what each tier took.
    """

    context_package_id: str
    items: tuple[ContextItem, ...]
    summary: str | None
    compression_ratio: float
    text: str
    tokens: int
    budget_tokens: int
    included: tuple[IncludedItem, ...]
    find_left_out: Callable[[], tuple[LeftOut, ...]] = field(repr=False, compare=False)
    allotted: Mapping[str, int]
    used: Mapping[str, int]

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Why each other item of the three tiers is not in; with a query see :class:`ContextRequest`."""
        return self.find_left_out()

    def __getstate__(self) -> dict[str, Any]:
        # The search refers to every item that was looked at: a copy holds what came of it.
        return {**vars(self), "find_left_out": partial(tuple, self.left_out)}
