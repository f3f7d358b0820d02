"""Exports in formats of other programs: what a format has a place for comes back equal, the rest is counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import Memory

CONFIG = {"embedder": "none", "extraction": "off"}
TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "### I keep bees.\n%% not a comment %%\n\\back\nand a dog ", "id": "m1",
     "name": "Ana · B", "created_at": "2024-05-01T10:00:00Z", "metadata": {"page": "50 %%"}},
    {"role": "assistant", "content": "How many?\n", "id": "m2", "created_at": "2024-05-01T10:00:01Z"},
    {"role": "user", "content": "\n\nThree hives", "id": "m3", "created_at": "2024-05-01T10:01:00Z"},
]  # fmt: skip


@pytest.fixture
def warden() -> Any:
    with Warden.open("memory://", config=CONFIG) as opened:
        me = opened.scope(user="ana", thread="bees & dogs")
        me.observe(TURNS)
        facts = opened.scope(user="ana")
        facts.remember(
            "Ana lives in Lisbon.", kind="decision", importance=0.8, pinned=True, tags=["home", "#1"],
            summary="Lisbon", context="On the phone: \"so\"", created_at="2024-01-01", valid_from="2023-12-31",
            metadata={"page": 7, "deep": {"a": [1, None]}}, channel="episodic",
        )  # fmt: skip
        facts.remember("---\nThe key: under\r\nthe pot\n", created_at="2024-02-01", expires_at="2031-01-01")
        facts.remember("%% memwarden: links %% is what a note says", created_at="2024-03-01")
        facts.remember("Ana has a blue van with two beds.", created_at="2024-03-02")
        facts.remember("Ana has a blue van with two beds and a stove.", created_at="2024-03-03")
        facts.state.save("plan", {"day": 1})
        facts.state.save(
            "graph/entity/1", {"name": "Ana", "entityType": "person", "observations": ["sings"]}, trust="external"
        )
        gone = facts.remember("Ana had a cat.").results[0]
        facts.forget(str(gone.id))
        yield opened


def content(memory: Memory) -> tuple[Any, ...]:
    """What a statement says, but for who vouches for it and where it comes from."""
    held = {
        name: value
        for name, value in memory.metadata.items()
        if name not in ("document_id", "document_part", "document_ended")
    }
    names = ("text", "created_at", "valid_from", "valid_to", "channel", "kind", "category", "importance", "pinned",
             "tags", "summary", "context")  # fmt: skip
    return (*(getattr(memory, name) for name in names), json.dumps(held, sort_keys=True))


def statements(warden: Warden) -> list[tuple[Any, ...]]:
    found = warden.scope(user="ana").find({"channel": ["semantic", "episodic"]}, limit=50)
    return sorted((content(item) for item in found), key=str)


def turns(warden: Warden) -> list[tuple[Any, ...]]:
    found = warden.scope(user="ana").find({"channel": "turn"}, limit=50)
    names = ("text", "created_at", "role", "name", "thread_id", "sources", "payload")
    return sorted((tuple(getattr(item, name) for name in names) for item in found), key=str)


def imported(path: Path) -> Warden:
    other = Warden.open("memory://", config=CONFIG)
    other.import_files(path, user="ana")
    return other


@pytest.mark.parametrize(("form", "name"), [("mem0", "m.json"), ("markdown", "vault"), ("markdown-zip", "v.zip")])
def test_statements_come_back_equal(form: str, name: str, warden: Warden, tmp_path: Path) -> None:
    file = tmp_path / name
    done = warden.export_format(file, form, user="ana")
    assert (done.memories, done.left_out["saved values"]) == (5, 2)
    assert done.left_out["memories that were forgotten, merged or held back"] == 1
    with imported(file) as other:
        assert statements(other) == statements(warden)
    with pytest.raises(Conflict):
        warden.export_format(file, form, user="ana")


def test_a_vault_has_threads_and_links_that_obsidian_follows(warden: Warden, tmp_path: Path) -> None:
    done = warden.export_format(tmp_path / "vault", "markdown", user="ana")
    assert done.turns == 3
    notes = {file.stem: file.read_text("utf-8") for file in (tmp_path / "vault").rglob("*.md")}
    linked = [line for text in notes.values() for line in text.splitlines() if line.startswith("- [[")]
    assert linked
    assert all(line.partition("[[")[2].partition("]]")[0] in notes for line in linked)
    with imported(tmp_path / "vault") as other:
        assert turns(other) == turns(warden)
        vans = [item for item in other.scope(user="ana").find({}, limit=50) if "van" in item.text]
        assert {edge.type for item in vans for edge in other.scope(user="ana").relations(item.id)} >= {"links_to"}
        assert other.import_files(tmp_path / "vault", user="ana").stored == 0


def test_a_graph_carries_texts_relations_and_the_saved_graph(warden: Warden, tmp_path: Path) -> None:
    done = warden.export_format(tmp_path / "g.jsonl", "graph", user="ana")
    assert done.left_out == {
        "turns": 3, "saved values": 1, "tags, metadata and validity of statements": 2,
        "memories that were forgotten, merged or held back": 1,
    }  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text().splitlines()]
    assert rows[0] == {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["sings"]}
    assert {row["type"] for row in rows} == {"entity", "relation"}
    with imported(tmp_path / "g.jsonl") as other:
        texts = {item.text for item in other.scope(user="ana").find({"channel": "semantic"}, limit=50)}
        assert texts == {str(row[0]).strip() for row in statements(warden)} | {"Ana: sings"}
        other.export_format(tmp_path / "again.jsonl", "graph", user="ana")
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert [row for row in rows if row not in again] == []


def test_what_cannot_be_exported_is_refused(warden: Warden, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="format is one of mem0"):
        warden.export_format(tmp_path / "x", "word", user="ana")
    with pytest.raises(NotFound):
        warden.export_format(tmp_path / "x", "mem0", user="nobody")
    assert list(tmp_path.iterdir()) == []


def test_the_command_exports(tmp_path: Path) -> None:
    url, file = f"sqlite:///{tmp_path / 'm.db'}", tmp_path / "m.json"
    with Warden.open(url, config=CONFIG) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
    command = [sys.executable, "-m", "memwarden", "export", str(file), "--user", "ana", "--format", "mem0", "--db", url]
    told = subprocess.run(command, timeout=60, check=True, capture_output=True, text=True).stdout
    assert "(mem0): 1 memories, 0 turns." in told
    assert json.loads(file.read_text())["results"][0]["memory"] == "Ana keeps bees."
