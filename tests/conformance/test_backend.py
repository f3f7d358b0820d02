"""Design E's storage contract on every store (rows E1, E9, E12)."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden import Warden
from memwarden.api.blocking import Backend
from memwarden.errors import InvalidFilter, InvalidInput, MemoryBackendError, StoreError
from memwarden.models import wordllama
from memwarden.testing import get_async_twin, run_on_loop
from memwarden.tiers.backend import ContextItem


@pytest.fixture
def backend(warden: Warden) -> Backend:
    return warden.backend("project/web_app")


def item(number: int = 1, **fields: Any) -> ContextItem:
    defaults = {
        "context_item_id": f"decision-{number}",
        "kind": "decision",
        "source": "project/web_app",
        "timestamp": f"2026-01-{number:02d}T10:00:00",
        "tags": ["project", "decision"],
        "importance": 0.9,
        "token_cost": 6,
        "payload": {"decision": f"use htmx for page {number}"},
    }
    return ContextItem(**{**defaults, **fields})


def ids(items: list[ContextItem]) -> list[str]:
    return [item.context_item_id for item in items]


def test_an_item_comes_back_as_it_was_added(backend: Backend) -> None:
    backend.add(item())
    assert backend.get("decision-1") == item()
    assert item().timestamp == "2026-01-01T10:00:00+00:00"
    assert backend.get("decision-2") is None


def test_add_replaces_an_item_of_the_same_id(backend: Backend) -> None:
    backend.add(item())
    backend.add(item(payload={"decision": "use plain HTML"}, importance=0.2))
    assert backend.count() == 1
    replaced = backend.get("decision-1")
    assert replaced is not None
    assert (replaced.payload, replaced.importance) == ({"decision": "use plain HTML"}, 0.2)


def test_delete_says_whether_it_was_there(backend: Backend) -> None:
    backend.add(item())
    assert backend.delete("decision-1") is True
    assert backend.delete("decision-1") is False
    assert backend.get("decision-1") is None
    backend.add(item())
    assert backend.get("decision-1") == item()


def test_list_all_count_and_clear(backend: Backend) -> None:
    assert (backend.list_all(), backend.count()) == ([], 0)
    for number in (3, 1, 2):
        backend.add(item(number))
    assert ids(backend.list_all()) == ["decision-3", "decision-1", "decision-2"]
    assert backend.count() == 3
    backend.clear()
    assert (backend.list_all(), backend.count()) == ([], 0)
    backend.clear()


def test_query_orders_newest_first_and_ascending_with_a_minus(backend: Backend) -> None:
    for number in (2, 3, 1):
        backend.add(item(number, importance=number / 10))
    assert ids(backend.query({})) == ["decision-3", "decision-2", "decision-1"]
    assert ids(backend.query({}, order_by="-timestamp")) == ["decision-1", "decision-2", "decision-3"]
    assert ids(backend.query({}, order_by="importance", limit=2)) == ["decision-3", "decision-2"]
    assert ids(backend.query({}, order_by="-importance", limit=1)) == ["decision-1"]
    assert backend.query({}, limit=0) == []


def test_query_returns_at_most_100_by_default(backend: Backend) -> None:
    for number in range(105):
        backend.add(item(1, context_item_id=f"n{number}"))
    assert len(backend.query({})) == 100
    assert len(backend.query({}, limit=1000)) == 105


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"kind": "failure"}, [2]),
        ({"kind": {"$eq": "failure"}}, [2]),
        ({"kind": {"$ne": "failure"}}, [3, 1]),
        ({"kind": ["failure", "pattern"]}, [3, 2]),
        ({"kind": []}, []),
        ({"importance": {"$gt": 0.5}}, [3]),
        ({"importance": {"$gte": 0.5}}, [3, 2]),
        ({"importance": {"$lt": 0.5}}, [1]),
        ({"importance": {"$lte": 0.5}}, [2, 1]),
        ({"importance": {"$gte": 0.2, "$lt": 0.9}}, [2]),
        ({"tags": ["red", "blue"]}, [3, 2]),
        ({"tags": "green"}, [1]),
        ({"source": "global", "importance": {"$gt": 0.8}}, [3]),
        ({"timestamp": {"$gte": "2026-01-02"}}, [3, 2]),
        ({"context_item_id": "decision-2"}, [2]),
        ({"source": {"$eq": None}}, [1]),
        ({"token_cost": {"$gte": 6}}, [3, 2]),
        ({"token_cost": {"$eq": None}}, [1]),
        ({"token_cost": {"$ne": 6}}, [3, 1]),
        ({"tags": {"$eq": ["blue", "red"]}}, [3]),
        ({"tags": {"$ne": ["blue", "red"]}}, [2, 1]),
        ({"payload": {"decision": "use htmx for page 2"}}, [2]),
        ({"payload": {"$ne": {"decision": "use htmx for page 2"}}}, [3, 1]),
        ({"payload": {"decision": "use htmx for page 2"}, "kind": "pattern"}, []),
    ],
)
def test_filters(backend: Backend, wanted: dict[str, Any], found: list[int]) -> None:
    backend.add(item(1, importance=0.1, tags=["green"], source=None, token_cost=None))
    backend.add(item(2, kind="failure", importance=0.5, tags=["red", "green2"]))
    backend.add(item(3, kind="pattern", importance=0.9, tags=["blue", "red"], source="global", token_cost=9))
    assert ids(backend.query(wanted)) == [f"decision-{number}" for number in found]


@pytest.mark.parametrize(
    "wanted",
    [
        {"colour": 1},
        {"importance": {"$near": 1}},
        {"importance": "big"},
        {"importance": {"$gt": "0.5"}},
        {"tags": {"$gt": 1}},
        {"payload": {"$gt": 1}},
        {"payload": "text"},
    ],
)
def test_unknown_fields_and_operators_are_errors(backend: Backend, wanted: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilter):
        backend.query(wanted)
    with pytest.raises(InvalidFilter, match="order by"):
        backend.query({}, order_by="colour")


def test_an_item_without_importance_or_cost_has_none(backend: Backend) -> None:
    backend.add(item(1, importance=None, token_cost=None))
    backend.add(item(2, importance=0.0, token_cost=0))
    backend.add(item(3))
    found = backend.get("decision-1")
    assert found == item(1, importance=None, token_cost=None)
    assert found is not None
    assert (found.importance, found.token_cost) == (None, None)
    for name in ("importance", "token_cost"):
        assert ids(backend.query({name: {"$eq": None}})) == ["decision-1"]
        assert ids(backend.query({name: {"$ne": None}})) == ["decision-3", "decision-2"]
        assert ids(backend.query({name: {"$lte": 0}})) == ["decision-2"]
        assert ids(backend.query({name: {"$gte": -1}})) == ["decision-3", "decision-2"]
        assert ids(backend.query({name: {"$ne": 0}})) == ["decision-3", "decision-1"]
        assert ids(backend.query({}, order_by=name)) == ["decision-3", "decision-2", "decision-1"]
        assert ids(backend.query({}, order_by=f"-{name}")) == ["decision-2", "decision-3", "decision-1"]


def test_every_field_of_an_item_can_be_asked_for_and_ordered_by(backend: Backend) -> None:
    for number in (2, 1):
        same = {"kind": f"k{number}", "source": f"s{number}", "importance": number / 10, "token_cost": number}
        backend.add(item(number, tags=[f"t{number}"], **same))
    for field in fields(ContextItem):
        value = getattr(item(1, kind="k1", source="s1", importance=0.1, token_cost=1, tags=["t1"]), field.name)
        assert ids(backend.query({field.name: value})) == ["decision-1"], field.name
        assert ids(backend.query({field.name: {"$ne": value}})) == ["decision-2"], field.name
        assert ids(backend.query({}, order_by=field.name)) == ["decision-2", "decision-1"], field.name
        assert ids(backend.query({}, order_by=f"-{field.name}")) == ["decision-1", "decision-2"], field.name


class TheirItem(SimpleNamespace):
    """An item of a class of somebody else."""


def test_an_item_of_another_class_is_checked_like_ours(backend: Backend) -> None:
    theirs = {"context_item_id": "a", "kind": "note", "payload": {"text": "a"}}
    backend.add(TheirItem(**theirs))
    assert backend.get("a") is not None
    for wrong in ({"importance": "high"}, {"kind": 5}, {"tags": "a"}, {"timestamp": "then"}, {"token_cost": "many"}):
        with pytest.raises(InvalidInput):
            backend.add(TheirItem(**{**theirs, "context_item_id": "b", **wrong}))
    assert ids(backend.query({}, order_by="importance")) == ["a"]


def test_the_same_add_gives_the_same_answer_on_every_store(backend: Backend) -> None:
    backend.add(item(1, payload={"pairs": (1, 2), 3: {True: None}, "none": None, "large": 2**70, "nul": "a\x00b"}))
    found = backend.get("decision-1")
    assert found is not None
    whole = {"pairs": [1, 2], "3": {"true": None}, "none": None, "large": 2**70, "nul": "a\x00b"}
    assert found.payload == whole
    for wrong in ({"half": "a\udfff"}, {"a\udfff": 1}, {"no": float("nan")}):
        with pytest.raises(InvalidInput, match="no JSON object"):
            backend.add(item(2, payload=wrong))
    with pytest.raises(InvalidInput):
        backend.add(item(2, source="a\udfff"))
    assert backend.count() == 1


def test_namespaces_do_not_see_each_other(warden: Warden) -> None:
    entry, other = warden.backend("project/one"), warden.backend("project/other")
    entry.add(item())
    assert other.get("decision-1") is None
    assert other.delete("decision-1") is False
    other.clear()
    assert (entry.count(), other.count(), other.query({})) == (1, 0, [])
    assert warden.backend("project/one", tenant="acme").list_all() == []
    other.add(item(payload={"decision": "something else"}))
    assert entry.get("decision-1") == item()


def test_semantic_query_is_by_cosine_nearest_first(backend: Backend) -> None:
    texts = {
        "a": "The deployment failed because the database was locked.",
        "b": "We prefer tabs over spaces in Python code.",
        "c": "Cats sleep most of the day.",
    }
    for name, text in texts.items():
        backend.add(item(1, context_item_id=name, payload={"text": text}))
    model = wordllama.shared_embedder()
    question = model.embed(["code formatting: spaces or tabs?"])[0]
    expected = sorted(texts, key=lambda name: -float(model.embed([texts[name]])[0] @ question))
    assert ids(backend.query_semantic((question * 3).tolist(), 3)) == expected
    assert expected[0] == "b"
    assert ids(backend.query_semantic(question.tolist(), 1)) == ["b"]
    backend.delete("b")
    assert ids(backend.query_semantic(question.tolist(), 3)) == expected[1:]


def test_a_text_is_embedded_for_a_semantic_query(warden: Warden, backend: Backend) -> None:
    for name, text in {"a": "Cats sleep most of the day.", "b": "We prefer tabs over spaces."}.items():
        backend.add(item(1, context_item_id=name, payload={"text": text}))
    assert ids(backend.query_semantic(warden.embed("code formatting: spaces or tabs?"), 1)) == ["b"]
    for wrong in ("", None, 5):
        with pytest.raises(InvalidInput):
            warden.embed(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("embedding", [[], [1.0] * 5, [0.0] * 128, [float("nan")] * 128])
def test_a_wrong_embedding_is_refused(backend: Backend, embedding: list[float]) -> None:
    backend.add(item())
    with pytest.raises(InvalidInput, match="128 finite numbers"):
        backend.query_semantic(embedding, 3)


@pytest.mark.parametrize(
    "fields",
    [
        {"context_item_id": ""},
        {"context_item_id": None},
        {"kind": None},
        {"timestamp": "yesterday"},
        {"importance": 2},
        {"tags": "project"},
    ],
)
def test_a_wrong_item_cannot_be_made(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        item(**fields)


def test_a_payload_that_is_no_json_is_refused(backend: Backend) -> None:
    with pytest.raises(InvalidInput, match="no JSON object"):
        backend.add(item(payload={"when": object()}))
    assert backend.count() == 0


@pytest.mark.parametrize("path", ["", "user/", "team/x", "project", "globals", "user/a\nb"])
def test_a_namespace_has_a_known_form(warden: Warden, path: str) -> None:
    with pytest.raises(InvalidInput):
        warden.backend(path)


def test_a_failing_store_raises_the_contracts_memory_error() -> None:
    warden = Warden.open("memory://", config={"embedder": "none"})
    backend = warden.backend("global")
    run_on_loop(warden, get_async_twin(warden).close())
    with pytest.raises(MemoryError) as caught:
        backend.add(item())
    assert isinstance(caught.value, MemoryBackendError | StoreError)
    warden.close()


def test_items_are_memories_of_the_namespace(warden: Warden) -> None:
    warden.backend("user/ana").add(item(payload={"text": "Ana keeps bees behind the barn."}))
    (found,) = warden.scope(user="ana").query("Where does Ana keep bees?").items
    assert found.id == "decision-1"
    assert found.memory.payload == {"text": "Ana keeps bees behind the barn."}


@pytest.mark.parametrize(
    "url",
    ["sqlite", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("memory", "json", "postgres"))],
    indirect=True,
)
def test_a_thousand_items_and_more(backend: Backend) -> None:
    for number in range(1_200):
        backend.add(item(1, context_item_id=f"n{number:04d}", importance=(number % 100) / 100, tags=[f"t{number % 7}"]))
    assert backend.count() == 1_200
    assert len(backend.query({"tags": ["t3"], "importance": {"$gte": 0.5}}, limit=5_000)) == sum(
        1 for number in range(1_200) if number % 7 == 3 and number % 100 >= 50
    )
    question = np.zeros(128)
    question[0] = 1.0
    assert len(backend.query_semantic(question.tolist(), 10)) == 10
