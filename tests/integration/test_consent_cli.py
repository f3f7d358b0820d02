"""``memwarden consent`` as people use it, and its decisions in the journal."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from test_cli import Cli

from test_docs import ROOT


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process and in others choose the embedder alike."""
    monkeypatch.delenv("MEMWARDEN_EMBEDDER")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path, f"sqlite:///{tmp_path}/consent.db")


def test_from_a_proposal_to_the_decision(cli: Cli) -> None:
    cli("consent", "propose", "city=Lisbon", "goals_add=run", "goals_add=read", "pronouns=she/her")
    waiting = {item["value"]: item["id"] for item in cli.inside("consent", "list", "--json").json}
    assert waiting.keys() == {"Lisbon", "run", "read", "she/her"}
    assert cli.inside("consent", "context", "--json").json["city"] is None
    listed = cli.inside("consent", "list").out
    assert "city = Lisbon" in listed
    assert "a new goal, run" in listed
    assert "until " in listed
    assert "Approved: city = Lisbon." in cli.inside("consent", "approve", waiting["Lisbon"]).out
    assert "Declined: pronouns = she/her." in cli.inside("consent", "decline", waiting["she/her"]).out
    decided = cli.inside("consent", "approve", waiting["run"], "--json").json
    assert (decided["state"], decided["decided_by"], decided["way"]) == ("approved", "default", "cli")
    shown = " ".join(cli.inside("consent", "context").out.split())
    assert "preferred_name - pronouns - city Lisbon language - tone - goals run" in shown
    everything = cli.inside("consent", "list", "--state", "all").out
    assert everything.count("by default (cli)") == 3
    cli.inside("consent", "propose", "city=")
    assert "city = nothing, now Lisbon" in cli.inside("consent", "list").out
    assert "nothing to change" in cli.inside("consent", "propose", "city=Lisbon").out


def test_what_cannot_be_decided(cli: Cli) -> None:
    waiting = cli.inside("consent", "propose", "city=Lisbon", "--json").json["results"][0]["id"]
    assert "cannot consent" in cli.inside("consent", "approve", waiting, "--agent", "supervisor", code=4).err
    assert "no consent" in cli.inside("consent", "approve", "nonsense", code=3).err
    assert "not 'age'" in cli.inside("consent", "propose", "age=7", code=2).err
    assert "FIELD=VALUE" in cli.inside("consent", "propose", "city", code=2).err
    assert "twice" in cli.inside("consent", "propose", "city=a", "city=b", code=2).err
    assert "state is " in cli.inside("consent", "list", "--state", "open", code=2).err
    cli.inside("consent", "decline", waiting)
    assert "declined already by default (cli)" in cli.inside("consent", "approve", waiting, code=1).err
    assert "Nothing waits" in cli.inside("consent", "list").out


def test_a_mistyped_path_makes_no_store(tmp_path: Path) -> None:
    for words in (["list"], ["context"], ["approve", "x"], ["decline", "x"]):
        cli = Cli(tmp_path, f"sqlite:///{tmp_path}/none.db")
        assert "there is no store" in cli.inside("consent", *words, code=3).err
        assert not (tmp_path / "none.db").exists()


def test_a_proposal_that_is_made_again_waits_once(cli: Cli) -> None:
    example = runpy.run_path(str(ROOT / "examples/staying_true.py"))
    for _ in range(2):
        example["main"](cli.db)
    waiting = cli.inside("consent", "list", "--user", "ines", "--json").json
    assert [(item["value"], len(item["sources"])) for item in waiting] == [("Nessie", 1)]
    found = cli.inside("find", "--user", "ines", "--limit", "1000", "--json").json
    assert [item["text"] for item in found if "the mill" in item["text"].lower()] == [
        "The mill in Alcobaça grinds rye on Tuesdays and Fridays."
    ]
