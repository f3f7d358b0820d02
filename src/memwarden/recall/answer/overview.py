"""What is known of a person at a glance: the open value of each attribute, told by the newest statement of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from memwarden.recall.answer import render
from memwarden.recall.answer.render import one_line
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.statement_table import TableRow
from memwarden.records import Memory, Overview, OverviewLine
from memwarden.statements.reader import NONE, SELF, StatementWeights
from memwarden.statements.statement import SORTS

MIN_CHANCE: Final = 0.45
"""The chance that a clause states the attribute, from which on it is told."""
NEAR_BEST: Final = 0.7
"""A value is told by the newest statement that is nearly as sure as the surest of its attribute."""
MIN_SIGNS: Final = 12
"""A shorter fragment ("in April") says little without what stood before it; a full-width sign counts as two."""
MAX_VALUES: Final = 3
"""Of an attribute that holds several values at once the newest are told."""
MAX_WORDS: Final = 90
"""Characters of a value."""
MAX_LINES: Final = 60
MENTION_SHARE: Final = 0.15
"""What has been said again and again matters more: each further statement of an attribute raises it by this share."""
MAX_MENTIONS: Final = 5
LATELY_DAYS: Final = 45
"""A change that is younger is marked as new."""


class Value(NamedTuple):
    """A statement that may stand in an overview. owner: whose value; rank: what matters more stands higher."""

    owner: str
    attribute: str
    row: TableRow
    rank: float


def open_values(
    index: NamespaceIndex,
    allowed: Mask,
    about: str | None,
    weights: StatementWeights,
    is_ended: Callable[[int], bool] = lambda place: False,
) -> list[Value]:
    """Return the open values of a person by the statements at allowed places, what matters most first.

    about: a name or a relation ("sister"); None for those who speak. is_ended: whether a turn says what is over.
    """
    chains: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
    for row in index.statements.rows(allowed, MIN_CHANCE):
        owner = _owner(row.subjects, about)
        attribute = weights.name(row.code)
        if owner is None or attribute == NONE or row.end - row.start < MIN_SIGNS // 2:
            continue
        if not is_ended(row.place):
            chains[owner, attribute].append(row)
    said = index.columns.number("created_at")
    many = {name for name, flag in zip(weights.attributes, weights.many, strict=True) if flag}
    found: list[Value] = []
    for (owner, attribute), rows in chains.items():
        rows.sort(key=lambda row: (int(said[row.place]), row.chance))
        surest = max(row.chance for row in rows)
        rows = [row for row in rows if row.chance >= NEAR_BEST * surest]
        mentions = min(len({row.place for row in rows}), MAX_MENTIONS)
        rank = surest * (1 + MENTION_SHARE * mentions)
        found += [Value(owner, attribute, row, rank) for row in _still_open(rows, attribute in many)]
    return sorted(found, key=lambda value: (-value.rank, value.owner, value.attribute))[:MAX_LINES]


def _still_open(rows: Sequence[TableRow], many: bool) -> list[TableRow]:
    """The newest value of a chain, or its last few where several hold at once; nothing after an end."""
    found: dict[int, TableRow] = {}
    for row in rows:
        if SORTS[row.sort] == "end":
            found.clear()
        elif many:
            found[row.place] = row
        else:
            found = {row.place: row}
    return list(found.values())[-MAX_VALUES:]


def _owner(subjects: Sequence[str], about: str | None) -> str | None:
    """Whose value it is: "" for a speaker without a name; None for somebody who is not asked about."""
    if about is not None:
        wanted = about.casefold()
        return about if f"name:{wanted}" in subjects or f"relation:{wanted}" in subjects else None
    if SELF not in subjects:
        return None
    return next((key.partition(":")[2].title() for key in subjects if key.startswith("name:")), "")


def write_overview(
    values: Sequence[Value],
    memories: Mapping[int, Memory],
    now: datetime,
    budget: int,
    count: Callable[[str], int],
) -> Overview:
    """Return as many values as fit the budget, as lines that name their sources.

    memories: those of the values, by place; values without are left out. count: tokens of a text.
    """
    lines: list[OverviewLine] = []
    text = ""
    for value in values:
        memory = memories.get(value.row.place)
        if memory is None or _width(memory.text[value.row.start : value.row.end]) < MIN_SIGNS:
            continue
        line = _line(value, memory, now)
        tried = _join([*lines, line])
        if count(tried) > budget:
            continue
        lines.append(line)
        text = tried
    return Overview(text, count(text) if text else 0, tuple(lines))


def _line(value: Value, memory: Memory, now: datetime) -> OverviewLine:
    words = one_line(render.fit_to_show(memory, memory.text[value.row.start : value.row.end]))
    words = words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1].rstrip() + "…"
    words = render.frame_memory(memory, words)
    changed = SORTS[value.row.sort] == "change" and (now - memory.created_at).days <= LATELY_DAYS
    return OverviewLine(value.owner, value.attribute, words, memory.created_at, changed, memory.id)


def _width(text: str) -> int:
    return sum(2 if ord(sign) > 0x2E80 else 1 for sign in text)


def _join(lines: Sequence[OverviewLine]) -> str:
    """The lines under the name of whom they are about."""
    owners = list(dict.fromkeys(line.about for line in lines))
    parts: list[str] = []
    for owner in owners:
        if owner:
            parts.append(f"{owner}:")
        parts += [
            f"- {line.attribute}: {line.value} ({'new, ' if line.changed else ''}{line.said_at.astimezone(UTC):%b %Y})"
            for line in lines
            if line.about == owner
        ]
    return "\n".join(parts)
