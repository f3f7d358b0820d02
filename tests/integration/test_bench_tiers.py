"""``bench speed --tiers``: memwarden's three tiers beside LangGraph's store, both for real."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from memwarden.models.wordllama import shared_embedder
from memwarden.text.tokenizer import estimate
from memwarden_bench import report, speed, tier_systems, tiers
from memwarden_bench.app import app
from memwarden_bench.tier_systems import TIER_SYSTEMS, LangGraphTiers, Tiers, TiersOnDisk
from memwarden_bench.tiers import TiersReport

TEXTS = ["Ana keeps bees.", "Tom repairs old clocks.", "The ferry leaves at nine."]
NAMES = {item for item, _, _ in tiers.READS} | {"single add", "add, each of many", "memory", "empty"}


@pytest.fixture(scope="module")
def found() -> TiersReport:
    return tiers.measure(
        [12], 1, None, 120, lambda n: speed.texts_of(None, n), lambda n: speed.asked_of(None, n), lambda what: None
    )


@pytest.mark.soak
def test_every_system_is_measured_in_everything(found: TiersReport) -> None:
    assert found.remarks == []
    assert {figure.name for figure in found.figures} == NAMES
    for figure in found.figures:
        assert figure.rounds.keys() == TIER_SYSTEMS.keys()
        assert all(value > 0 for values in figure.rounds.values() for value in values)
        assert figure.ratios[tiers.BASE].median == 1
    page = "\n\n".join(tiers.markdown(found))
    assert "### 12 items a tier" in page
    assert page.count("×)") == 2 * len(NAMES)


@pytest.mark.soak
def test_the_report_goes_with_that_of_speed(found: TiersReport) -> None:
    made = speed.SpeedReport({}, "wordllama", "x", 1.0, 2.0, [], None, tiers=found)
    assert "## Three tiers" in report.speed_markdown(made)
    told = json.loads(report.to_json(made))["tiers"]
    assert [item["name"] for item in told["figures"]] == [figure.name for figure in found.figures]


@pytest.mark.parametrize("kind", [Tiers, TiersOnDisk, LangGraphTiers])
def test_all_do_the_same_work(kind: type, tmp_path: object) -> None:
    system = kind(tmp_path, shared_embedder())
    system.open()
    for tier in ("task", "project", "global"):
        system.add(tier, TEXTS)
    assert system.ask("project", "When does the boat go?")[0] == TEXTS[2]
    assert sorted(system.ask("decisions", "")) == sorted(TEXTS)
    for question in ("", "When does the boat go?"):
        (text,) = system.ask("context", question)
        assert estimate(text) <= tier_systems.BUDGET
        assert text.count("ferry") == 3
    system.close()


def test_one_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {name: replace(kind, packages=("no-such-package",)) for name, kind in TIER_SYSTEMS.items()}
    monkeypatch.setattr(tiers, "TIER_SYSTEMS", kinds)
    found = tiers.measure([1], 1, None, 60, lambda n: ["x"] * n, lambda n: ["x"] * n, lambda what: None)
    assert len(found.remarks) == 3
    assert "not installed: pip install no-such-package" in "\n".join(tiers.markdown(found))


@pytest.mark.soak
def test_the_command(monkeypatch: pytest.MonkeyPatch, found: TiersReport) -> None:
    given = []

    def measured(sizes: list[int], rounds: int, *rest: object) -> TiersReport:
        given.append((sizes, rounds))
        return found

    monkeypatch.setattr(tiers, "measure", measured)
    monkeypatch.setattr(speed, "start_up", lambda: (1.0, 2.0))
    monkeypatch.setattr(speed, "measure_size", lambda rows, *rest, **named: speed.SizeFigures(rows, *[1.0] * 21))
    words = ["speed", "--no-peers", "--size", "5", "--tiers", "--rounds", "1"]
    result = CliRunner().invoke(app, [*words, "--tier-size", "7"], catch_exceptions=False)
    assert given == [([7], 1)]
    assert "### 12 items a tier" in result.stdout
