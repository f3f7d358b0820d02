"""Programs written for mem0, with the import changed. tests/adapters compares with mem0 itself."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, InvalidInput, Warden
from memwarden.compat.mem0 import AsyncMemory, Memory

CONFIG = {"embedder": "none"}
UNMERGED = {"embedder": "none", "merging": "off"}
MOVIES = [
    {"role": "system", "content": "You are a helpful AI."},
    {"role": "user", "content": "I'm planning to watch a movie tonight. Any recommendations?"},
    {"role": "assistant", "content": "How about thriller movies? They can be quite engaging."},
    {"role": "user", "name": "Alice", "content": "I'm not a big fan of thriller movies but I love sci-fi movies."},
]
ALICE = {"user_id": "alice"}


@pytest.fixture
def memory(embedded_url: str) -> Iterator[Memory]:
    with Memory({"memwarden": {"url": embedded_url, **CONFIG}}) as memory:
        yield memory


def texts(answer: dict[str, Any]) -> list[str]:
    return [item["memory"] for item in answer["results"]]


def test_the_quick_start(memory: Memory) -> None:
    added = memory.add(MOVIES, user_id="alice", metadata={"category": "movies"})["results"]
    assert [(item["event"], item["role"]) for item in added] == [("ADD", "user"), ("ADD", "assistant"), ("ADD", "user")]
    assert added[2]["actor_id"] == "Alice"
    assert set(texts(memory.get_all(filters=ALICE))) == {message["content"] for message in MOVIES[1:]}
    best = memory.search("Which movies does Alice love?", filters=ALICE, top_k=3)["results"][0]
    assert best["memory"] == MOVIES[3]["content"]
    assert 0 < best["score"] <= 1
    item_id = best["id"]
    assert memory.update(item_id, "I love sci-fi movies.") == {"message": "Memory updated successfully!"}
    got = memory.get(item_id)
    assert got is not None
    assert got["memory"] == "I love sci-fi movies."
    assert [change["event"] for change in memory.history(item_id)] == ["ADD", "UPDATE"]
    assert memory.delete(item_id) == {"message": "Memory deleted successfully!"}
    assert memory.get(item_id) is None
    assert memory.delete_all(user_id="alice") == {"message": "Memories deleted successfully!"}
    assert memory.get_all(filters=ALICE) == {"results": []}


def test_the_shapes(memory: Memory) -> None:
    (added,) = memory.add("I keep two zebras.", user_id="alice", agent_id="vet", run_id="r1", metadata={"n": [1]})[
        "results"
    ]
    assert added == {"id": added["id"], "memory": "I keep two zebras.", "role": "user", "event": "ADD"}
    item = memory.get(added["id"])
    assert item is not None
    assert item == {
        "id": added["id"],
        "memory": "I keep two zebras.",
        "hash": hashlib.md5(b"I keep two zebras.").hexdigest(),
        "metadata": {"n": [1]},
        "score": None,
        "created_at": item["created_at"],
        "updated_at": item["created_at"],
        "user_id": "alice",
        "agent_id": "vet",
        "run_id": "r1",
        "role": "user",
    }
    (listed,) = memory.get_all(filters=ALICE)["results"]
    assert listed == {name: value for name, value in item.items() if name != "score"}
    (hit,) = memory.search("How many zebras?", filters=ALICE, explain=True)["results"]
    assert {name: hit[name] for name in listed} == listed
    assert set(hit) - set(listed) == {"score", "score_details"}
    (change,) = memory.history(added["id"])
    assert change == {
        "id": change["id"],
        "memory_id": added["id"],
        "old_memory": None,
        "new_memory": "I keep two zebras.",
        "event": "ADD",
        "created_at": item["created_at"],
        "updated_at": change["updated_at"],
        "is_deleted": False,
        "actor_id": None,
        "role": "user",
    }


def test_agents_and_runs_are_kept_apart_within_a_user(memory: Memory) -> None:
    memory.add("The vet saw the zebra.", user_id="alice", agent_id="vet", run_id="r1")
    memory.add("The cook fed the lion.", user_id="alice", agent_id="cook")
    memory.add("The trainer rests.", agent_id="vet")
    assert texts(memory.get_all(filters={**ALICE, "agent_id": "vet"})) == ["The vet saw the zebra."]
    assert texts(memory.get_all(filters={**ALICE, "run_id": "r1"})) == ["The vet saw the zebra."]
    assert len(memory.get_all(filters=ALICE)["results"]) == 2
    assert texts(memory.get_all(filters={"agent_id": "vet"})) == ["The trainer rests."]
    assert memory.get_all(filters={"user_id": "bob"})["results"] == []
    memory.delete_all(user_id="alice", agent_id="vet")
    assert texts(memory.get_all(filters=ALICE)) == ["The cook fed the lion."]
    memory.reset()
    assert memory.get_all(filters=ALICE)["results"] == memory.get_all(filters={"agent_id": "vet"})["results"] == []


def test_filters_select_lists_and_searches(memory: Memory) -> None:
    for year, topic in ((2022, "lion"), (2023, "zebra"), (2024, "zebra")):
        memory.add(f"In {year} the {topic} had a cub.", user_id="alice", metadata={"year": year, "topic": topic})
    for filters, years in (
        ({"topic": "zebra"}, {2023, 2024}),
        ({"year": {"gt": 2022}, "topic": {"contains": "zeb"}}, {2023, 2024}),
        ({"OR": [{"year": 2022}, {"year": 2024}]}, {2022, 2024}),
        ({"NOT": [{"topic": "zebra"}]}, {2022}),
        ({"topic": "none", "year": {"gt": 1}}, set()),
    ):
        listed = memory.get_all(filters={**ALICE, **filters})["results"]
        assert {item["metadata"]["year"] for item in listed} == years
        found = memory.search("When had an animal a cub?", filters={**ALICE, **filters}, threshold=0)["results"]
        assert {item["metadata"]["year"] for item in found} == years
    # More than is wanted is left out by the filter: those that fit are found all the same.
    assert len(memory.get_all(filters={**ALICE, "year": {"lt": 2023}}, top_k=1)["results"]) == 1


def test_what_expired_or_was_replaced_is_listed_on_request_only(memory: Memory) -> None:
    memory.add("I live in Rome.", user_id="alice")
    memory.add("I live in Paris.", user_id="alice")
    assert texts(memory.get_all(filters=ALICE)) == ["I live in Paris."]
    assert texts(memory.get_all(filters=ALICE, show_expired=True)) == ["I live in Paris.", "I live in Rome."]
    today = datetime.now(UTC).date()
    (added,) = memory.add("The pass is valid.", user_id="bob", expiration_date=today.isoformat())["results"]
    (item,) = memory.get_all(filters={"user_id": "bob"})["results"]
    assert item["expiration_date"] == today.isoformat()
    memory.update(added["id"], expiration_date=today + timedelta(days=9))
    (item,) = memory.get_all(filters={"user_id": "bob"})["results"]
    assert item["expiration_date"] == (today + timedelta(days=9)).isoformat()
    memory.update(added["id"], expiration_date=None)
    (item,) = memory.get_all(filters={"user_id": "bob"})["results"]
    assert "expiration_date" not in item


def test_a_text_that_is_known_is_not_doubled(memory: Memory) -> None:
    (first,) = memory.add("I am allergic to peanuts.", user_id="alice")["results"]
    (second,) = memory.add("I am allergic to peanuts.", user_id="alice")["results"]
    assert second == {**first, "event": "NONE"}


def test_metadata_is_added_and_identity_is_not_set_by_it(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    (added,) = memory.add("A zebra.", user_id="alice", metadata={"a": 1, "user_id": "bob"})["results"]
    memory.update(added["id"], metadata={"b": 2, "run_id": "other"})
    item = memory.get(added["id"])
    assert item is not None
    assert item["metadata"] == {"a": 1, "b": 2}
    assert item["user_id"] == "alice"
    assert "run_id" not in item
    assert "metadata['user_id'] is ignored" in caplog.text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda memory: memory.add("x"), "At least one of"),
        (lambda memory: memory.add("x", user_id=" "), "user_id"),
        (lambda memory: memory.add(7, user_id="a"), "messages must be"),
        (lambda memory: memory.add("x", user_id="a", expiration_date="soon"), "YYYY-MM-DD"),
        (lambda memory: memory.add("x", user_id="a", memory_type="procedural_memory"), "not supported"),
        (lambda memory: memory.search("x", user_id="a"), "Use filters"),
        (lambda memory: memory.get_all(user_id="a"), "Use filters"),
        (lambda memory: memory.search(" ", filters=ALICE), "non-empty"),
        (lambda memory: memory.search("x", filters=ALICE, top_k=-1), "top_k"),
        (lambda memory: memory.search("x", filters=ALICE, threshold=2), "threshold"),
        (lambda memory: memory.update("x"), "At least one of"),
        (lambda memory: memory.update("x", "y"), "not found"),
        (lambda memory: memory.delete("x@alice"), "not found"),
        (lambda memory: memory.delete_all(), "At least one of"),
        (lambda memory: memory.get(7), "memory_id"),
    ],
)
def test_what_mem0_refuses_is_refused(memory: Memory, call: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call(memory)
    assert memory.history("x@alice") == []


def test_a_configuration_of_mem0_is_named_where_it_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    config = {"llm": {"provider": "openai"}, "vector_store": {}, "memwarden": {"url": "memory://", **CONFIG}}
    with Memory.from_config(config) as memory:
        memory.add("A zebra.", user_id="alice")
    assert "llm, vector_store" in caplog.text


def test_an_open_warden_is_used_and_left_open() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        with Memory(warden=warden) as memory:
            memory.add("I keep two zebras.", user_id="alice")
        assert [item.text for item in warden.scope(user="alice").find()] == ["I keep two zebras."]


async def test_the_async_client_has_the_same_calls(tmp_path: Path) -> None:
    config = {"memwarden": {"url": f"sqlite:///{tmp_path / 'm.db'}", **CONFIG}}
    async with AsyncMemory.from_config(config) as memory:
        (added,) = (await memory.add("I keep two zebras.", user_id="alice"))["results"]
        (found,) = (await memory.search("How many zebras?", filters=ALICE))["results"]
        assert found["id"] == added["id"]
    for name in ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset"):
        blocking_call, awaited = getattr(Memory, name), getattr(AsyncMemory, name)
        assert inspect.signature(blocking_call) == inspect.signature(awaited)


class ZebraModel:
    """Stands in for a paid model: it writes down the same fact of the first message that it is shown."""

    name = "zebras"

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        self.calls += 1
        message = json.loads(prompt.splitlines()[1])
        fact = {"text": "Alice keeps two zebras.", "sources": [message["id"]], "category": "profile", "importance": 5}
        return json.dumps({"facts": [fact], "ended": [], "summary": None})


def test_a_chat_model_extracts_memories_and_the_turns_are_kept() -> None:
    model = ZebraModel()
    with Warden.open("memory://", {**CONFIG, "extraction": "off"}, chat_model=model) as warden:
        memory = Memory(warden=warden)
        said = [{"role": "user", "name": "Alice", "content": "i keep two zebras, by the way"}]
        (added,) = memory.add(said, user_id="alice", run_id="r1", metadata={"topic": "animals"})["results"]
        assert (added["memory"], added["event"]) == ("Alice keeps two zebras.", "ADD")
        (item,) = memory.get_all(filters={**ALICE, "run_id": "r1", "topic": "animals"})["results"]
        assert item["id"] == added["id"]
        (turn,) = warden.scope(user="alice").find({"channel": "turn"})
        assert turn.text == said[0]["content"]
        # The words themselves are stored without the model.
        memory.add("The zebras are called Ada and Bea.", user_id="alice", infer=False)
        assert model.calls == 1
        memory.delete_all(user_id="alice", run_id="r1")
        assert [item.text for item in warden.scope(user="alice").find()] == ["The zebras are called Ada and Bea."]


def test_files_of_mem0_are_read(tmp_path: Path) -> None:
    rows = [{"id": "1", "memory": "Ana is allergic to nuts", "user_id": "ana", "run_id": "r7", "metadata": {"p": 1}}]
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": rows}), "utf-8")
    with Warden.open(f"sqlite:///{tmp_path / 'own.db'}", config=CONFIG) as warden:
        warden.import_files(file)
        ours = Memory(warden=warden)
        (item,) = ours.get_all(filters={"user_id": "ana", "run_id": "r7"})["results"]
        assert (item["memory"], item["metadata"]) == ("Ana is allergic to nuts", {"p": 1})
        assert ours.search("What is Ana allergic to?", filters={"user_id": "ana", "p": 1})["results"]


PROGRAM = """
import sys
from memwarden.compat.mem0 import Memory
memory = Memory({"memwarden": {"url": sys.argv[1], "embedder": "none", "merging": "off"}})
for number in range(int(sys.argv[3])):
    (added,) = memory.add(f"{sys.argv[2]} keeps zebra {number}.", user_id="shared")["results"]
    print(added["id"], flush=True)
