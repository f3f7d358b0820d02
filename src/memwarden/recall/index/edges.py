"""The relations of a namespace in RAM."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from memwarden.recall.index.columns import GrowingArray
from memwarden.recall.index.view import RelatedEdges
from memwarden.records import Edge, RelationType

_End = tuple[str, str, bool]
"""The memory at the other end, the type, and whether the edge goes there."""

_NONE: Mapping[_End, float] = MappingProxyType({})
_BYTES = 350  # an edge, kept at both of its ends


class Edges:
    """The relations between memories, each known at both of its ends."""

    def __init__(self) -> None:
        self._of: dict[str, dict[_End, float]] = {}
        self._count = 0
        self._number: dict[str, int] = {}  # of each memory at an end of a related_to edge
        self._row: dict[tuple[str, str], int] = {}
        self._ends = GrowingArray(np.int64, 2)
        self._strength = GrowingArray(np.float32)  # 0 for an edge that was taken away

    def follow(self, changed: Iterable[Edge]) -> None:
        """Take in edges that are new or changed, and drop those that were taken away."""
        new: list[Edge] = []
        for edge in changed:
            for item, other, goes in ((edge.from_id, edge.to_id, True), (edge.to_id, edge.from_id, False)):
                ends = self._of.setdefault(item, {})
                before = len(ends)
                if edge.live:
                    ends[other, edge.type, goes] = edge.strength
                else:
                    ends.pop((other, edge.type, goes), None)
                self._count += len(ends) - before
            if edge.type == RelationType.RELATED_TO:
                key = (edge.from_id, edge.to_id)
                if key in self._row:
                    self._strength.array[self._row[key]] = edge.strength if edge.live else 0
                elif edge.live:
                    self._row[key] = len(self._row)
                    new.append(edge)
        self._append(new)

    def of(self, memory_id: str) -> dict[tuple[str, str], float]:
        """Return the other end and the type of a memory's edges, with the larger strength where there are two ways."""
        found: dict[tuple[str, str], float] = {}
        for (other, kind, _), strength in self._of.get(memory_id, _NONE).items():
            found[other, kind] = max(strength, found.get((other, kind), 0.0))
        return found

    def touches(self, ids: Collection[str]) -> bool:
        """Whether any of these memories has or had an edge."""
        return not self._of.keys().isdisjoint(ids)

    def list_related(self, place_of: Mapping[str, int]) -> RelatedEdges | None:
        """Return the ``related_to`` edges between memories that have a place; None when there are none."""
        if not self._row:
            return None
        places = np.fromiter((place_of.get(item, -1) for item in self._number), np.int64, len(self._number))
        ends, strengths = places[self._ends.array], self._strength.array
        there = (ends >= 0).all(axis=1) & (strengths > 0)
        if not there.any():
            return None
        ends, strengths = ends[there], strengths[there]
        own, others = np.concatenate((ends[:, 0], ends[:, 1])), np.concatenate((ends[:, 1], ends[:, 0]))
        order = np.argsort(own, kind="stable")
        own = own[order]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        return RelatedEdges(own[starts], starts, own, others[order], np.concatenate((strengths, strengths))[order])

    def _append(self, edges: list[Edge]) -> None:
        if edges:
            number = self._number
            ends = [[number.setdefault(item, len(number)) for item in (edge.from_id, edge.to_id)] for edge in edges]
            self._ends.extend(ends)
            self._strength.extend([edge.strength for edge in edges])

    def __len__(self) -> int:
        return self._count // 2

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return _BYTES * self._count
