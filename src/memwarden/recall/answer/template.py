"""Templates of the ``<memories>`` block."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "You have the following relevant memories from past interactions:"


SUFFIX = "Use these memories to inform your responses, but don't explicitly reference them unless directly relevant."


FORMAT = "[{{memoryType}}, importance={{importance}}, {{age}}]\nSummary: {{summary}}\nContext: {{sourceContext}}"


# What a format may hold, each in double braces. A line of which every placeholder is empty is left out.
PLACEHOLDERS = ("memoryType", "importance", "age", "summary", "sourceContext", "day", "speaker", "until")


# Maximum number of memories in a block.
MAX_IN_CONTEXT = 100


# Between these stands the context of a task (:mod:`memwarden.tiers.budget`).
TASK_OPEN, TASK_CLOSE = "<task_context>", "</task_context>"


@dataclass(frozen=True, slots=True)
class Template:
    """The words of a ``<memories>`` block: before the memories, after them, and of each of them.

    numbered: whether memories are numbered and stand apart; else each is a line of a list.
    """

    prefix: str = PREFIX
    suffix: str = SUFFIX
    format: str = FORMAT
    numbered: bool = True


# Numbered memories with kind, importance and age, before and after them an explanation.
CLASSIC_TEMPLATE = Template()


# A line a memory: when, who where several speak, what, and until when it held.
LEAN_TEMPLATE = Template("Known from earlier:", "", "{{day}}{{speaker}}: {{summary}}{{until}}", numbered=False)
