"""``memwarden bench same-fact``: the figures of a constructed file are exactly right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memwarden.errors import InvalidInput
from memwarden.surfaces.bench.app import app
from memwarden.surfaces.bench.same_fact import read_pairs

PAIRS = [
    ["Otto lives in Graz.", "Otto resides in Graz.", "same", "paraphrase", "en"],
    ["Otto fell from his bike.", "A fall from the bike hurt Otto.", "same", "paraphrase", "en"],
    ["Otto is 31 years old.", "Otto is 32 years old.", "supersede", "number", "en"],
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
    assert [(one["label"], one["judged"], one["rule"]) for one in found["errors"]] == [
        ("different", "supersede", "negation"),
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
