"""Compares memwarden with its peers: the same texts, questions, vectors, machine and minutes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from memwarden_bench import metrics
from memwarden_bench.fresh import FreshInstall, TrialFailed, install, run_code
from memwarden_bench.replay import Tick
from memwarden_bench.rounds import Figure, Remark, Seat, SeatFailed, Sheet, Table, rotate
from memwarden_bench.systems import BASE, FLOOR, ITEMS, Kind

USERS = 100
ROWS = 100
"""One user's hundred memories among ten thousand."""
BATCHES = 10
"""Batches a round when a store is filled."""
QUESTIONS = 20
"""Questions a round."""
SINGLES = 5
"""Single adds a round, each with a question after it."""
SECONDS = 2.0
"""A system answers questions for so long a round, and at least three of them."""
STARTS = 5
START = "start"
PROBE_SECONDS = 10.0
"""After so long a system's speed is known well enough to tell that it will not be done in time."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A number of users with a number of memories each."""

    users: int
    rows: int

    @property
    def name(self) -> str:
        """The name under which figures of this layout are filed."""
        if self.users == 1:
            return f"{self.rows:,} memories in a single namespace"
        return f"a user's {self.rows:,} memories among {self.users * self.rows:,}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The parameters of a comparison.

    Attributes:
        rounds: how often every figure is taken. questions: at most so many a system and round.
        patience: seconds that a system may take to add the rows of a layout; a single order too.
        install: what to install for memwarden; every system is then weighed in a fresh environment. None: no.
        texts: makes so many texts. asked: makes so many questions.
    """

    embedder: str
    rounds: int
    questions: int
    patience: float
    folder: Path | None
    install: str | None
    texts: Callable[[int], Sequence[str]]
    asked: Callable[[int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class SystemResult:
    """A system of the comparison, described by :data:`~memwarden_bench.systems.ASPECTS`."""

    name: str
    version: str
    does: Sequence[str]


@dataclass(frozen=True, slots=True)
class Beside:
    """The results of a comparison."""

    systems: Sequence[SystemResult]
    layouts: Sequence[str]
    figures: Sequence[Figure]
    remarks: Sequence[Remark]
    installed: Mapping[str, FreshInstall]

    def figure(self, scenario: str, name: str) -> Figure | None:
        """Return a figure, if it was measured."""
        return next((figure for figure in self.figures if (figure.scenario, figure.name) == (scenario, name)), None)


def layouts_for(sizes: Sequence[int]) -> list[Layout]:
    """Return the layouts: a user among many, then every larger size in a single namespace."""
    return [Layout(USERS, ROWS), *(Layout(1, size) for size in sizes if size > ROWS)]


def compare(kinds: Sequence[Kind], layouts: Sequence[Layout], plan: Plan, tick: Tick = lambda what: None) -> Beside:
    """Measure every installed system in every layout."""
    sheet = Sheet()
    here = [kind for kind in kinds if not kind.missing]
    for kind in kinds:
        if kind.missing:
            said = f"not installed: pip install {' '.join(kind.missing)}, or pip install 'memwarden-bench[peers]'"
            sheet.remark(kind.name, "everything", said)
    measure_imports(here, sheet)
    tick("imports timed")
    for layout in layouts:
        measure(here, layout, plan, sheet, tick)
    weighed = dict(_weigh_installs(here, plan.install, sheet)) if plan.install else {}
    for figure in sheet.figures.values():
        figure.settle()
    systems = [SystemResult(kind.name, kind.version, kind.does) for kind in here]
    return Beside(systems, [layout.name for layout in layouts], list(sheet.figures.values()), sheet.remarks, weighed)


def steps(layouts: Sequence[Layout]) -> int:
    """Return the number of ticks of :func:`compare`."""
    return 1 + 4 * len(layouts)


def _weigh_installs(kinds: Sequence[Kind], memwarden: str, sheet: Sheet) -> Iterator[tuple[str, FreshInstall]]:
    once = cache(install)  # two ways to use a package share an install
    for kind in kinds:
        try:
            yield kind.name, once(*_requirements(kind, memwarden))
        except TrialFailed as failed:
            sheet.remark(kind.name, "install", str(failed).splitlines()[-1])


def _requirements(kind: Kind, memwarden: str) -> list[str]:
    return [memwarden if package == BASE else f"{package}=={version(package)}" for package in kind.packages]


def measure_imports(kinds: Sequence[Kind], sheet: Sheet) -> None:
    """Measure what importing each system adds to the start of an interpreter."""
    for number in range(STARTS + 1):
        bare = run_code("pass")
        model = run_code("from memwarden.models.wordllama import shared_embedder; shared_embedder().embed(['a'])")
        for kind in rotate(kinds, number):
            try:
                took = run_code(kind.imports)
            except TrialFailed as failed:
                sheet.remark(kind.name, START, str(failed).splitlines()[-1])
                continue
            if number:  # the first round only fills the disk cache
                sheet.note(START, "import", "ms", kind.name, took - bare)
        if number:
            sheet.note(START, "import", "ms", SHARED, model - bare)


SHARED = "the shared model, loaded"
"""What every fresh process pays before its first answer, whatever the system."""


def measure(kinds: Sequence[Kind], layout: Layout, plan: Plan, sheet: Sheet, tick: Tick) -> None:
    """Fill, query, extend and reopen every system's store of a layout."""
    with _table(kinds, layout, plan, sheet) as table:
        table.round(0, _open)
        _fill(table, layout, plan)
        tick(f"{layout.name}: filled")
        _ask(table, plan)
        tick(f"{layout.name}: asked")
        _add_and_ask(table, plan)
        if layout.users > 1:
            _ask_another_user(table, layout, plan)
        _weigh(table)
        tick(f"{layout.name}: added to")
        seats = [seat for seat in table.seats if seat.kind.keeps]
        _close(table)
        _reopen(seats, plan, sheet, layout.name)
        tick(f"{layout.name}: reopened")


