"""Typed statements as records, as far as they are sure enough to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Final

from memwarden.records import Memory, Statement
from memwarden.statements.explicit import read_text
from memwarden.statements.statement import NONE, SORTS, PackedStatement
from memwarden.text.language import language_of

# A surer statement is shown. What is less sure is evidence for a search alone. Of six notes that were read wrongly
# before, two are right and four state nothing at this bar.
MIN_PROBABILITY: Final = 0.29
MAX_VALUE: Final = 200


def show_statements(
    memory: Memory, packed: Sequence[PackedStatement], name: Callable[[int], str]
) -> tuple[Statement, ...]:
    """Return what a memory states as records: the narrowest clauses that surely state a known attribute.

    A wish or a need is shown as no value.

    Args:
        name: the attribute of a code.
    """
    records = [_record(memory.text, each, name(each.attributes[0]), memory.sources) for each in packed]
    sure = [each for each in records if each.attribute != NONE and each.probability >= MIN_PROBABILITY]
    language = language_of(memory.text)
    certain = [each for each in sure if not read_text(each.value, language).has("wish")]
    return tuple(each for each in certain if not any(_is_inside(other, each) for other in certain))


def _is_inside(inner: Statement, outer: Statement) -> bool:
    return inner is not outer and outer.start <= inner.start and inner.end <= outer.end


def _record(text: str, each: PackedStatement, attribute: str, sources: tuple[str, ...]) -> Statement:
    return Statement(
        each.subject,
        attribute,
        text[each.start : each.end][:MAX_VALUE],
        date.fromordinal(each.since),
        None if each.until is None else date.fromordinal(each.until),
        SORTS[each.sort],
        round(each.states * each.chances[0] * each.typical / 255**3, 3),
        each.start,
        each.end,
        sources,
    )
