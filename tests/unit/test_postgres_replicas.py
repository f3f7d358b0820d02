"""A replica may answer if it has the primary's timeline and epoch, and at least its revision."""

from __future__ import annotations

import pytest

from memwarden.records import Head
from memwarden.stores.postgres.replicas import Position

PRIMARY = Position((7, 1), Head(5, 2))


@pytest.mark.parametrize(
    ("replica", "reaches"),
    [
        (Position((7, 1), Head(5, 2)), True),
        (Position((7, 1), Head(6, 2)), True),
        (Position((7, 1), Head(4, 2)), False),
        (Position((7, 1), Head(9, 1)), False),  # before an erasure
        (Position((7, 2), Head(5, 2)), False),
        (Position((8, 1), Head(5, 2)), False),
    ],
)
def test_a_replica_reaches_the_primary(replica: Position, reaches: bool) -> None:
    assert replica.reaches(PRIMARY) is reaches
