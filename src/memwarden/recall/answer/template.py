"""Templates of the ``<memories>`` block."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "You have the following relevant memories from past interactions:"
SUFFIX = "Use these memories to inform your responses, but don't explicitly reference them unless directly relevant."
FORMAT = "[{{memoryType}}, importance={{importance}}, {{age}}]\nSummary: {{summary}}\nContext: {{sourceContext}}"
# What a format may hold, each in double braces. A line of which every placeholder is empty is left out.
PLACEHOLDERS = ("memoryType", "importance", "age", "summary", "sourceContext", "speaker", "until")
# Maximum number of memories in a block.
MAX_IN_CONTEXT = 100
# Tags around the context of a task (:mod:`memwarden.tiers.budget`).
TASK_OPEN, TASK_CLOSE = "<task_context>", "</task_context>"


@dataclass(frozen=True, slots=True)
class Template:
    """Words of a ``<memories>`` block: before the memories, after them, and of each of them.

    Attributes:
        numbered: memories are numbered, with an empty line between them. Otherwise each is a line of a list.
        by_day: memories are listed newest first, under a heading for each day.
    """

    prefix: str = PREFIX
    suffix: str = SUFFIX
    format: str = FORMAT
    numbered: bool = True
    by_day: bool = False


# Numbered memories with kind, importance and age, before and after them an explanation.
CLASSIC_TEMPLATE = Template()
# Under each day a line for each memory: the speaker where it changes, the words, the end of validity.
LEAN_TEMPLATE = Template("Known from earlier:", "", "{{speaker}}{{summary}}{{until}}", numbered=False, by_day=True)
