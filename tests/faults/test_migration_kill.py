"""``memwarden migrate`` is stopped before each trip to the server, and the next run makes the same tables and rows.

The target begins as an empty database, so the trips are those of the schema, of Citus' distribution, and of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memwarden_bench.citus_cluster import CitusCluster
from stopped_migration import KILLED, Migration, fill_source, migrating


@pytest.fixture
def source(tmp_path: Path) -> str:
    """The URL of a store to move."""
    return fill_source(tmp_path)


def check_stops(migration: Migration, which: Callable[[int], range], hows: tuple[str, ...] = ("kill", "cut")) -> None:
    """Stop a migration at trips, finish it, and compare. which: the numbers of the trips, of so many."""
    code, trips = migration.run()
    wanted = migration.contents()
    assert code == 0
    assert wanted["memories"]
    stops = tries = 0
    for how in hows:
        for number in which(trips):
            migration.empty()
            code, made = migration.run(how, number)
            # Connections that end late make the number of trips differ by one or two.
            stopped = made >= number
            assert how == "cut" or (code == KILLED) == stopped
            stops, tries = stops + stopped, tries + 1
            assert migration.run()[0] == 0, (how, number)
            assert migration.contents() == wanted, (how, number)
    assert stops >= 0.9 * tries
    migration.empty()


def every(part: int, parts: int) -> Callable[[int], range]:
    """Return one of the parts of all trips."""
    return lambda trips: range(1 + part, trips + 1, parts)


def test_a_stopped_migration_to_postgresql_is_finished(source: str, new_database: Callable[[], str]) -> None:
    with migrating(source, new_database()) as migration:
        check_stops(migration, lambda trips: range(7, trips, trips // 3))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(12))
def test_a_migration_to_postgresql_is_stopped_at_every_trip(
    source: str, new_database: Callable[[], str], part: int
) -> None:
    with migrating(source, new_database()) as migration:
        check_stops(migration, every(part, 12))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(60))
def test_a_migration_to_citus_is_stopped_at_every_trip(source: str, citus: CitusCluster, part: int) -> None:
    with migrating(source, citus.new_database()) as migration:
        check_stops(migration, every(part, 60))
