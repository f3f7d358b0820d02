"""The comparison beside peers: the harness with what is always there, and every peer for real where it is installed."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from memwarden.errors import InvalidConfig
from memwarden.models.wordllama import shared_embedder
from memwarden_bench import beside, seat, sentences, speed
from memwarden_bench.app import app
from memwarden_bench.beside import Beside, Layout, Plan
from memwarden_bench.beside_report import beside_markdown, beside_plot, cell
from memwarden_bench.fresh import install
from memwarden_bench.rounds import Figure, Seat, SeatFailed, Sheet, Table, rotate
from memwarden_bench.systems import BASE, FLOOR, SYSTEMS, Floor, Kind, model

CROWD = Layout(3, 12)
ALONE = Layout(1, 40)
TOLD = ("query p50", "query p95", "batch add, 100 rows", "single add", "query after an add", "memory", "items")
KEPT = ("on disk", "fresh process to an open store", "fresh process to its first answer")


def plan(**changes: object) -> Plan:
    made = Plan(
        embedder="wordllama",
        rounds=2,
        questions=4,
        patience=60.0,
        folder=None,
        install=None,
        texts=lambda amount: speed.texts_of(None, amount),
        asked=lambda amount: speed.asked_of(None, amount),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def absent(name: str, *packages: str) -> Kind:
    return Kind(name, Floor, packages or ("numpy",), "pass", keeps=True, does=("", "", "", ""))


def told_of(found: Beside, layout: Layout, system: str) -> dict[str, int]:
    """How many rounds each figure of a system has."""
    return {
        figure.name: len(figure.rounds[system])
        for figure in found.figures
        if figure.scenario == layout.name
        if system in figure.rounds
    }


@pytest.fixture(scope="module")
def found() -> Beside:
    """memwarden and the floor, one peer that is not installed and one whose process fails at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beside, "STARTS", 1)
        kinds = [SYSTEMS[BASE], absent("ghost", "no-such-package-at-all"), SYSTEMS[FLOOR], absent("stranger")]
        return beside.compare(kinds, [CROWD, ALONE], plan())


@pytest.mark.soak
def test_every_figure_is_there_for_every_round(found: Beside) -> None:
    for system in (BASE, FLOOR):
        told = told_of(found, CROWD, system)
        assert {told[name] for name in ("query p50", "query p95", "batch add, 100 rows", "single add")} == {2}
        assert told["another user's first query"] == 2
        assert set(told_of(found, ALONE, system)) >= {*TOLD, *KEPT}
    timed = [figure for figure in found.figures if figure.scenario != beside.START]
    assert all(value > 0 for item in timed for values in item.rounds.values() for value in values)


@pytest.mark.soak
def test_all_give_ten_items_and_the_floor_gives_the_exact_ones(found: Beside) -> None:
    items = found.figure(ALONE.name, "items")
    share = found.figure(ALONE.name, "of the exact ten")
    assert items is not None
    assert items.rounds == {BASE: [10.0, 10.0], FLOOR: [10.0, 10.0]}
    assert share is not None
    assert share.rounds[FLOOR] == [1.0, 1.0]


@pytest.mark.soak
def test_who_is_missing_or_fails_is_named(found: Beside) -> None:
    remarks = {(remark.system, remark.scenario): remark.text for remark in found.remarks}
    assert "pip install no-such-package-at-all" in remarks["ghost", "everything"]
    assert remarks["stranger", CROWD.name] == "to open: KeyError: 'stranger'"
    text = "\n".join(beside_markdown(found))
    assert "| ghost | everything | not installed: pip install no-such-package-at-all" in text
    assert "| memwarden | memwarden " in text
    assert "×; " in text


@pytest.mark.soak
def test_the_comparison_can_be_drawn(found: Beside, tmp_path: Path) -> None:
    beside_plot(found, tmp_path / "beside.png")
    assert (tmp_path / "beside.png").read_bytes().startswith(b"\x89PNG")


def test_ratios_are_of_the_same_round() -> None:
    figure = Figure("here", "time", "ms", {BASE: [1.0, 2.0, 4.0], "other": [3.0, 2.0, 4.0]})
    figure.settle()
    assert figure.ratios["other"] == (1.0, 1.0, 3.0)
    assert figure.ratios[BASE] == (1.0, 1.0, 1.0)
    assert cell(figure, "other") == "3.00 (1.00×; 1.00×–3.00×)"
    assert cell(figure, BASE) == "2.00"
    assert cell(figure, "nobody") == "–"


def test_every_round_begins_with_another_one() -> None:
    assert [rotate("ABC", number) for number in range(4)] == [list("ABC"), list("BCA"), list("CAB"), list("ABC")]
    assert rotate([], 1) == []


def test_who_is_too_slow_is_left_out_and_told_how_long_it_would_take() -> None:
    beside.lose_patience(spent=5.0, rows=50, total=100, patience=10.0)
    with pytest.raises(SeatFailed, match=r"left out: 1,000 rows would take it about 110 s .*\(100 took 11 s\).* 20 s"):
        beside.lose_patience(spent=11.0, rows=100, total=1_000, patience=20.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beside, "STARTS", 1)
        result = beside.compare([SYSTEMS[FLOOR]], [CROWD], plan(patience=0.000001))
    assert any(remark.system == FLOOR for remark in result.remarks)


