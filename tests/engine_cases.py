"""Chooses the engines of the tests above the store.

The tests of stores in ``conformance/`` hold the contract of each engine. Above the store, a test of several cases runs
each case on one engine, in turn. A test of one case runs on one of the stores in Python and on one of the databases.
The first such test of a file, and every test of races or isolation, runs on all. ``make soak`` runs the other cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest

IN_PYTHON = ("memory", "json")
DATABASES = ("sqlite", "postgres")
ABOVE_THE_STORE = ("tests/integration/", "tests/conformance/test_assembler.py", "tests/conformance/test_tiers.py")
ENGINES = (*IN_PYTHON, *DATABASES)
# Words in the names of tests of races and of isolation. Each engine has its own code for both.
ON_EVERY_ENGINE = ("at_once", "processes", "parallel", "concurrent", "race", "tenant", "of_another", "leak", "isolat")


def list_left_out(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Return the cases that repeat a rule on one more engine. A case that was selected alone is not among them."""
    complete = set[str]()
    candidates = [item for item in items if isinstance(item, pytest.Function) and _is_candidate(item)]
    for name, group in groupby(candidates, key=lambda item: item.nodeid.partition("[")[0]):
        by_case = _group_by_case(list(group))
        file = name.partition("::")[0]
        if len(by_case) == 1 and len(by_case[0]) > 2 and file not in complete:
            complete.add(file)
            continue
        turn = _number_in_file(next(iter(by_case[0].values())))
        choose = keep_one if len(by_case) > 1 else keep_of_each_kind
        for number, engines in enumerate(by_case):
            kept = choose(list(engines), turn + number)
            yield from (item for engine, item in engines.items() if engine not in kept)


def _is_candidate(item: pytest.Function) -> bool:
    return (
        item.nodeid.startswith(ABOVE_THE_STORE)
        and engine_of(item) is not None
        and not any(item.get_closest_marker(name) for name in ("soak", "slow"))
        and not any(word in item.originalname for word in ON_EVERY_ENGINE)
    )


def engine_of(item: pytest.Function) -> str | None:
    """Return the engine of a case, or ``None`` if it has none or several."""
    callspec = getattr(item, "callspec", None)
    names = [value for value in callspec.params.values() if value in ENGINES] if callspec else []
    return names[0] if len(names) == 1 else None


def _group_by_case(items: Sequence[pytest.Function]) -> list[dict[str, pytest.Function]]:
    """Return, for each case but for its engine, its tests by engine."""
    groups: dict[str, dict[str, pytest.Function]] = {}
    for item in items:
        engine = str(engine_of(item))
        case = "-".join(part for part in item.callspec.id.split("-") if part != engine)
        groups.setdefault(case, {})[engine] = item
    return list(groups.values())


def _number_in_file(item: pytest.Function) -> int:
    names = [name for name in vars(item.module) if name.startswith("test")]
    return names.index(item.originalname) if item.originalname in names else 0


def keep_one(engines: Sequence[str], turn: int) -> set[str]:
    """Return the engine whose turn it is."""
    in_order = [engine for engine in ENGINES if engine in engines]
    return {in_order[turn % len(in_order)]}


def keep_of_each_kind(engines: Sequence[str], turn: int) -> set[str]:
    """Return one store in Python and one database, or every engine if all are of one kind."""
    kinds = [[engine for engine in kind if engine in engines] for kind in (DATABASES, IN_PYTHON)]
    if not all(kinds):
        return set(engines)
    return {kind[(turn >> place) % len(kind)] for place, kind in enumerate(kinds)}
