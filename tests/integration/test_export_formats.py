"""Exports in formats of other programs: what a format has a place for comes back equal, the rest is counted."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from memwarden import Warden
from memwarden.api import exports
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden.stores.url import store_at

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
    told = subprocess.run(command, timeout=600, check=True, capture_output=True, text=True).stdout
    assert "(mem0): 1 memories, 0 turns." in told
    assert json.loads(file.read_text())["results"][0]["memory"] == "Ana keeps bees."


def test_a_long_thread_goes_on_in_further_notes(
    warden: Warden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import refuses notes of over 16 MB, and reads those of a thread in their order."""
    monkeypatch.setattr(exports, "MAX_NOTE", 3_000)
    said = [{"role": "user", "content": f"{number} " + "sea " * 40, "id": f"n{number}"} for number in range(120)]
    warden.scope(user="ana", thread="long").observe(said)
    for form, name in (("markdown", "vault"), ("markdown-zip", "v.zip")):
        warden.export_format(tmp_path / name, form, user="ana")
        with imported(tmp_path / name) as other:
            assert turns(other) == turns(warden)
            found = other.scope(user="ana").find({"thread_id": "long"}, order_by="written", descending=False, limit=200)
            assert [item.sources[0] for item in found] == [f"n{number}" for number in range(120)]
    notes = sorted((tmp_path / "vault/threads").glob("long*"))
    assert len(notes) > 5
    assert all(note.stat().st_size < 4_000 for note in notes)


def test_edges_between_pages_come_once(warden: Warden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = warden.export_format(tmp_path / "m1.json", "mem0", user="ana")
    warden.export_format(tmp_path / "g1.jsonl", "graph", user="ana")
    warden.export_format(tmp_path / "v1", "markdown", user="ana")
    monkeypatch.setattr(exports, "PAGE", 1)
    assert warden.export_format(tmp_path / "m2.json", "mem0", user="ana") == whole
    warden.export_format(tmp_path / "g2.jsonl", "graph", user="ana")
    warden.export_format(tmp_path / "v2", "markdown", user="ana")
    assert whole.left_out["links"] > 0
    assert (tmp_path / "m1.json").read_bytes() == (tmp_path / "m2.json").read_bytes()
    lines = [sorted((tmp_path / name).read_text("utf-8").splitlines()) for name in ("g1.jsonl", "g2.jsonl")]
    assert lines[0] == lines[1]
    notes = [
        {file.name: sorted(file.read_text("utf-8").splitlines()) for file in (tmp_path / name).rglob("*.md")}
        for name in ("v1", "v2")
    ]
    assert notes[0] == notes[1]


# Says how much more a second, larger export takes than a first, of each format.
_EXPORTED = """
import re, sys
from pathlib import Path
from memwarden import Warden

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

folder = Path(sys.argv[1])
with Warden.open(f"sqlite:///{folder / 'm.db'}", config={"embedder": "none", "extraction": "off"}) as warden:
    for form in ("bundle", "mem0", "graph", "markdown", "markdown-zip"):
        for user in ("little", "much"):
            before, file = peak(), folder / f"{form}-{user}"
            if form == "bundle":
                warden.export(file, user=user)
            else:
                warden.export_format(file, form, user=user)
        print(peak() - before)
"""


def _fill(url: str, user: str, count: int) -> None:
    """Write texts of 20 KB: as many statements as turns."""
    asyncio.run(_write(url, user, count))


async def _write(url: str, user: str, count: int) -> None:
    store, namespace, at = store_at(url), Namespace("default", f"user/{user}"), datetime(2024, 1, 1, tzinfo=UTC)
    await store.open()
    puts = [
        Put(
            Memory(f"{kind}{number}", namespace, f"{number} the sea " * 2000, created_at=at, updated_at=at,
                   channel=kind, user_id=user, role="user", thread_id="t", sources=(f"{number}",)),
            Signals(),
        )
        for kind in ("turn", "semantic") for number in range(count)
    ]  # fmt: skip
    for start in range(0, len(puts), 100):
        await store.apply(Batch(namespace, tuple(puts[start : start + 100]), at))
    await store.close()


def test_an_export_streams(tmp_path: Path) -> None:
    """16 MB of text take, held whole, that and more; page by page nothing beside the first page."""
    url = f"sqlite:///{tmp_path / 'm.db'}"
    _fill(url, "little", 110)
    _fill(url, "much", 400)
    ran = subprocess.run(
        [sys.executable, "-c", _EXPORTED, tmp_path], timeout=600, check=True, capture_output=True, text=True
    )
    assert (tmp_path / "mem0-much").stat().st_size > 7_500_000
    assert all(int(line) < 13_000 for line in ran.stdout.split()), ran.stdout


# Runs a command, and says how much memory it took at most, in KiB.
_COMMAND = """
import re, sys
from pathlib import Path
from memwarden.surfaces.cli.main import main

try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.soak
@pytest.mark.parametrize("form", ["bundle", "mem0", "graph", "markdown", "markdown-zip"])
def test_100_mb_go_out_in_300_mb(form: str, tmp_path: Path) -> None:
    """At defaults, by the command, of turns and statements of 20 KB."""
    url, file = f"sqlite:///{tmp_path / 'm.db'}", tmp_path / "out"
    _fill(url, "ana", 5_300 if form in ("mem0", "graph") else 2_650)  # a format without turns takes half of it
    chosen = () if form == "bundle" else ("--format", form)
    ran = subprocess.run(
        [sys.executable, "-c", _COMMAND, "export", file, "--user", "ana", *chosen, "--db", url],
        timeout=600, check=True, capture_output=True, text=True,
    )  # fmt: skip
    if file.is_dir():
        size = sum(note.stat().st_size for note in file.rglob("*.md"))
    elif form in ("bundle", "markdown-zip"):
        with ZipFile(file) as archive:
            size = sum(item.file_size for item in archive.infolist())
    else:
        size = file.stat().st_size
    assert size >= 100_000_000
    assert int(ran.stdout.split()[-1]) <= 300_000


_KILLED = """
import os, signal, sys
from pathlib import Path
from memwarden import Warden
from memwarden.stores.sqlite.store import SqliteStore

asked, ask = [], SqliteStore.get

async def get(self, *arguments, **options):
    asked.append(1)
    if len(asked) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return await ask(self, *arguments, **options)

SqliteStore.get = get
with Warden.open(sys.argv[1], config={"embedder": "none", "extraction": "off"}) as warden:
    warden.export_format(Path(sys.argv[2]), sys.argv[3], user="ana")
"""


@pytest.mark.parametrize(("form", "name"), [("mem0", "m.json"), ("markdown", "vault")])
def test_a_killed_export_leaves_nothing_under_its_name(form: str, name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    _fill(url, "ana", 300)
    killed = subprocess.run([sys.executable, "-c", _KILLED, url, tmp_path / name, form], timeout=600, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / name).exists()
    with Warden.open(url, config=CONFIG) as warden:
        assert warden.export_format(tmp_path / name, form, user="ana").memories == 300
