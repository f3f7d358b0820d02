"""The edges of design E's contract and of the stores below it: what it must not reach, what it must refuse."""

from __future__ import annotations

import stat
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memwarden import Warden
from memwarden.errors import Conflict, InvalidConfig, InvalidFilter, InvalidInput
from memwarden.filters import parse
from memwarden.records import Put, WriteMode
from memwarden.stores.memory.store import MemoryStore
from memwarden.testing.examples import NAMESPACE, SIGNALS, a_batch, a_memory, a_put
from memwarden.tiers.backend import ContextItem

WRITTEN = "written"
MAX_DEPTH = 100


def item(**fields: Any) -> ContextItem:
    given = {"context_item_id": "a", "kind": "note", "timestamp": "2020-01-01", "payload": {"text": "Bees swarm."}}
    return ContextItem(**{**given, **fields})


def nested(depth: int) -> dict[str, Any]:
    payload: dict[str, Any] = {"text": "deep"}
    for _ in range(depth - 1):
        payload = {"in": payload}
    return payload


def test_what_people_said_is_out_of_reach(warden: Warden) -> None:
    me, backend = warden.scope(user="ana", thread="t1"), warden.backend("user/ana")
    turn = str(me.observe({"role": "user", "content": "The stall opens at eight."}).results[0].id)
    assert backend.get(turn) is None
    assert backend.delete(turn) is False
    with pytest.raises(Conflict, match="by something that is no item"):
        backend.add(item(context_item_id=turn))
    backend.clear()
    assert me.get(turn).text == "The stall opens at eight."


def test_updated_at_is_when_it_was_written(warden: Warden) -> None:
    warden.backend("user/ana").add(item())
    (memory,) = warden.scope(user="ana").find()
    assert memory.created_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert datetime.now(UTC) - memory.updated_at < timedelta(minutes=1)


@pytest.mark.parametrize("user", ["u" * 256, "Jose\u0301", "a/b"])
def test_a_namespace_takes_the_names_that_a_scope_takes(warden: Warden, user: str) -> None:
    warden.scope(user=user).remember("Bees swarm in May.")
    assert warden.backend(f"user/{user}").count() == 1


@pytest.mark.parametrize("path", ["user/" + "u" * 257, "user/ ", "global/x", None, 5])
def test_other_paths_are_refused(warden: Warden, path: Any) -> None:
    with pytest.raises(InvalidInput):
        warden.backend(path)


def test_an_id_is_one_text_however_it_is_composed(warden: Warden) -> None:
    backend = warden.backend("global")
    backend.add(item(context_item_id="cafe\u0301"))
    assert backend.get("caf\u00e9") is not None
    assert backend.delete("cafe\u0301") is True


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3", None])
def test_a_semantic_limit_is_a_whole_number(warden: Warden, limit: Any) -> None:
    backend = warden.backend("global")
    backend.add(item())
    with pytest.raises(InvalidInput, match="whole number"):
        backend.query_semantic([1.0] * 128, limit)


@pytest.mark.parametrize(
    "embedding", [["1.5"] * 128, ["a"] * 128, "1" * 128, None, 5, [10**400] * 128, [1e300] * 128, [[1.0] * 128]]
)
def test_an_embedding_is_numbers(warden: Warden, embedding: Any) -> None:
    backend = warden.backend("global")
    backend.add(item())
    with pytest.raises(InvalidInput, match="embedding"):
        backend.query_semantic(embedding, 3)


def test_an_embedding_may_be_an_array(warden: Warden) -> None:
    backend = warden.backend("global")
    backend.add(item())
    array: Any = np.ones(128, dtype=np.float32)
    assert len(backend.query_semantic(array, 3)) == 1
    assert backend.query_semantic(array, 0) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"token_cost": -1},
        {"token_cost": 1.5},
        {"token_cost": True},
        {"token_cost": "6"},
        {"token_cost": 2**63},
        {"payload": None},
        {"payload": ["text"]},
        {"payload": "text"},
        {"payload": nested(MAX_DEPTH + 1)},
        {"payload": nested(100_000)},
        {"source": 5},
        {"importance": 10**400},
    ],
    ids=lambda fields: str(next(iter(fields))),
)
def test_a_wrong_item_is_refused(warden: Warden, fields: dict[str, Any]) -> None:
    backend = warden.backend("global")
    with pytest.raises(InvalidInput):
        backend.add(item(**fields))
    assert backend.count() == 0


def test_a_payload_of_the_greatest_depth_comes_back(warden: Warden) -> None:
    backend = warden.backend("global")
    backend.add(item(payload=nested(MAX_DEPTH), token_cost=0))
    found = backend.get("a")
    assert found is not None
    assert (found.payload, found.token_cost) == (nested(MAX_DEPTH), 0)


@pytest.mark.parametrize("order_by", [None, 5, ["timestamp"]])
def test_an_order_is_a_name(warden: Warden, order_by: Any) -> None:
    with pytest.raises(InvalidInput, match="order"):
        warden.backend("global").query({}, order_by=order_by)


