"""``memwarden bench same-fact``: the figures of a constructed file are exactly right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memwarden.errors import InvalidInput
from memwarden_bench.app import app
from memwarden_bench.profiles import read_profiles
from memwarden_bench.same_fact import read_pairs

PAIRS = [
    ["Otto lives in Graz.", "otto lives in graz", "same", "paraphrase", "en"],
    ["Otto fell from his bike.", "A fall from the bike hurt Otto.", "same", "paraphrase", "en"],
    ["Otto weighs 80 kg.", "Otto weighs 82 kg.", "supersede", "number", "en"],
    ["Bea wohnt in Linz.", "Bea wohnt jetzt in Wien.", "supersede", "update", "de"],
    ["Bea is ill.", "Bea is not ill.", "different", "negation", "en"],
    ["Bea likes tea.", "bea likes tea", "link", "alike", "en"],
]


def test_counts_shares_and_errors(tmp_path: Path) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps(PAIRS), encoding="utf-8")
    written = tmp_path / "report.md"
    result = CliRunner().invoke(app, ["same-fact", str(file), "--json", "--markdown", str(written)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    total = found["total"]
    assert (total["pairs"], total["wrong_merges"], total["paraphrases_merged"]) == (6, 1, 0.5)
    assert (total["updates_recognised"], round(total["supersede_precision"], 3)) == (1, 0.667)
    assert total["outcomes"]["supersede"] == {"same": 0, "supersede": 2, "link": 0, "different": 0, "check": 0}
    assert found["by_language"]["de"]["pairs"] == 1
    assert found["by_category"]["negation"]["paraphrases_merged"] is None
    assert [(item["label"], item["judged"], item["rule"]) for item in found["errors"]] == [
        ("different", "supersede", "denied"),
        ("link", "same", "equal"),
    ]
    assert found["milliseconds_known"] > 0
    assert found["milliseconds_a_pair"] > 0
    page = written.read_text(encoding="utf-8")
    assert "| wrong merges | 1 |" in page
    assert "| paraphrases merged | 0.50 |" in page
    assert "- link, judged same (equal): 'Bea likes tea.' / 'bea likes tea'" in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "cannot be read as JSON"),
        ("{}", "holds no list of pairs"),
        ('[["a", "b", "same"]]', "pair 0 of pairs.json is not"),
        ('[["a", "b", "equal", "c", "en"]]', "has the label 'equal'; labels are same, supersede, link, different"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_pairs(file)


PROFILES = [
    {"who": "Otto", "facts": ["Otto lives in Graz.", "Otto lives in Linz.", "Otto likes tea.", "otto likes tea"]},
    {"who": "Bea", "lang": "en", "facts": ["Bea keeps bees in hive 3.", "Bea keeps bees in hive 4."]},
]


def test_facts_that_are_true_at_once_are_counted_when_they_are_lost(tmp_path: Path) -> None:
    file = tmp_path / "profiles.json"
    file.write_text(json.dumps(PROFILES), encoding="utf-8")
    written = tmp_path / "report.md"
    result = CliRunner().invoke(app, ["same-fact", "--profiles", str(file), "--json", "--markdown", str(written)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["profiles"], found["pairs"], found["wrong"]) == (2, 14, 4)
    assert found["lost"] == {"1: Otto": 2, "2: Bea": 0}
    assert {(item["old"], item["judged"]) for item in found["mistakes"]} == {
        ("Otto lives in Graz.", "supersede"),
        ("Otto lives in Linz.", "supersede"),
        ("Otto likes tea.", "same"),
        ("otto likes tea", "same"),
    }
    assert found["wrong_in_a_thousand"] == pytest.approx(1000 * 4 / found["near"])
    page = written.read_text(encoding="utf-8")
    assert "| facts lost when remembered whole | 2 |" in page
    assert "- Otto, judged supersede (new value): 'Otto lives in Graz.' / 'Otto lives in Linz.'" in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "cannot be read as JSON"),
        ("{}", "holds no list of profiles"),
        ('[{"who": "Otto", "facts": [1]}]', "profile 0 of profiles.json is not"),
        ('["Otto"]', "profile 0 of profiles.json is not"),
    ],
)
def test_a_file_that_holds_no_profiles_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "profiles.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=said):
        read_profiles(file)


def test_either_pairs_or_profiles_are_measured() -> None:
    result = CliRunner().invoke(app, ["same-fact"])
    assert isinstance(result.exception, InvalidInput)
