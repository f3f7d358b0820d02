"""Metadata of the caller's own, expiry, and the times of messages, on every store."""

from __future__ import annotations

import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.surfaces.cli.main import run

ABOUT = {"project": "kitchen", "year": 2024, "urgent": True, "people": ["Ana", "Tomas"], "at": {"floor": 2}}


def texts(found: Any) -> list[str]:
    return [item.text for item in found]


def test_metadata_comes_back_and_is_filtered_by(warden: Warden) -> None:
    me = warden.scope(user="ana")
    me.remember("The oven is repaired by Tomas in May.", metadata=ABOUT)
    me.remember("The shed is painted green by Ines.", metadata={"project": "garden", "year": 2025})
    me.remember("The oven of the neighbours is electric.")
    (memory,) = me.find({"metadata": {"project": "kitchen"}})
    assert dict(memory.metadata) == ABOUT
    assert texts(me.find({"metadata.year": {"$gte": 2025}})) == ["The shed is painted green by Ines."]
    assert texts(me.find({"metadata.people": "Tomas", "metadata.at.floor": 2})) == [memory.text]
    assert len(me.find({"metadata.project": {"$eq": None}})) == 1
    found = me.query("Who repairs the oven?", filters={"metadata.project": "kitchen"}, threshold=0, explain=True)
    assert texts(item.memory for item in found.items) == [memory.text]
    assert {cut.gate for cut in found.cut} == {"filter"}
    assert me.query("Who repairs the oven?", filters={"metadata.project": "attic"}).items == ()
    block = me.context({"role": "user", "content": "Who repairs the oven?"}, filters={"metadata": {"urgent": True}})
    assert texts(item.memory for item in block.items) == [memory.text]
    assert "kitchen" not in block.text


def test_messages_carry_metadata(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    said = {"role": "user", "content": "I keep bees on the roof."}
    me.observe([said | {"metadata": {"channel": "phone"}}, said | {"content": "The bees sleep in winter."}])
    assert texts(me.find({"metadata.channel": "phone"})) == ["I keep bees on the roof."]
    me.remember(said | {"content": "Ana sells honey.", "metadata": {"page": 3}}, metadata={"page": 1, "book": "b"})
    assert dict(me.find({"metadata.book": "b"})[0].metadata) == {"page": 3, "book": "b"}


def test_history_undo_and_the_past_know_metadata(warden: Warden) -> None:
    me = warden.scope(user="ana")
    memory_id = me.remember("The boiler is serviced every autumn.", metadata={"project": "house"}).results[0].id
    assert memory_id
    before = me.query("boiler", threshold=0).rev
    me.update(memory_id, metadata={"project": "attic"})
    assert texts(me.find({"metadata.project": "attic"}, as_of=before)) == []
    assert len(me.find({"metadata.project": "house"}, as_of=before)) == 1
    asked = {"filters": {"metadata.project": "house"}, "threshold": 0}
    assert me.query("boiler", **asked, as_of=before).items  # type: ignore[arg-type]
    assert not me.query("boiler", **asked).items  # type: ignore[arg-type]
    change = me.journal.history(memory_id)[-1]
    assert change.old
    assert change.new
    assert (dict(change.old.metadata), dict(change.new.metadata)) == ({"project": "house"}, {"project": "attic"})
    me.journal.undo(change.seq)
    assert dict(me.get(memory_id).metadata) == {"project": "house"}
    me.update(memory_id, clear=["metadata"])
    assert dict(me.get(memory_id).metadata) == {}


def test_paraphrases_are_merged_unless_their_metadata_disagree(warden: Warden) -> None:
    me = warden.scope(user="ana")
    me.remember("Ana works as a nurse.", metadata={"source_page": 1})
    assert me.remember("Ana works as a nurse.", metadata={"seen": "twice"}).results[0].outcome == "merged"
    assert dict(me.find()[0].metadata) == {"source_page": 1, "seen": "twice"}
    assert me.remember("Ana works as a nurse.", metadata={"source_page": 2}).results[0].outcome == "created"
    assert len(me.find({"metadata.source_page": [1, 2]})) == 2


def test_secrets_in_metadata_are_redacted(warden: Warden) -> None:
    me = warden.scope(user="ana")
    result = me.remember("The deploy runs at night.", metadata={"password": "hunter2-Xk9-qq", "n": [1]}).results[0]
    assert "secrets taken out" in result.reason
    assert "hunter2" not in str(me.find()[0].metadata)
    me.observe({"role": "user", "content": "The deploy ran.", "metadata": {"api_key": "sk-proj-" + "a1B2" * 12}})
    assert "a1B2a1B2" not in str([memory.metadata for memory in me.find()])


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("project=x", "mapping"),
        ({"a": object()}, "metadata.a"),
        ({"a": float("nan")}, "metadata.a"),
        ({1: "a"}, "names are texts"),
        ({"a": "x" * 70_000}, "bytes"),
        ({"a": 2**70}, "metadata.a"),
    ],
)
def test_what_is_no_metadata_is_refused_and_nothing_written(metadata: Any, words: str) -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        with pytest.raises(InvalidInput, match=words):
            me.remember("Ana works as a nurse.", metadata=metadata)
        with pytest.raises(InvalidInput, match="metadata"):
            me.observe({"role": "user", "content": "Ana works as a nurse.", "metadata": metadata})
        nested: Any = {}
        for _ in range(3_000):
            nested = {"a": nested}
        with pytest.raises(InvalidInput, match="deep"):
            me.remember("Ana works as a nurse.", metadata=nested)
        assert me.find() == []
        with pytest.raises(InvalidFilter, match=r"metadata\.<name>"):
            me.find({"project": "x"})
        for filters in ({"metadata": "x"}, {'metadata.a"b': 1}, {"metadata.a": {"$like": "x"}}, {"metadata.a": [None]}):
            with pytest.raises(InvalidFilter):
                me.find(filters)


