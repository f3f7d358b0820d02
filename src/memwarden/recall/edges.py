"""The relations of one namespace in RAM (B2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from memwarden.records import Edge

_NONE: Mapping[tuple[str, str], float] = MappingProxyType({})
_BYTES = 300  # an edge, kept at both of its ends


class Edges:
    """Which memory is related to which. An edge is known at both of its ends."""

    def __init__(self) -> None:
        self._of: dict[str, dict[tuple[str, str], float]] = {}
        self._count = 0

    def follow(self, changed: Iterable[Edge]) -> None:
        """Take in edges that are new or changed, and drop those that were taken away."""
        for edge in changed:
            for one, other in ((edge.from_id, edge.to_id), (edge.to_id, edge.from_id)):
                ends = self._of.setdefault(one, {})
                before = len(ends)
                if edge.live:
                    ends[other, edge.type] = edge.strength
                else:
                    ends.pop((other, edge.type), None)
                self._count += len(ends) - before

    def of(self, memory_id: str) -> Mapping[tuple[str, str], float]:
        """The other end and the type of each edge of a memory, with its strength."""
        return self._of.get(memory_id, _NONE)

    def pairs(self, type_: str) -> list[tuple[str, str, float]]:
        """Every edge of a type once in each direction: from, to, strength."""
        return [
            (one, other, strength)
            for one, ends in self._of.items()
            for (other, kind), strength in ends.items()
            if kind == type_
        ]

    def __len__(self) -> int:
        return self._count // 2

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return _BYTES * self._count
