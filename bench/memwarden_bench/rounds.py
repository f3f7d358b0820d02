"""Measures systems in turn, round by round, each in its own process on the same machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeVar

from memwarden.errors import MemwardenError
from memwarden_bench.systems import BASE, Kind

T = TypeVar("T")

QUIET: Mapping[str, str] = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "HF_HUB_OFFLINE": "1",
}
"""Nothing is told to anybody while it is measured."""


_BENCH = Path(__file__).parents[1]


class SeatFailed(MemwardenError, RuntimeError):
    """A system failed to execute an order; the message holds its error output."""


class Seat:
    """A system in a process of its own. See :mod:`memwarden_bench.seat`."""

    def __init__(self, kind: Kind, place: Path, embedder: str, *, seconds: float, checkout: Path | None = None) -> None:
        """place: a folder for this system and its store. seconds: the time limit of an order.

        checkout: a clone of memwarden whose code runs in place of the installed code.
        """
        self.kind = kind
        self.store = place / "store"
        self.store.mkdir(parents=True, exist_ok=True)
        self._seconds = seconds
        self._said = place / "stderr.txt"
        paths = {"PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(_BENCH)])} if checkout else {}
        setting = {"system": kind.name, "folder": str(self.store), "embedder": embedder}
        with self._said.open("a") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "memwarden_bench.seat", json.dumps(setting)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                env={**os.environ, **QUIET, "MEM0_DIR": str(place / "mem0"), "MEMWARDEN_EMBEDDER": embedder, **paths},
            )

    def do(self, what: str, **order: Any) -> dict[str, Any]:
        """Give an order and wait for its answer. Raises SeatFailed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watch = threading.Timer(self._seconds, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write(json.dumps({"do": what, **order}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise SeatFailed(f"to {what}: {self._last_words()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SeatFailed(f"to {what}: {self._without_paths(answer['error'])}")
        return answer

    def stop(self) -> None:
        """End the process; its store stays."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            with suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def bytes_on_disk(self) -> int:
        """The size of the store's files."""
        return sum(file.stat().st_size for file in self.store.rglob("*") if file.is_file())

    def _last_words(self) -> str:
        code = self.process.wait()
        lines = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = lines[-1] if lines else f"its process ended with {code}, after {self._seconds:.0f} seconds at most"
        return self._without_paths(said)

    def _without_paths(self, text: str) -> str:
        """Remove the store's temporary path from a message."""
        return text.replace(str(self.store.parent), "...")


class Spread(NamedTuple):
    """The median, minimum and maximum over the rounds."""

    median: float
    low: float
    high: float


@dataclass(slots=True)
class Figure:
    """A measured quantity: for each system a value a round.

    Rounds are paired: the n-th values of all systems were measured in direct succession.
    """

    scenario: str
    name: str
    unit: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    ratios: dict[str, Spread] = field(default_factory=dict)

    def middle(self, system: str) -> float:
        """Return the median over the rounds."""
        return median(self.rounds[system])

    def settle(self) -> None:
        """Compute the ratios after all measurements."""
        self.ratios = {name: found for name in self.rounds if (found := self.ratio(name)) is not None}

    def ratio(self, system: str, base: str = BASE) -> Spread | None:
        """Return the ratio to ``base``, round by round."""
        pairs = zip(self.rounds.get(system, ()), self.rounds.get(base, ()), strict=False)
        ratios = [mine / theirs for mine, theirs in pairs if theirs]
        return Spread(median(ratios), min(ratios), max(ratios)) if ratios else None


@dataclass(frozen=True, slots=True)
class Remark:
    """A note on a system for readers: missing, failed, or left out."""

    system: str
    scenario: str
    text: str


class Sheet:
    """Collects figures and remarks."""

    def __init__(self) -> None:
        self.figures: dict[tuple[str, str], Figure] = {}
        self.remarks: list[Remark] = []

    def note(self, scenario: str, name: str, unit: str, system: str, value: float) -> None:
        """Record a system's value of its next round."""
        figure = self.figures.setdefault((scenario, name), Figure(scenario, name, unit))
        figure.rounds.setdefault(system, []).append(value)

    def remark(self, system: str, scenario: str, text: str) -> None:
        """Record a remark."""
        self.remarks.append(Remark(system, scenario, text))


class Table:
    """The seats of a scenario. A failing seat is noted and gets no more turns."""

    def __init__(self, scenario: str, seats: Iterable[Seat], sheet: Sheet) -> None:
        self.scenario = scenario
        self.seats = list(seats)
        self.sheet = sheet

    def round(self, number: int, turn: Callable[[Seat], None]) -> None:
        """Give every seat its turn, beginning with a different seat each round."""
        for seat in rotate(self.seats, number):
            try:
                turn(seat)
            except SeatFailed as failed:
                self.leave(seat, str(failed))

    def leave(self, seat: Seat, why: str) -> None:
        """Take a seat out of this scenario."""
        self.sheet.remark(seat.kind.name, self.scenario, why)
        self.seats.remove(seat)
        seat.stop()

    def note(self, name: str, unit: str, seat: Seat, value: float) -> None:
        """Record a value of this scenario."""
        self.sheet.note(self.scenario, name, unit, seat.kind.name, value)

    def stop(self) -> None:
        """End all processes."""
        for seat in self.seats:
            seat.stop()


def rotate(all_of_them: Sequence[T], number: int) -> list[T]:
    """Return all values in order, beginning with a different value each time."""
    first = number % len(all_of_them) if all_of_them else 0
    return [*all_of_them[first:], *all_of_them[:first]]