def test_an_order_that_takes_too_long_ends_the_process(tmp_path: Path) -> None:
    slow = Seat(SYSTEMS[FLOOR], tmp_path, "wordllama", seconds=0.01)
    with pytest.raises(SeatFailed, match="its process ended with -9, after 0 seconds at most"):
        slow.do("open")
    slow.stop()


def test_a_failing_seat_leaves_the_table_and_the_others_go_on(tmp_path: Path) -> None:
    sheet = Sheet()
    seats = [Seat(SYSTEMS[FLOOR], tmp_path / name, "wordllama", seconds=60) for name in "ab"]
    table = Table("here", seats, sheet)
    table.round(0, lambda item: table.note("open", "ms", item, item.do("open")["ms"]))
    with pytest.raises(SeatFailed, match="KeyError: 'nonsense'"):
        seats[0].do("nonsense")
    seats[0].process.kill()
    table.round(1, lambda item: table.note("open", "ms", item, item.do("open")["ms"]))
    table.stop()
    assert len(table.seats) == 1
    assert len(sheet.remarks) == 1
    assert len(sheet.figures["here", "open"].rounds[FLOOR]) == 3


def test_errors_do_not_tell_where_the_store_was(tmp_path: Path) -> None:
    (tmp_path / "store" / "floor.db").mkdir(parents=True)
    seat = Seat(SYSTEMS[FLOOR], tmp_path, "wordllama", seconds=60)
    with pytest.raises(SeatFailed, match="unable to open database file") as failed:
        seat.do("open")
    seat.stop()
    assert str(tmp_path) not in str(failed.value)


def test_the_floor_is_exact_and_keeps_what_it_was_given(tmp_path: Path) -> None:
    texts = speed.texts_of(None, 80)
    floor = Floor(tmp_path, shared_embedder())
    floor.open()
    floor.add("a", texts[:60])
    floor.add("b", texts[60:])
    for number in range(beside.SINGLES + 60):
        floor.ask("a", "a canoe")
        floor.add("a", [f"a canoe and the number {number}"])
    first = floor.ask("a", "a canoe")
    floor.close()
    held = [*texts[:60], *(f"a canoe and the number {number}" for number in range(beside.SINGLES + 60))]
    scores = shared_embedder().embed(held) @ shared_embedder().embed(["a canoe"])[0]
    assert set(first) == {held[place] for place in np.argsort(-scores)[:10]}
    again = Floor(tmp_path, shared_embedder())
    again.open()
    assert set(again.ask("a", "a canoe")) == set(first)
    assert len(again.ask("b", "a canoe")) == 10
    again.close()


def test_a_seat_refuses_other_machines_and_takes_local_sockets() -> None:
    with pytest.raises(ConnectionRefusedError, match="another machine"):
        seat.refuse_connections("socket.connect", (None, ("192.0.2.1", 80)))
    seat.refuse_connections("socket.connect", (None, "/tmp/socket"))
    seat.refuse_connections("open", ("file", "r", 0))
    assert hasattr(socket, "create_connection")


def test_no_two_texts_are_alike() -> None:
    texts = speed.texts_of(None, 3_000)
    assert len({*texts}) == 3_000
    assert len({message["content"] for message in sentences.turns(3_000)}) < 3_000


def test_peers_need_vectors() -> None:
    with pytest.raises(InvalidConfig, match="--no-peers"):
        model("none")


def test_layouts_are_one_user_among_many_and_the_larger_sizes_alone() -> None:
    assert [item.name for item in beside.layouts_for((100, 10_000))] == [
        "a user's 100 memories among 10,000",
        "10,000 memories in a single namespace",
    ]


@pytest.mark.soak
def test_speed_command_prints_the_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (beside, speed):
        monkeypatch.setattr(module, "STARTS", 1)
    monkeypatch.setattr(beside, "USERS", 2)
    monkeypatch.setattr(beside, "ROWS", 12)
    markdown, plot = tmp_path / "speed.md", tmp_path / "speed.png"
    asked = ("speed", "--size", "12", "--queries", "7", "--peer", "floor", "--rounds", "1", "--json")
    done = CliRunner().invoke(app, [*asked, "--markdown", str(markdown), "--plot", str(plot)])
    assert done.exit_code == 0, done.output
    compared = json.loads(done.stdout)["beside"]
    assert [item["name"] for item in compared["systems"]] == [BASE, FLOOR]
    (p50,) = (item for item in compared["figures"] if item["name"] == "query p50")
    assert p50["ratios"][FLOOR]["median"] > 0
    assert "### A user's 12 memories among 24" in markdown.read_text(encoding="utf-8")
    assert plot.with_stem("speed-beside").read_bytes().startswith(b"\x89PNG")


def test_speed_command_knows_its_peers() -> None:
    done = CliRunner().invoke(app, ["speed", "--peer", "nobody"])
    assert "no peer is called 'nobody'" in str(done.exception)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in (BASE, FLOOR)])
def test_every_peer_runs_and_gives_the_exact_items(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "STARTS", 1)
    result = beside.compare([SYSTEMS[BASE], SYSTEMS[FLOOR], SYSTEMS[name]], [CROWD, ALONE], plan())
    assert not result.remarks
    share = result.figure(ALONE.name, "of the exact ten")
    assert share is not None
    assert min(share.rounds[name]) > 0.95
    assert set(told_of(result, CROWD, name)) >= {*TOLD, *(KEPT if SYSTEMS[name].keeps else ())}


@pytest.mark.slow
def test_an_install_is_weighed() -> None:
    found = install("numpy")
    assert found.packages == 1
    assert 10 < found.size_mb < 200
