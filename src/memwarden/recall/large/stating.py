"""Picks the rows of a large namespace that say what is open, from the statements of all of them, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import heappush, heappushpop
from typing import Final

from memwarden.statements.reader import SELF
from memwarden.statements.statement import PackedStatement, unpack

# Rows whose statements are read at once.
PAGE_ROWS: Final = 5_000
# Of each value the newest statements are taken among those that are at least so sure: what ends a value may be unsure.
TIERS: Final = (0.15, 0.45, 0.7)
NEWEST: Final = 8

# When a row was said, and its number.
_Row = tuple[int, int]


class StatingRows:
    """The newest and the surest statements of each subject and attribute, whatever the number of rows.

    Args:
        about: a name or a relation; None for those who speak.
    """

    def __init__(self, about: str | None) -> None:
        name = (about or "").casefold()
        self._wanted = {f"name:{name}", f"relation:{name}"} if about else None
        self._newest: dict[tuple[str, int, float], list[_Row]] = {}
        self._surest: dict[tuple[str, int], tuple[float, int]] = {}
        self._anybody_speaks = False

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Take in rows: number, when it was said, and its packed statements."""
        for number, said, packed in rows:
            for each in unpack(packed):
                if each.chance >= TIERS[0] and self._may_be_told(each.subject.split("+")):
                    self._add((said, number), each)

    def numbers(self) -> list[int]:
        """Return the rows that were picked."""
        subjects = self._told({key[0] for key in self._surest})
        picked = {number for key, rows in self._newest.items() if key[0] in subjects for _, number in rows}
        picked |= {number for key, (_, number) in self._surest.items() if key[0] in subjects}
        return sorted(picked)

    def _may_be_told(self, subject: Sequence[str]) -> bool:
        """Whether a subject's values can be told; as soon as somebody speaks of themselves, nobody else's are held."""
        if self._wanted is not None:
            return not self._wanted.isdisjoint(subject)
        if SELF in subject and not self._anybody_speaks:
            self._anybody_speaks = True
            self._newest.clear()
            self._surest.clear()
        return SELF in subject or not self._anybody_speaks

    def _add(self, row: _Row, stated: PackedStatement) -> None:
        chance = stated.chance
        key = (stated.subject, stated.attributes[0])
        for tier in TIERS:
            if chance >= tier:
                newest = self._newest.setdefault((*key, tier), [])
                (heappush if len(newest) < NEWEST else heappushpop)(newest, row)
        self._surest[key] = max(self._surest.get(key, (0.0, 0)), (chance, row[1]))

    def _told(self, subjects: set[str]) -> set[str]:
        """Return whose values are told: those who speak; where nobody speaks of themselves, whom most is told of."""
        return subjects if self._wanted is not None or self._anybody_speaks else self._told_most(subjects)

    def _told_most(self, subjects: set[str]) -> set[str]:
        told = Counter[str]()
        for (subject, _, _), rows in self._newest.items():
            told.update({name: len(rows) for name in _names(subject.split("+"))})
        most = {name for name, _ in told.most_common(1)}
        return {subject for subject in subjects if most & _names(subject.split("+"))}


def _names(subject: Sequence[str]) -> set[str]:
    return {key for key in subject if key.startswith("name:")}