def test_calls_with_values_of_other_types_are_refused(warden: Warden) -> None:
    anything: Any = warden
    me = anything.scope(user="ana")
    wrong_ids: list[Any] = [None, 5, [[]]]
    for wrong in wrong_ids:
        with pytest.raises(InvalidInput):
            me.forget(wrong)
    for name in ("channel", "kind", "category"):
        with pytest.raises(InvalidInput, match=name):
            me.remember("Bees swarm in May.", **{name: ["x"]})
    with pytest.raises(InvalidInput, match="category"):
        me.extract('["Bees swarm."]', category=["x"])
    with pytest.raises(InvalidInput, match="agent"):
        anything.scope(user="ana", agent=["x"])
    with pytest.raises(InvalidFilter, match="order"):
        me.find(order_by=["x"])
    with pytest.raises(InvalidFilter, match="mapping"):
        me.context({"role": "user", "content": "When do bees swarm?"}, filters=5)
    assert me.find() == []


@pytest.mark.parametrize("given", [{"url": 5}, {"config": 5}, {"config": {5: 1}}, {"config": {"file": "x"}}])
def test_opening_with_values_of_other_types_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfig):
        Warden.open(**{"url": "memory://", **given})


def test_participants_and_a_filter_of_characters_both_hold(warden: Warden) -> None:
    me = warden.scope(user="ana")
    me.remember("Ida sells honey at the stall in Bergen.", characters=["Ida"])
    me.remember("Ida and Tom sell honey at the stall in Oslo.", characters=["Ida", "Tom"])
    asked = {"role": "user", "content": "Who sells honey at the stall?"}
    block = me.context(asked, threshold=0.0, participants=["Ida"], filters={"characters": ["Tom"]})
    assert [len(item.memory.characters) for item in block.items] == [2]


def test_an_answer_with_odd_tags_and_summaries_is_kept(warden: Warden) -> None:
    me = warden.scope(user="ana")
    answer = '[{"content": "Ana keeps bees.", "summary": "a\\u0000b", "tags": ["bees", "x\\u0007", "%s"]}]' % (
        "y" * 300
    )
    result = me.extract(answer)
    memory = me.get(str(result.results[0].id))
    assert (memory.summary, memory.tags) == ("a\ufffdb", ("bees",))


@pytest.mark.parametrize("sign", ["\x1b", "\x7f", "\x85", "\x9b"])
def test_control_characters_are_no_text(warden: Warden, sign: str) -> None:
    me = warden.scope(user="ana")
    with pytest.raises(InvalidInput, match="control characters"):
        me.remember("Bees" + sign * 3)
    with pytest.raises(InvalidInput, match="printable"):
        me.remember("Bees swarm in May.", tags=["bees" + sign])
    assert me.remember(f"Bees swarm in May, and the honey is{sign} harvested in July.").results[0].id


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Warden.open(f"sqlite:///{path}", config={"embedder": "none"}) as warden:
        warden.scope(user="ana").remember("Bees swarm in May.")
        files = sorted(tmp_path.glob("store.db*"))
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_rights_of_a_file_that_is_there_are_its_owners_choice(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    path.chmod(0o660)
    Warden.open(f"sqlite:///{path}", config={"embedder": "none"}).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


async def test_the_memory_store_finds_the_end_of_a_thread_at_once() -> None:
    store = MemoryStore()
    await store.open()
    puts = [a_put(f"m{n}", thread_id="short" if n < 10 else "long") for n in range(10_000)]
    begun = time.process_time()
    await store.apply(a_batch(*puts))
    assert time.process_time() - begun < 2.0  # it was 20 seconds when each row was counted anew
    begun = time.process_time()
    for _ in range(100):
        for thread, last in (("short", "m9"), ("long", "m9999")):
            where = parse({"thread_id": thread})
            assert [item.id for item in await store.find(NAMESPACE, where, limit=1, order_by=WRITTEN)] == [last]
    assert time.process_time() - begun < 0.2  # looking at every row, 2 seconds


async def test_the_memory_store_follows_rows_from_thread_to_thread() -> None:
    store = MemoryStore()
    await store.open()
    await store.apply(a_batch(a_put("a", thread_id="x"), a_put("b", thread_id="y"), a_put("c", thread_id="x")))
    for thread in ("y", "x", "y"):
        await store.apply(a_batch(Put(a_memory("a", thread_id=thread), SIGNALS, WriteMode.UPDATE)))
    for wanted, ids in (("x", "c"), ("y", "ab"), (["x", "y"], "abc"), ([], ""), ("z", "")):
        where = parse({"thread_id": wanted})
        up = await store.find(NAMESPACE, where, order_by=WRITTEN, descending=False)
        down = await store.find(NAMESPACE, where, order_by=WRITTEN)
        assert ("".join(item.id for item in up), "".join(item.id for item in down)) == (ids, ids[::-1])
        assert await store.count(NAMESPACE, where) == len(ids)
