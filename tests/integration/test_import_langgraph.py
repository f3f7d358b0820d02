"""Conversations and items that LangGraph kept in SQLite or PostgreSQL come in with their times; no class is made."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ormsgpack
import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from memwarden import Warden
from memwarden.api import imports
from memwarden.errors import InvalidInput, NotFound, StoreUnavailable

CONFIG = {"embedder": "none", "extraction": "off"}


def answer(state: MessagesState) -> dict[str, Any]:
    return {
        "messages": [ToolMessage("4 degrees", tool_call_id="c"), AIMessage(f"Heard: {state['messages'][-1].content}")]
    }


def talk(file: Path, said: Mapping[str, tuple[str, ...]], serde: Any = None) -> list[dict[str, Any]]:
    """Run a graph for each thread of (user/thread); return the configurations of its checkpoints, the newest first."""
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    with SqliteSaver.from_conn_string(str(file)) as saver:
        if serde is not None:
            saver.serde = serde
        app = graph.compile(checkpointer=saver)
        config: Any = {}
        for place, texts in said.items():
            user, thread = place.split("/")
            config = {"configurable": {"thread_id": thread, "user_id": user}}
            for text in texts:
                app.invoke({"messages": [HumanMessage(text)]}, config)
        return [dict(state.config) for state in app.get_state_history(config)]


def open_warden() -> Warden:
    return Warden.open("memory://", config=CONFIG)


def test_conversations_of_a_saver_come_in_with_users_and_times(tmp_path: Path) -> None:
    file, before = tmp_path / "checkpoints.sqlite", datetime.now(UTC)
    talk(file, {"ana/t1": ("I live in Porto.", "My dog is called Rex."), "bo/t2": ("I keep bees.",)})
    with open_warden() as warden:
        done = warden.import_files(file)
        assert (done.formats, done.users, done.threads, done.stored) == (("langgraph",), ("ana", "bo"), 2, 6)
        assert done.skipped == {"messages of the role 'tool'": 3}
        turns = warden.scope(user="ana").find({"thread_id": "t1"}, order_by="created_at", descending=False)
        assert [(turn.role, turn.text) for turn in turns] == [
            ("user", "I live in Porto."),
            ("assistant", "Heard: I live in Porto."),
            ("user", "My dog is called Rex."),
            ("assistant", "Heard: My dog is called Rex."),
        ]
        times = [turn.created_at for turn in turns]
        assert before <= times[0] < times[1] < times[2] < times[3] <= datetime.now(UTC)
        again = warden.import_files(file)
        assert (again.stored, again.known) == (0, 6)


def test_what_was_said_on_another_branch_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.sqlite"
    states = talk(file, {"ana/t1": ("I live in Porto.", "I sold the car.")})
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    with SqliteSaver.from_conn_string(str(file)) as saver:  # goes back to before the car, and on from there
        first_answer: Any = states[3]
        graph.compile(checkpointer=saver).invoke({"messages": [HumanMessage("I bought a boat.")]}, first_answer)
    with open_warden() as warden:
        done = warden.import_files(file)
        texts = {turn.text for turn in warden.scope(user="ana").find({"channel": "turn"})}
    assert texts == {"I live in Porto.", "Heard: I live in Porto.", "I bought a boat.", "Heard: I bought a boat."}
    assert done.skipped["checkpoints of branches that are not shown"] == 3


def test_items_of_a_store_come_in_for_whom_their_namespace_names(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with SqliteStore.from_conn_string(str(file)) as store:
        store.setup()
        store.put(("memories", "ana"), "k1", {"content": "Ana keeps bees.", "room": "garden"})
        store.put(("memories", "bo"), "k1", {"count": 3})
    with open_warden() as warden:
        done = warden.import_files(file)
        assert (done.formats, done.stored, done.skipped) == (("langgraph",), 1, {"items without words": 1})
        (fact,) = warden.scope(user="ana").find({})
        assert (fact.text, fact.metadata["room"], fact.trust) == ("Ana keeps bees.", "garden", "external")
        assert abs((datetime.now(UTC) - fact.created_at).total_seconds()) < 600


def checkpoint_file(file: Path, kind: str, body: bytes, table: str = "TABLE checkpoints") -> Path:
    columns = "thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT"
    with closing(sqlite3.connect(file)) as db:
        db.execute(f"CREATE {table} ({columns}, checkpoint BLOB, metadata BLOB)")
        db.execute("INSERT INTO checkpoints VALUES ('t', '', 'c1', NULL, ?, ?, '{}')", (kind, body))
        db.commit()
    return file


def test_an_old_saver_wrote_json(tmp_path: Path) -> None:
    old = (
        b'{"ts": "2024-05-01T10:00:00+00:00", "channel_values": {"messages": [{"lc": 1, "type": "constructor", '
        b'"id": ["langchain", "schema", "messages", "HumanMessage"], '
        b'"kwargs": {"content": "I live in Porto.", "type": "human", "id": "m1"}}]}}'
    )
    with open_warden() as warden:
        warden.import_files(checkpoint_file(tmp_path / "old.db", "json", old), user="ana")
        (turn,) = warden.scope(user="ana").find({})
    assert (turn.text, turn.created_at) == ("I live in Porto.", datetime(2024, 5, 1, 10, tzinfo=UTC))


def test_a_class_that_the_file_names_is_not_made(tmp_path: Path) -> None:
    marked = tmp_path / "made"
    # What LangGraph's own reader would call: pathlib.Path(...).touch.
    call = ormsgpack.Ext(3, ormsgpack.packb(["pathlib", "Path", str(marked), "touch"]))
    said = {"type": "human", "content": "I live in Porto.", "id": "m1"}
    held = {"ts": "2024-05-01T10:00:00+00:00", "channel_values": {"messages": [call, said]}}
    with open_warden() as warden:
        done = warden.import_files(
            checkpoint_file(tmp_path / "hostile.db", "msgpack", ormsgpack.packb(held)), user="ana"
        )
    assert done.stored == 1
    assert not marked.exists()


def nested(depth: int) -> bytes:
    body = ormsgpack.packb(1)
    for _ in range(depth):
        body = ormsgpack.packb(ormsgpack.Ext(7, body))
    return body


@pytest.mark.parametrize(
    "body", [b"\xc1", b"", ormsgpack.packb([1]), nested(5_000)], ids=["byte", "none", "list", "deep"]
)
def test_a_damaged_checkpoint_is_refused_with_its_place(tmp_path: Path, body: bytes) -> None:
    with (
        open_warden() as warden,
        pytest.raises(InvalidInput, match=r"thread t, checkpoint c1 is (damaged|no checkpoint)"),
    ):
        warden.import_files(checkpoint_file(tmp_path / "damaged.db", "msgpack", body), user="ana")


class Reversed:
    """A cipher that anybody can undo."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


