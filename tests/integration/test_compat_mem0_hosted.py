"""Programs written for mem0's hosted client, with the import changed, against a running server."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from memwarden import InvalidInput, NotFound, StoreError
from memwarden.compat.mem0 import AsyncMemoryClient, Memory, MemoryClient
from server_process import ServerProcess

ALEX = {"user_id": "alex"}
SAID = [
    {"role": "user", "content": "Hi, I'm Alex. I'm a vegetarian and I'm allergic to nuts."},
    {"role": "assistant", "content": "Hello Alex! I've noted that you're a vegetarian and have a nut allergy."},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("mem0")
    with ServerProcess(f"sqlite:///{folder / 's.db'}", folder, "--embedder", "none", "--rate", "off") as server:
        yield server


@pytest.fixture
def client(server: ServerProcess) -> Iterator[MemoryClient]:
    with MemoryClient(host=server.url) as client:
        client.reset()
        yield client


def texts(answer: dict[str, Any]) -> list[str]:
    return [item["memory"] for item in answer["results"]]


def test_the_quick_start(client: MemoryClient) -> None:
    added = client.add(SAID, user_id="alex", metadata={"topic": "food"})["results"]
    assert [item["event"] for item in added] == ["ADD", "ADD"]
    best = client.search("What is Alex allergic to?", filters=ALEX)["results"][0]
    assert "allergic to nuts" in best["memory"]
    assert (best["user_id"], best["metadata"]) == ("alex", {"topic": "food"})
    assert client.update(best["id"], text="I'm allergic to nuts.", metadata={"sure": True}) == {
        "message": "Memory updated successfully!"
    }
    assert client.get(best["id"])["metadata"] == {"topic": "food", "sure": True}
    assert [change["event"] for change in client.history(best["id"])] == ["ADD", "UPDATE"]
    assert client.get_all(filters={"AND": [{"topic": "food"}], **ALEX})["count"] == 2
    assert client.delete(best["id"], delete_linked=True) == {"message": "Memory deleted successfully!"}
    with pytest.raises(NotFound):
        client.get(best["id"])
    assert client.delete_all(filters=ALEX) == {"message": "Memories deleted successfully!"}
    assert client.get_all(filters=ALEX) == {"count": 0, "next": None, "previous": None, "results": []}


def test_pages_dates_and_options(client: MemoryClient) -> None:
    names = ["zebra", "lion", "otter", "heron", "beaver"]
    for number, name in enumerate(names):
        options = SimpleNamespace(model_dump=lambda exclude_unset, n=number: {"timestamp": 1_700_000_000 + n * 86_400})
        client.add(f"The {name} came.", options, filters=ALEX)
    first = client.get_all(filters=ALEX, page=1, page_size=2)
    assert (first["count"], first["next"], first["previous"]) == (5, 2, None)
    last = client.get_all(filters=ALEX, page=3, page_size=2)
    assert (texts(last), last["next"], last["previous"]) == (["The zebra came."], None, 2)
    recent = client.get_all(filters=ALEX, start_date="2023-11-16", end_date="2023-11-18")
    assert texts(recent) == ["The heron came.", "The otter came."]
    assert len(client.search("What came?", {"top_k": 2, "threshold": 0.0}, filters=ALEX)["results"]) == 2


def test_entities_and_batches(client: MemoryClient) -> None:
    client.add("I keep two zebras.", user_id="alex", agent_id="vet")
    client.add("I keep a lion.", user_id="bob", run_id="r1")
    client.add("The zoo opens at nine.", agent_id="vet")
    listed = client.users()["results"]
    assert [(item["type"], item["name"], item["total_memories"]) for item in listed] == [
        ("agent", "vet", 2), ("run", "r1", 1), ("user", "alex", 1), ("user", "bob", 1),
    ]  # fmt: skip
    (zebras,) = client.get_all(filters=ALEX)["results"]
    client.batch_update([{"memory_id": zebras["id"], "text": "I keep three zebras."}])
    assert client.get(zebras["id"])["memory"] == "I keep three zebras."
    client.batch_delete([{"memory_id": zebras["id"]}])
    assert client.get_all(filters=ALEX)["count"] == 0
    client.delete_users(agent_id="vet")
    client.delete_users(user_id="bob")
    assert client.users()["results"] == []


def test_what_memwarden_lacks_is_refused(client: MemoryClient) -> None:
    for call in (
        lambda: client.add("I keep a lion.", user_id="alex", custom_categories=[]),
        lambda: client.add("I keep a lion."),
        lambda: client.search("lion", user_id="alex"),
        lambda: client.search("lion", filters=ALEX, keyword_search=True),
        lambda: client.get_all(filters=ALEX, page=0),
        lambda: client.update("unknown"),
        lambda: client.delete_all(filters={"topic": "food"}),
        lambda: client.delete_users(app_id="shop"),
    ):
        with pytest.raises(InvalidInput):
            call()


async def test_the_async_client_and_the_store_client_see_the_same(server: ServerProcess, client: MemoryClient) -> None:
    async with AsyncMemoryClient(host=server.url) as far:
        await far.add("I keep two zebras.", user_id="alex")
        assert texts(await far.search("How many zebras?", filters=ALEX)) == ["I keep two zebras."]
    with Memory({"memwarden": {"url": server.url}}) as memory:
        assert texts(memory.get_all(filters=ALEX)) == ["I keep two zebras."]
        memory.close()
        memory.close()


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(StoreError):
        MemoryClient(host="http://127.0.0.1:9")


@pytest.mark.parametrize("call", ["add", "delete_all"])
async def test_an_entity_that_is_named_in_two_ways_is_refused(call: str) -> None:
    client = AsyncMemoryClient()
    messages = ["I like tea."] if call == "add" else []
    with pytest.raises(InvalidInput, match="user_id"):
        await getattr(client, call)(*messages, user_id="bob", filters={"user_id": "ana"})


@pytest.mark.parametrize("conditions", [None, "x", {"user_id": "ana"}])
async def test_conditions_with_dates_are_a_list(conditions: Any) -> None:
    with pytest.raises(InvalidInput, match="AND"):
        await AsyncMemoryClient().get_all(filters={"AND": conditions}, start_date="2026-01-01")