@contextmanager
def _table(kinds: Sequence[Kind], layout: Layout, plan: Plan, sheet: Sheet) -> Iterator[Table]:
    with TemporaryDirectory(prefix="memwarden-bench-", dir=plan.folder) as place:
        homes = [Path(place) / str(number) for number in range(len(kinds))]
        seats = [
            Seat(kind, home, plan.embedder, seconds=plan.patience) for kind, home in zip(kinds, homes, strict=True)
        ]
        table = Table(layout.name, seats, sheet)
        try:
            yield table
        finally:
            table.stop()


def _open(seat: Seat) -> None:
    seat.do("open")


def _user(number: int) -> str:
    return f"user{number}"


def _batches(layout: Layout, rounds: int, texts: Sequence[str]) -> list[list[tuple[str, Sequence[str]]]]:
    """Yield for each round its rows as (user, texts) batches."""
    if layout.users > 1:
        whole = [(_user(user), texts[user * layout.rows : (user + 1) * layout.rows]) for user in range(layout.users)]
    else:
        size = max(1, -(-layout.rows // (rounds * BATCHES)))
        whole = [(_user(0), texts[start : start + size]) for start in range(0, layout.rows, size)]
    step = -(-len(whole) // rounds)
    return [whole[start : start + step] for start in range(0, len(whole), step)]


def _fill(table: Table, layout: Layout, plan: Plan) -> None:
    total = layout.users * layout.rows
    batches = _batches(layout, plan.rounds, plan.texts(total))
    spent: dict[str, float] = {}
    done = 0
    for number, batch in enumerate(batches):

        def fill(seat: Seat, batch: Sequence[tuple[str, Sequence[str]]] = batch, done: int = done) -> None:
            start = time.perf_counter()
            took, rows = 0.0, 0
            for user, texts in batch:
                took += float(seat.do("add", user=user, texts=texts)["ms"])
                rows += len(texts)
                so_far = spent.get(seat.kind.name, 0.0) + time.perf_counter() - start
                lose_patience(so_far, done + rows, total, plan.patience)
            spent[seat.kind.name] = so_far
            table.note("batch add, 100 rows", "ms", seat, 100 * took / rows)

        table.round(number, fill)
        done += sum(len(texts) for _, texts in batch)


def lose_patience(spent: float, rows: int, total: int, patience: float) -> None:
    expected = spent / rows * total
    if spent > min(PROBE_SECONDS, patience) and expected > patience:
        raise SeatFailed(
            f"left out: {total:,} rows would take it about {expected:,.0f} s to add ({rows:,} took {spent:,.0f} s), "
            f"and it had {patience:,.0f} s"
        )


def _ask(table: Table, plan: Plan) -> None:
    """Query a user whose memories were queried before."""
    asked = plan.asked(plan.questions * (plan.rounds + 1))
    answers: dict[str, list[list[str]]] = {}
    for number in range(plan.rounds + 1):
        mine = asked[number * plan.questions : (number + 1) * plan.questions]

        def ask(seat: Seat, mine: Sequence[str] = mine, warm: bool = number == 0) -> None:
            answer = seat.do("ask", user=_user(0), questions=mine, seconds=SECONDS)
            if not warm:
                table.note("query p50", "ms", seat, metrics.percentile(answer["times"], 0.5))
                table.note("query p95", "ms", seat, metrics.percentile(answer["times"], 0.95))
                answers[seat.kind.name] = answer["found"]

        table.round(number, ask)
        if number:
            _compare_answers(table, answers)


def _compare_answers(table: Table, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
    for seat in table.seats:
        found = answers.get(seat.kind.name, ())
        table.note("items", "", seat, metrics.mean([len(item) for item in found]))
        shares = [len({*item} & {*exact}) / ITEMS for item, exact in zip(found, answers.get(FLOOR, ()), strict=False)]
        if shares:
            table.note("of the exact ten", "share", seat, metrics.mean(shares))


def _add_and_ask(table: Table, plan: Plan) -> None:
    asked = plan.asked(plan.rounds * SINGLES)
    for number in range(plan.rounds):
        mine = asked[number * SINGLES : (number + 1) * SINGLES]
        texts = [f"note {number * SINGLES + place}: {question}" for place, question in enumerate(mine)]

        def turn(seat: Seat, texts: Sequence[str] = texts, mine: Sequence[str] = mine) -> None:
            answer = seat.do("add and ask", user=_user(0), texts=texts, questions=mine)
            table.note("single add", "ms", seat, metrics.percentile(answer["adds"], 0.5))
            table.note("query after an add", "ms", seat, metrics.percentile(answer["asks"], 0.5))

        table.round(number, turn)


def _ask_another_user(table: Table, layout: Layout, plan: Plan) -> None:
    """Query a user for the first time in this process."""
    for number, question in enumerate(plan.asked(min(plan.rounds, layout.users - 1)), start=1):

        def ask(seat: Seat, user: str = _user(number), question: str = question) -> None:
            answer = seat.do("ask", user=user, questions=[question], seconds=SECONDS)
            table.note("another user's first query", "ms", seat, answer["times"][0])

        table.round(number, ask)


def _weigh(table: Table) -> None:
    table.round(0, lambda seat: table.note("memory", "MB", seat, seat.do("memory")["now_mb"]))


def _close(table: Table) -> None:
    def close(seat: Seat) -> None:
        seat.do("close")
        if seat.kind.keeps:
            table.note("on disk", "MB", seat, seat.bytes_on_disk() / 2**20)

    table.round(0, close)
    table.stop()


def _reopen(seats: Sequence[Seat], plan: Plan, sheet: Sheet, scenario: str) -> None:
    """Open the store in a fresh process and answer a question."""
    seats = list(seats)
    for number, question in enumerate(plan.asked(STARTS)):
        for old in rotate(seats, number):
            try:
                _start_and_ask(old, question, plan, sheet, scenario)
            except SeatFailed as failed:
                sheet.remark(old.kind.name, scenario, f"in a fresh process, {failed}")
                seats.remove(old)


def _start_and_ask(old: Seat, question: str, plan: Plan, sheet: Sheet, scenario: str) -> None:
    start = time.perf_counter()
    seat = Seat(old.kind, old.store.parent, plan.embedder, seconds=plan.patience)
    try:
        seat.do("open")
        opened = time.perf_counter()
        seat.do("ask", user=_user(0), questions=[question], seconds=SECONDS)
        answered = time.perf_counter()
        memory = seat.do("memory")
        seat.do("close")
    finally:
        seat.stop()
    name = old.kind.name
    sheet.note(scenario, "fresh process to an open store", "ms", name, 1_000 * (opened - start))
    sheet.note(scenario, "fresh process to its first answer", "ms", name, 1_000 * (answered - start))
    sheet.note(scenario, "peak memory of a fresh process", "MB", name, memory["peak_mb"])