"""


@pytest.mark.soak
def test_two_processes_share_a_store_and_a_kill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    calm = subprocess.Popen([sys.executable, "-c", PROGRAM, url, "Ana", "10"], stdout=subprocess.PIPE, text=True)
    killed = subprocess.Popen([sys.executable, "-c", PROGRAM, url, "Bob", "100000"], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    acknowledged = [killed.stdout.readline().strip() for _ in range(5)]
    killed.kill()
    acknowledged += [line.strip() for line in killed.stdout if line.endswith("\n")]
    printed, _ = calm.communicate(timeout=60)
    killed.wait(timeout=60)
    killed.stdout.close()
    assert calm.returncode == 0
    with Memory({"memwarden": {"url": url, **UNMERGED}}) as memory:
        listed = {item["id"] for item in memory.get_all(filters={"user_id": "shared"}, top_k=10**6)["results"]}
    assert {*acknowledged, *printed.split()} <= listed


async def test_of_changes_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    config = {"memwarden": {"url": f"sqlite:///{tmp_path / 'm.db'}", **CONFIG}}
    async with AsyncMemory(config) as memory, AsyncMemory(config) as other:
        (added,) = (await memory.add("A zebra.", user_id="alice"))["results"]
        clients = [memory, other] * 6
        await asyncio.gather(*(client.update(added["id"], metadata={f"key{n}": n}) for n, client in enumerate(clients)))
        item = await other.get(added["id"])
        assert item is not None
        assert item["metadata"] == {f"key{n}": n for n in range(12)}


async def test_a_warden_of_the_other_kind_is_refused() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        with pytest.raises(InvalidInput, match="Warden"):
            Memory(warden=warden)  # type: ignore[arg-type]
        memory = AsyncMemory(warden=warden)
        assert (await memory.add("A zebra.", user_id="alice"))["results"]


def test_the_example_answers_from_memory() -> None:
    example = Path(__file__).parents[2] / "examples" / "mem0_chat.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", example], capture_output=True, text=True, timeout=60, check=True
    )
    assert "- I am allergic to hazelnuts." in done.stdout.splitlines()[-1]