def test_an_encrypted_saver_is_refused_with_the_reason(tmp_path: Path) -> None:
    talk(
        tmp_path / "closed.db", {"ana/t1": ("I live in Porto.",)}, EncryptedSerializer(Reversed(), JsonPlusSerializer())
    )
    with open_warden() as warden, pytest.raises(InvalidInput, match="without encryption"):
        warden.import_files(tmp_path / "closed.db")


def test_other_databases_and_their_programs_are_not_read(tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    with Warden.open(f"sqlite:///{own}", config=CONFIG) as kept, open_warden() as warden:
        kept.scope(user="ana").remember("Ana keeps bees.")
        with pytest.raises(InvalidInput, match="none of the formats"):
            warden.import_files(own, user="ana")
    endless = tmp_path / "endless.db"
    with closing(sqlite3.connect(endless)) as db:
        db.execute(
            "CREATE VIEW store AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT 'm' AS prefix, i AS key, '{}' AS value, '2024-01-01' AS created_at FROM n"
        )
    with open_warden() as warden, pytest.raises(InvalidInput, match="none of the formats"):
        warden.import_files(endless, user="ana")
    torn = tmp_path / "torn.db"
    torn.write_bytes(own.read_bytes()[:5_000])
    with open_warden() as warden, pytest.raises(InvalidInput, match="SQLite database"):
        warden.import_files(torn, user="ana")


# --- PostgreSQL


@pytest.fixture
def database(new_database: Callable[[], str]) -> str:
    """A server's database with two conversations and two items, written by LangGraph itself."""
    url = new_database()
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        app = graph.compile(checkpointer=saver)
        for user, thread, texts in (
            ("ana", "t1", ("I live in Porto.", "My dog is called Rex.")),
            ("bo", "t2", ("I keep bees.",)),
        ):
            for text in texts:
                config: Any = {"configurable": {"thread_id": thread, "user_id": user}}
                app.invoke({"messages": [HumanMessage(text)]}, config)
    with PostgresStore.from_conn_string(url) as store:
        store.setup()
        store.put(("memories", "ana"), "k1", {"content": "Ana keeps bees.", "room": "garden"})
        store.put(("memories", "bo"), "k1", {"count": 3})
    return url


def test_a_saver_and_a_store_in_postgresql_come_in_by_their_url(database: str) -> None:
    before = datetime.now(UTC) - timedelta(minutes=10)
    with open_warden() as warden:
        planned = warden.import_files(database, dry_run=True)
        assert (planned.stored, warden.users()) == (7, [])
        done = warden.import_files(database)
        assert (done.formats, done.users, done.threads, done.stored) == (("langgraph",), ("ana", "bo"), 2, 7)
        assert done.skipped == {"messages of the role 'tool'": 3, "items without words": 1}
        turns = warden.scope(user="ana").find({"thread_id": "t1"}, order_by="created_at", descending=False)
        assert [(turn.role, turn.text) for turn in turns] == [
            ("user", "I live in Porto."),
            ("assistant", "Heard: I live in Porto."),
            ("user", "My dog is called Rex."),
            ("assistant", "Heard: My dog is called Rex."),
        ]
        times = [turn.created_at for turn in turns]
        assert before <= times[0] < times[1] < times[2] < times[3] <= datetime.now(UTC)
        (fact,) = warden.scope(user="ana").find({"channel": "semantic"})
        assert (fact.text, fact.metadata["room"], fact.trust) == ("Ana keeps bees.", "garden", "external")
        again = warden.import_files(database)
        assert (again.stored, again.known) == (0, 7)


def test_a_later_message_in_postgresql_and_an_item_that_changed_are_all_that_comes_in_again(database: str) -> None:
    with open_warden() as warden:
        warden.import_files(database)
        graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
        with PostgresSaver.from_conn_string(database) as saver:
            graph.compile(checkpointer=saver).invoke(
                {"messages": [HumanMessage("I sold the car.")]}, {"configurable": {"thread_id": "t1", "user_id": "ana"}}
            )
        with PostgresStore.from_conn_string(database) as store:
            store.put(("memories", "ana"), "k1", {"content": "Ana keeps wasps.", "room": "garden"})
        again = warden.import_files(database)
        assert (again.stored, again.known, again.ended) == (3, 6, 1)


def test_a_database_that_cannot_be_read_says_why_without_its_login(database: str) -> None:
    with open_warden() as warden:
        with psycopg.connect(database) as db:
            db.execute("UPDATE checkpoint_blobs SET blob = '\\xc1' WHERE channel = 'messages' AND thread_id = 't2'")
        with pytest.raises(InvalidInput, match=r"thread t2, checkpoint .*messages is damaged"):
            warden.import_files(database)
        with psycopg.connect(database) as db:
            db.execute("UPDATE checkpoint_blobs SET type = 'msgpack+aes' WHERE thread_id = 't2'")
        with pytest.raises(InvalidInput, match="without encryption"):
            warden.import_files(database)
        with psycopg.connect(database) as db:
            db.execute("DROP TABLE checkpoint_blobs, store")
        with pytest.raises(InvalidInput, match="holds no tables of a LangGraph saver or store; nothing was imported"):
            warden.import_files(database)
        with pytest.raises(InvalidInput, match="a database is read as langgraph, not as 'csv'"):
            warden.import_files(database, format="csv")
        with pytest.raises(StoreUnavailable) as refused:
            warden.import_files("postgresql://ana:secret@127.0.0.1:1/none")
        assert ("127.0.0.1:1/none" in str(refused.value), "secret" in str(refused.value)) == (True, False)
        assert warden.users() == []
        with pytest.raises(NotFound):  # a path is never a URL: who may name a file may not name a server
            warden.import_files(Path(database))


def test_a_saver_that_goes_on_writing_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files have to stay as they were checked; SQLite gives whole states while a program writes."""
    file = tmp_path / "checkpoints.sqlite"
    talk(file, {"ana/t1": ("I live in Porto.",)})
    begin = imports.RecordWriter.__init__

    def write_meanwhile(*given: Any, **named: Any) -> None:
        talk(file, {"bo/t2": ("I keep bees.",)})
        begin(*given, **named)

    monkeypatch.setattr(imports.RecordWriter, "__init__", write_meanwhile)
    with open_warden() as warden:
        assert warden.import_files(file, user="ana").stored >= 2
