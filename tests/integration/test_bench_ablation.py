"""``bench ablation``: every part can be switched off and comes back, and ``bench everyday`` takes settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from memwarden import Warden
from memwarden_bench.ablation import EVERYTHING, PARTS, switch_off
from memwarden_bench.app import app

SAID = [
    ("I live in Ghent.", "2025-03-01"),
    ("My dentist is Dr Moser.", "2025-04-01"),
    ("We got the keys for our flat in Porto, we live here now.", "2025-09-01"),
    ("Thanks a lot!", "2025-09-02"),
]
QUESTION = "what's my home town"
FLAT = "where is our flat?"


def made_history(folder: Path, question: str = QUESTION, answer: str = "porto", evidence: str = "m2") -> str:
    threads = [
        {
            "id": f"t{number}",
            "messages": [{"id": f"m{number}", "role": "user", "content": text, "created_at": f"{day}T10:00:00Z"}],
        }
        for number, (text, day) in enumerate(SAID)
    ]
    asked: dict[str, Any] = {"id": "q", "q": question, "type": "current", "asked_at": "2026-01-01T00:00:00Z"}
    asked |= {"answer_keys": [[answer]], "evidence": [evidence]}
    path = folder / "home.json"
    path.write_text(json.dumps({"id": "home", "language": "en", "threads": threads, "questions": [asked]}))
    return str(path)


def test_every_part_is_put_back() -> None:
    real = {part: [getattr(place, name) for place, name, _ in put] for part, put in PARTS.items()}
    for part, put in PARTS.items():
        with switch_off(part):
            now = [getattr(place, name) for place, name, _ in put]
            assert all(there is idle for there, (_, _, idle) in zip(now, put, strict=True)), part
        assert [getattr(place, name) for place, name, _ in put] == real[part]


def test_what_is_switched_off_is_gone_from_answers() -> None:
    with Warden.open("memory://", {"embedder": "wordllama+multilingual"}) as warden:
        me = warden.scope(user="nora", thread="t")
        me.observe([{"role": "user", "content": text, "created_at": at} for text, at in SAID])

        def shown(part: str, question: str = QUESTION) -> list[str]:
            with switch_off(part):
                return [item.text for item in me.query(question, threshold=0, top_k=10).items]

        def figures(part: str) -> list[float]:
            with switch_off(part):
                found = me.query(FLAT, threshold=0, top_k=10)
                return [round(figure, 4) for figure in (found.confidence, *(item.score for item in found.items))]

        assert "Porto" in shown(EVERYTHING, FLAT)[0]
        asked = "thanks, when is the dentist?"
        assert "Thanks a lot!" not in " ".join(shown(EVERYTHING, asked))
        assert "Thanks a lot!" in " ".join(shown("a statement once, questions no answers", asked))
        for part in ("words", "maps from questions to answers", "the embedder"):
            assert figures(part) != figures(EVERYTHING), part


def run(*words: Any) -> Any:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_run_has_a_line_for_every_part_and_way(tmp_path: Path) -> None:
    rows = run("ablation", made_history(tmp_path), "--json", "--markdown", tmp_path / "parts.md")["rows"]
    assert {row["without"] for row in rows} == set(PARTS)
    assert len(rows) == 2 * len(PARTS)
    written = (tmp_path / "parts.md").read_text()
    assert "| the embedder |" in written
    assert "No setting does that" in written


def test_everyday_takes_settings(tmp_path: Path) -> None:
    """A limit that no message fits stops the run, a wrong name is refused."""
    where = made_history(tmp_path, "Who is my dentist?", "moser", "m1")
    words = ("everyday", where, "--no-peers", "--json", "--show", "all")
    plain = run(*words)["shown"][0]["block"]
    assert "Dr Moser" in plain
    narrow = CliRunner().invoke(app, [*words, "--set", "max_text_bytes=10"])
    assert "max_text_bytes" in narrow.output + str(narrow.exception)
    refused = CliRunner().invoke(app, [*words, "--set", "embeder=none"])
    assert refused.exit_code != 0