def test_what_expires_is_in_no_answer_afterwards(warden: Warden, monkeypatch: pytest.MonkeyPatch) -> None:
    from memwarden import clock

    me = warden.scope(user="ana")
    me.remember("Ana lives in Graz.")
    end = datetime.now(UTC) + timedelta(days=3)
    result = me.remember("Ana lives in Lisbon.", expires_at=end).results[0]
    assert result.outcome == "created", "what holds for a time neither ends nor takes up what holds for good"
    assert me.get(str(result.id)).valid_to == end
    assert "Ana lives in Graz." in texts(me.find())
    assert len(me.find()) == 2
    with pytest.raises(InvalidInput, match="expires_at"):
        me.remember("Ana lives in Rome.", expires_at="2001-01-01")
    monkeypatch.setattr(clock, "now", lambda: end)
    assert texts(me.find()) == ["Ana lives in Graz."]


def test_times_of_messages_are_read_under_the_names_people_use(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    forms: list[dict[str, Any]] = [
        {"created_at": at},
        {"timestamp": "2023-05-08T13:56:00Z"},
        {"timestamp": at.timestamp()},
        {"timestamp": int(at.timestamp() * 1000)},
        {"date": "2023-05-08", "time": "13:56"},
        {"time": "2023-05-08T15:56:00+02:00"},
        {"created_at": at, "timestamp": "1999-01-01"},
    ]
    result = me.observe([{"role": "user", "content": f"Note {n} of bees."} | form for n, form in enumerate(forms)])
    assert result.undated == 0
    assert {memory.created_at for memory in me.find()} == {at}
    me = warden.scope(user="bob", thread="t")
    vague: list[dict[str, Any]] = [{}, {"time": 0.35}, {"date": "Monday"}, {"time": "13:56"}, {"date": "2023-05-08"}]
    result = me.observe([{"role": "user", "content": f"Note {n} of bees."} | form for n, form in enumerate(vague)])
    assert result.undated == 4
    assert me.find(order_by="created_at", descending=False)[0].created_at == datetime(2023, 5, 8, tzinfo=UTC)


def cli(*words: str) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run(words)
    assert code == 0, (out.getvalue(), err.getvalue())
    return out.getvalue()


def test_a_file_says_how_many_of_its_messages_have_no_time(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "I keep bees on the roof.", "timestamp": "2023-05-08", "metadata": {"page": 7}},
        {"role": "assistant", "content": "Bees sleep in winter."},
    ]
    file, db = tmp_path / "chat.json", f"sqlite:///{tmp_path / 'a.db'}"
    file.write_text(json.dumps(rows))
    assert "1 has no time, or one that lies ahead, and counts as said now" in cli("observe", str(file), "--db", db)
    (memory,) = json.loads(cli("find", "--filter", "metadata.page=7", "--db", db, "--json"))
    assert (memory["created_at"][:10], memory["metadata"]) == ("2023-05-08", {"page": 7})


@pytest.mark.parametrize(("engine", "copy"), [("sqlite", "migrate"), ("postgres", "migrate"), ("sqlite", "backup")])
def test_metadata_moves_with_a_store(engine: str, copy: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    if engine == "postgres":
        url = str(request.getfixturevalue("postgres_url"))
    with Warden.open(url, config={}) as warden:
        warden.scope(user="ana").remember("The oven is repaired by Tomas.", metadata=ABOUT)
    target = f"sqlite:///{tmp_path / 'moved.db'}"
    if copy == "migrate":
        cli("migrate", "--from", url, "--to", target)
    else:
        cli("backup", "create", str(tmp_path / "a.mwbackup"), "--db", url)
        cli("backup", "restore", str(tmp_path / "a.mwbackup"), "--to", target)
    with Warden.open(target, config={}) as warden:
        (memory,) = warden.scope(user="ana").find({"metadata.project": "kitchen"})
        assert dict(memory.metadata) == ABOUT
