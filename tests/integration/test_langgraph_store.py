"""MemwardenStore does what LangGraph's documentation of ``BaseStore`` says, on every engine, blocking and async.

The cases are those of LangGraph's own stores (in memory, SQLite, PostgreSQL); where these differ, the class says what
holds here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph_ways import USERS, Letters, Way, Ways, opened

from memwarden import clock
from memwarden.errors import InvalidConfig, InvalidInput

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, emptied: Callable[[], str]) -> str:
    """The URL of an empty store of each kind, for all tests of this file."""
    file = tmp_path_factory.mktemp("store") / "store.db"
    return {"memory": "memory://", "sqlite": f"sqlite:///{file}"}.get(request.param) or emptied()


@pytest.fixture(scope="module", params=["blocking", "async"])
def warden(request: pytest.FixtureRequest, engine: str) -> Iterator[Ways]:
    with opened(engine, request.param) as ways:
        yield ways


@pytest.fixture
def ways(warden: Ways) -> Ways:
    warden.test = next(USERS)
    return warden


@pytest.fixture
def store(ways: Ways) -> Way:
    return ways.store()


@pytest.fixture
def letters() -> Letters:
    return Letters()


class Clock:
    """The time that memwarden sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = AT
        monkeypatch.setattr(clock, "now", lambda: self.time)

    def wait(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def keys(found: list[SearchItem]) -> list[str]:
    return [item.key for item in found]


# Writing, reading, deleting.


def test_values_of_python_come_back_as_langgraphs_stores_write_them(store: Way) -> None:
    id_, at = UUID(int=7), datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    store.put(("plain",), "a", {"id": id_, "at": at, "day": at.date(), "deep": [{"at": at}]})
    value = {"id": str(id_), "at": at.isoformat(), "day": "2026-03-01", "deep": [{"at": at.isoformat()}]}
    assert store.get(("plain",), "a").value == value
    assert keys(store.search(("plain",), filter={"at": at, "id": id_})) == ["a"]
    assert keys(store.search(("plain",), filter={"at": {"$gt": at}})) == []


@pytest.mark.parametrize("value", [{"a": {1, 2}}, {"a": object()}, {1: "a"}, {"a": float("nan")}, [1], "text"])
def test_a_value_that_cannot_be_kept_is_a_type_error_that_says_so(store: Way, value: Any) -> None:
    with pytest.raises(TypeError, match=r"is not JSON: .|is a mapping") as told:
        store.put(("plain",), "a", value)
    assert isinstance(told.value, ValueError)
    assert store.get(("plain",), "a") is None


def test_long_keys_and_namespaces(store: Way) -> None:
    key, path = "k" * 1_500, ("n" * 900, "m")
    store.put(path, key, {"n": 1})
    assert store.get(path, key).value == {"n": 1}
    assert keys(store.search(path, filter={"n": 1})) == [key]


def test_a_filter_in_the_store_finds_what_reading_all_finds(store: Way) -> None:
    values = [0, 0.0, False, 1, 1.0, True, 10, 2, 2.5, "1", "x", 'a"b', "ä", None, [1], {"b": 1}]
    store.batch([PutOp(("f",), str(number), {"b": value, "a": "x"}) for number, value in enumerate(values)])
    for wanted in values:
        expected = {str(number) for number, value in enumerate(values) if value == wanted}
        if not isinstance(wanted, dict | list):
            assert set(keys(store.search(("f",), filter={"b": wanted}, limit=99))) == expected, wanted
        assert set(keys(store.search(("f",), filter={"b": {"$eq": wanted}}, limit=99))) == expected, wanted
    newest = [str(number) for number in range(len(values) - 1, -1, -1)]
    pages = [keys(store.search(("f",), filter={"a": "x"}, limit=3, offset=start)) for start in range(0, 18, 3)]
    assert [key for page in pages for key in page] == newest


def test_put_get_update_delete(store: Way, time: Clock) -> None:
    assert isinstance(store.store, BaseStore)
    namespace, value = ("test", "documents"), {"title": "Test", "nested": {"list": [1, 2.5, None, True]}}
    assert store.put(namespace, "doc1", value) is None
    item = store.get(namespace, "doc1")
    assert type(item) is Item
    assert (item.namespace, item.key, item.value) == (namespace, "doc1", value)
    assert item.created_at == item.updated_at == AT
    time.wait(1)
    store.put(namespace, "doc1", {"title": "Updated"})
    updated = store.get(namespace, "doc1")
    assert updated.value == {"title": "Updated"}
    assert (updated.created_at, updated.updated_at) == (AT, AT + timedelta(minutes=1))
    assert store.get(("test", "other_documents"), "doc1") is None
    assert store.get(namespace, "doc2") is None
    store.delete(namespace, "doc1")
    assert store.get(namespace, "doc1") is None
    store.delete(namespace, "doc1")  # is no error
    assert store.list_namespaces() == []


def test_what_is_returned_is_the_callers_own(store: Way) -> None:
    value = {"list": [1]}
    store.put(("a",), "k", value)
    value["list"].append(2)
    store.get(("a",), "k").value["list"].append(3)
    assert store.get(("a",), "k").value == {"list": [1]}


def test_keys_are_texts(store: Way) -> None:
    store.put(("a",), 7, {"n": 1})
    assert store.get(("a",), "7").value == store.get(("a",), 7).value == {"n": 1}


@pytest.mark.parametrize("namespace", [("the", "thing.about"), ("some", ""), (123,), ("nul\0",)])
def test_labels_that_are_none(store: Way, namespace: Any) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: store.put(namespace, "k", {}),
        lambda: store.get(namespace, "k"),
        lambda: store.delete(namespace, "k"),
        lambda: store.search(namespace),
        lambda: store.list_namespaces(prefix=namespace),
        lambda: store.list_namespaces(suffix=namespace),
        lambda: store.batch([PutOp(namespace, "k", {})]),
        lambda: store.batch([GetOp(namespace, "k")]),
        lambda: store.batch([SearchOp(namespace)]),
        lambda: store.batch([ListNamespacesOp((MatchCondition("prefix", namespace),))]),
    ]
    for call in calls:
        with pytest.raises(InvalidNamespaceError):
            call()
    assert store.search(()) == []


def test_the_root_langgraph_is_reserved(store: Way) -> None:
    with pytest.raises(InvalidNamespaceError, match="cannot be empty"):
        store.put((), "k", {})
    with pytest.raises(InvalidNamespaceError, match='cannot be "langgraph"'):
        store.put(("langgraph", "foo"), "bar", {"a": 1})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp((), "k", {})])
    store.put(("foo", "langgraph", "foo"), "bar", {"a": 1})
    assert store.search(("foo", "langgraph", "foo"))[0].value == {"a": 1}
    store.batch([PutOp(("langgraph", "foo"), "bar", {"b": 1})])  # past the public method, as LangGraph itself does
    assert store.get(("langgraph", "foo"), "bar").value == {"b": 1}
    store.delete(("langgraph", "foo"), "bar")
    assert store.get(("langgraph", "foo"), "bar") is None


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [
        (("a",), "k", {"a": object()}),
        (("a",), "k", ["no", "mapping"]),
        (("a" * 16_001,), "k", {}),
        (("a",), "k" * 16_001, {}),
        (("a",), "\ud800", {}),
        (("a\ud800",), "k", {}),
    ],
)
def test_what_cannot_be_kept_is_refused(store: Way, namespace: Any, key: Any, value: Any) -> None:
    with pytest.raises(InvalidInput):
        store.put(namespace, key, value)
    assert store.search(()) == []


def test_long_and_odd_names_and_values_come_back(store: Way) -> None:
    namespace, key = ("ä" * 100, "b b", "c/d", "e\n\x01"), "k\0\x01 %_*'" + "x" * 900
    value = {"text": "这是中文 \0 \x01 \ud800", "": {"я": ["😀"]}}
    store.put(namespace, key, value)
    assert store.get(namespace, key).value == value
    (found,) = store.search(namespace[:1])
    assert (found.namespace, found.key, found.value) == (namespace, key, value)
    assert store.list_namespaces() == [namespace]
    store.delete(namespace, key)
    assert store.search(()) == []


# Batches.


def test_batch_order(store: Way) -> None:
    store.put(("test", "foo"), "key1", {"data": "value1"})
    store.put(("test", "bar"), "key2", {"data": "value2"})
    results = store.batch(
        [
            GetOp(("test", "foo"), "key1"),
            PutOp(("test", "bar"), "key2", {"data": "new"}),
            SearchOp(("test",), filter={"data": "value1"}),
            ListNamespacesOp(limit=10),
            GetOp(("test",), "key3"),
            GetOp(("test", "bar"), "key2"),
        ]
    )
    assert results[0].value == {"data": "value1"}
    assert results[1] is None
    assert keys(results[2]) == ["key1"]
    assert results[3] == [("test", "bar"), ("test", "foo")]
    assert results[4] is None
    assert results[5].value == {"data": "value2"}  # reads see what was before the batch
    assert store.get(("test", "bar"), "key2").value == {"data": "new"}
    assert store.batch([]) == []


def test_the_last_write_of_a_batch_wins(store: Way) -> None:
    store.put(("a",), "gone", {"n": 0})
    store.batch(
        [
            PutOp(("a",), "twice", {"n": 1}),
            PutOp(("a",), "back", None),
            PutOp(("a",), "gone", {"n": 1}),
            PutOp(("a",), "twice", {"n": 2}),
            PutOp(("a",), "back", {"n": 3}),
            PutOp(("a",), "gone", None),
        ]
    )
    assert {item.key: item.value["n"] for item in store.search(("a",))} == {"twice": 2, "back": 3}


def test_a_batch_with_a_fault_writes_nothing(store: Way) -> None:
    with pytest.raises(InvalidInput):
        store.batch([PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "l", {"n": object()})])
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.batch([PutOp(("a",), "k", {"n": 1}), SearchOp(("a",), filter={"n": {"$like": 1}})])
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([PutOp(("a",), "k", {"n": 1}), "get"])
    assert store.search(()) == []


def test_a_large_batch(store: Way) -> None:
    store.batch([PutOp(("many", str(number % 7)), str(number), {"n": number}) for number in range(1_500)])
    found = store.search(("many",), limit=2_000)
    assert sorted(item.value["n"] for item in found) == list(range(1_500))
    assert keys(found[:3]) == ["1499", "1498", "1497"]
    assert len(store.batch([GetOp(("many", str(number % 7)), str(number)) for number in range(1_500)])) == 1_500
    assert len(store.search(("many",), filter={"n": {"$gte": 750}}, limit=2_000)) == 750


# Searching without a query.


def test_search_under_a_namespace(store: Way) -> None:
    for namespace in [("foo",), ("foo", "child"), ("foo", "child", "deep"), ("foobar",), ("foo-bar", "x"), ("Foo",)]:
        store.put(namespace, "k", {"v": 1})

    def found(prefix: Any) -> set[tuple[str, ...]]:
        return {item.namespace for item in store.search(prefix, limit=100)}

    assert found(("foo",)) == {("foo",), ("foo", "child"), ("foo", "child", "deep")}
    assert found(["foo", "child"]) == {("foo", "child"), ("foo", "child", "deep")}
    assert found(("foobar",)) == {("foobar",)}
    assert found(("Foo",)) == {("Foo",)}
    assert found(("fo",)) == set()
    assert len(found(())) == 6


@pytest.mark.parametrize(("label", "decoy"), [("user_1", "userX1"), ("a%b", "axxb"), ("star*", "starX"), ("q?", "qX")])
def test_signs_in_labels_mean_themselves(store: Way, label: str, decoy: str) -> None:
    for item in (label, decoy, f"{label}\n"):
        store.put((item,), "k", {"v": 1})
    store.put((label, "child"), "k", {"v": 1})
    assert {item.namespace for item in store.search((label,))} == {(label,), (label, "child")}
    assert store.list_namespaces(prefix=(label,)) == [(label,), (label, "child")]
    assert store.list_namespaces(suffix=(label,)) == [(label,)]


def test_search_shows_the_newest_first_in_pages(store: Way, time: Clock) -> None:
    for number in range(7):
        store.put(("page", str(number % 2)), f"k{number}", {"odd": number % 2})
        time.wait(1)
    store.put(("page", "0"), "k0", {"odd": 0})
    assert keys(store.search(("page",))) == ["k0", "k6", "k5", "k4", "k3", "k2", "k1"]
    assert keys(store.search(("page",), limit=3)) == ["k0", "k6", "k5"]
    assert keys(store.search(("page",), limit=3, offset=3)) == ["k4", "k3", "k2"]
    assert keys(store.search(("page",), limit=2, offset=1, filter={"odd": 1})) == ["k3", "k1"]
    assert store.search(("page",), offset=7) == store.search(("page",), limit=0) == []
    assert all(type(item) is SearchItem and item.score is None for item in store.search(("page",)))
    assert store.search(("page",), query="no index: the query is not looked at", limit=1)[0].key == "k0"
    for wrong in ({"limit": -1}, {"offset": -1}, {"limit": "3"}):
        with pytest.raises(InvalidInput):
            store.search(("page",), **wrong)


def test_search_shows_ten_unless_asked(store: Way) -> None:
    store.batch([PutOp(("a",), str(number), {"n": number}) for number in range(12)])
    assert len(store.search(("a",))) == 10


def test_search_with_filters(store: Way) -> None:
    store.put(("test",), "doc1", {"color": "red", "score": 4.5, "maker": {"land": "Chile"}, "tags": ["a"]})
    store.put(("test",), "doc2", {"color": "red", "score": 3.0, "maker": {"land": "Peru"}, "tags": ["a", "b"]})
    store.put(("test", "sub"), "doc3", {"color": "green", "score": 4.0, "ok": True})

    def found(conditions: Any) -> set[str]:
        return set(keys(store.search(("test",), filter=conditions)))

    assert found({"color": "red"}) == {"doc1", "doc2"}
    assert found({"color": {"$eq": "red"}, "score": {"$lt": 4}}) == {"doc2"}
    assert found({"color": {"$ne": "red"}}) == {"doc3"}
    assert found({"score": {"$gt": 3.0}}) == {"doc1", "doc3"}
    assert found({"score": {"$gte": 3.0, "$lte": 4.0}}) == {"doc2", "doc3"}
    assert found({"maker": {"land": "Chile"}}) == found({"maker.land": "Chile"}) == {"doc1"}
    assert found({"tags": ["a"]}) == {"doc1"}
    assert found({"ok": True}) == found({"ok": 1}) == {"doc3"}  # as LangGraph's store in memory
    assert found({"color": "red' OR '1'='1"}) == set()
    assert found({}) == found(None) == {"doc1", "doc2", "doc3"}
    with pytest.raises(ValueError, match="Unsupported operator"):
        found({"score": {"$in": [4.0]}})
    with pytest.raises(ValueError, match="Invalid filter key"):
        found({"color') = 'red' OR '1'='1": "x"})


# Listing namespaces.


def test_list_namespaces(store: Way) -> None:
    known = [
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
        ("ab", "f"),
        ("b", "a", "f"),
        ("users", "123"),
    ]
    store.batch([PutOp(namespace, f"id_{number}", {}) for number, namespace in enumerate(known)])
    store.put(known[0], "another", {})
    assert store.list_namespaces() == known
    assert store.list_namespaces(prefix=("a", "b")) == known[:4]
    assert store.list_namespaces(prefix=["a", "b"]) == known[:4]
    assert store.list_namespaces(suffix=("f",)) == [*known[3:7]]
    assert store.list_namespaces(prefix=("a",), suffix=("f",)) == known[3:5]
    assert store.list_namespaces(prefix=("a", "*", "f")) == known[3:5]
    assert store.list_namespaces(suffix=("*", "f")) == known[3:7]
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("ab",), ("b",), ("users",)]
    assert store.list_namespaces(prefix=("a", "b"), limit=2) == known[:2]
    assert store.list_namespaces(prefix=("a", "b"), offset=2) == known[2:4]
    assert store.list_namespaces(prefix=("nobody",)) == []
    with pytest.raises(ValueError, match="Unsupported match type"):
        store.batch([ListNamespacesOp((MatchCondition("infix", ("a",)),))])  # type: ignore[arg-type]


def test_a_hundred_namespaces_are_listed_unless_asked(store: Way) -> None:
    store.batch([PutOp((f"n{number:03}",), "k", {}) for number in range(120)])
    assert store.list_namespaces() == [(f"n{number:03}",) for number in range(100)]
    assert store.list_namespaces(offset=100) == [(f"n{number:03}",) for number in range(100, 120)]


# Searching by meaning.


def test_search_by_meaning(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"dims": letters.dims, "embed": letters, "fields": ["text"]})
    assert store.store.index_config is not None
    assert store.store.index_config["dims"] == letters.dims
    assert store.store.embeddings is letters
    store.put(("test",), "doc1", {"text": "zany zebra Xerxes"})
    store.put(("test",), "doc2", {"text": "something about dogs"})
    store.put(("test", "sub"), "doc3", {"text": "text about birds"})
    store.put(("other",), "doc4", {"text": "zany zebra Xerxes"})
    found = store.search(("test",), query="zany zebra Xerxes")
    assert found[0].key == "doc1"
    assert found[0].score == pytest.approx(1.0, abs=1e-5)
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert {item.key for item in found} == {"doc1", "doc2", "doc3"}
    store.put(("test",), "doc1", {"text": "new text about dogs"})
    (again,) = [item for item in store.search(("test",), query="zany zebra Xerxes") if item.key == "doc1"]
    assert again.score < found[0].score
    assert [item.score for item in store.search(("test",), query="")] == [None] * 3
    assert [item.score for item in store.search(("test",), query=None)] == [None] * 3
    store.delete(("test",), "doc1")
    assert "doc1" not in keys(store.search(("test",), query="new text about dogs"))


def test_the_score_is_that_of_the_distance(ways: Ways) -> None:
    vectors = {"a": [1.0, 0.0, 0.0], "b": [2.0, 0.1, 0.0], "c": [0.0, 0.0, 1.0], "": [0.0, 0.0, 0.0]}
    expected = {
        "cosine": [("a", 1.0), ("b", 2.0 / 4.01**0.5), ("c", 0.0)],
        "l2": [("a", 0.0), ("b", -(1.01**0.5)), ("c", -(2.0**0.5))],
        "inner_product": [("b", 2.0), ("a", 1.0), ("c", 0.0)],
    }
    for distance, ranking in expected.items():
        index = {"embed": lambda texts: [vectors[text] for text in texts], "fields": ["t"], "distance_type": distance}
        store = ways.store(user=distance, index=index)
        for key in "abc":
            store.put(("docs",), key, {"t": key})
        found = store.search(("docs",), query="a")
        assert keys(found) == [key for key, _ in ranking]
        assert [item.score for item in found] == pytest.approx([score for _, score in ranking], abs=1e-5)
        assert not any(item.score for item in store.search(("docs",), query="") if distance == "cosine")


def test_items_without_vectors_come_last(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["text"]})
    store.put(("test",), "plain", {"text": "about dogs"}, index=False)
    store.put(("test",), "none", {"title": "about dogs"})
    for number in range(3):
        store.put(("test",), f"doc{number}", {"text": "about dogs " * (number + 1) + "zz" * number})
    found = store.search(("test",), query="about dogs")
    assert keys(found)[3:] == ["none", "plain"]
    assert [item.score is None for item in found] == [False, False, False, True, True]
    assert keys(store.search(("test",), query="about dogs", limit=3)) == keys(found)[:3]
    assert keys(store.search(("test",), query="about dogs", limit=2, offset=2)) == keys(found)[2:4]
    store.put(("test",), "doc0", {"text": "about dogs"}, index=False)  # its vectors go
    assert {item.key for item in store.search(("test",), query="about dogs") if item.score} == {"doc1", "doc2"}


def test_fields_of_the_store_and_of_a_put(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["key0", "key1", "meta.titles[*]"]})
    store.put(("test",), "doc1", {"key1": "xxx", "key2": "yyy", "meta": {"titles": ["ooo", "zzz"]}})
    store.put(("test",), "doc2", {"key0": "uuu", "key1": "vvv", "key2": "www", "meta": {}})
    store.put(("test",), "doc3", {"key2": "yyy", "key3": [{"t": "mmm"}, {"t": "nnn"}]}, index=["key3[*].t"])
    for query, key in (("xxx", "doc1"), ("zzz", "doc1"), ("ooo", "doc1"), ("uuu", "doc2"), ("nnn", "doc3")):
        found = store.search(("test",), query=query)
        assert found[0].key == key
        assert found[0].score == pytest.approx(1.0, abs=1e-5)
    assert not any(item.score for item in store.search(("test",), query="yyy"))  # no indexed field has it
    assert "yyy" not in letters.documents


def test_the_whole_value_is_the_field_unless_said(ways: Ways, letters: Letters) -> None:
    for number, index in enumerate([{"embed": letters}, {"embed": letters, "fields": ["$"]}]):
        store = ways.store(user=str(number), index=index)
        store.put(("a",), "k", {"name": "ü", "of": [1]})
        assert letters.documents[-1] == '{"name": "ü", "of": [1]}'
    store = ways.store(index={"embed": letters, "text_fields": ["t"]})  # its name in LangGraph's SQLite store
    store.put(("a",), "k", {"name": "ü", "t": "this"})
    assert letters.documents[-1] == "this"


def test_search_by_meaning_with_filters_in_pages(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["text"]})
    store.put(("test",), "doc1", {"text": "red apple", "color": "red", "score": 4.5})
    store.put(("test",), "doc2", {"text": "red car", "color": "red", "score": 3.0})
    store.put(("test",), "doc3", {"text": "green apple", "color": "green", "score": 4.0})
    store.put(("test",), "doc4", {"text": "blue car", "color": "blue", "score": 3.5})
    assert keys(store.search(("test",), query="apple", filter={"color": "red"})) == ["doc1", "doc2"]
    assert keys(store.search(("test",), query="car", filter={"color": "red"})) == ["doc2", "doc1"]
    found = store.search(("test",), query="bbbbluuu", filter={"score": {"$gt": 3.2}})
    assert found[0].key == "doc4"
    assert len(found) == 3
    assert keys(store.search(("test",), query="apple", filter={"score": {"$gte": 4.0}, "color": "green"})) == ["doc3"]
    whole = keys(store.search(("test",), query="apple"))
    assert [keys(store.search(("test",), query="apple", limit=1, offset=number))[0] for number in range(4)] == whole


def test_search_by_meaning_in_any_script(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["text"]})
    texts = ["这是中文", "これは日本語です", "이건 한국어야", "Это русский", "यह रूसी है"]
    for number, text in enumerate(texts):
        store.put(("user_123", "memories"), str(number), {"text": text})
    for number, text in enumerate(texts):
        assert store.search(("user_123", "memories"), query=text)[0].key == str(number)


def test_each_text_is_embedded_once_and_only_what_is_kept(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["a", "b"]})
    store.batch(
        [
            PutOp(("x",), "k", {"a": "never kept"}),
            PutOp(("x",), "k", {"a": "same", "b": "same"}),
            PutOp(("x",), "l", {"a": "same"}),
            SearchOp(("x",), query="q"),
            SearchOp(("y",), query="q"),
        ]
    )
    assert (letters.documents, letters.queries) == (["same"], ["q"])


def test_an_embedding_of_another_length(ways: Ways, letters: Letters) -> None:
    store = ways.store(index={"embed": letters, "fields": ["text"]})
    store.put(("a",), "long", {"text": "abc"})
    short = {"embed": lambda texts: [[1.0, 0.0] for _ in texts], "fields": ["text"], "dims": 2}
    other = ways.store(index=short)
    other.put(("a",), "short", {"text": "abc"})
    assert [(item.key, item.score) for item in other.search(("a",), query="abc")] == [("short", 1.0), ("long", None)]
    with pytest.raises(InvalidConfig, match="dims = 3"):
        ways.store(index=short | {"dims": 3}).put(("a",), "k", {"text": "abc"})
    assert other.get(("a",), "k") is None
    with pytest.raises(InvalidConfig, match="distance_type"):
        ways.store(index=short | {"distance_type": "hamming"})


def test_without_any_embedder_search_by_meaning_says_so(ways: Ways) -> None:
    store = ways.store(index={"fields": ["text"]})
    with pytest.raises(InvalidConfig, match="no embedder"):
        store.put(("a",), "k", {"text": "abc"})


# Lifetimes.


def test_an_item_lives_as_long_as_it_is_said(ways: Ways, time: Clock) -> None:
    store = ways.store(ttl={"default_ttl": 5})
    assert store.store.supports_ttl
    assert store.store.ttl_config == {"default_ttl": 5}
    store.put(("test",), "default", {"n": 1})
    store.put(("test",), "short", {"n": 2}, ttl=1)
    store.put(("test",), "ever", {"n": 3}, ttl=None)
    assert store.sweep_ttl() == 0
    time.wait(2)
    assert store.sweep_ttl() == 1
    assert set(keys(store.search(("test",), refresh_ttl=False))) == {"default", "ever"}
    time.wait(4)
    assert store.get(("test",), "default", refresh_ttl=False) is not None  # until it is swept
    assert store.sweep_ttl() == 1
    assert keys(store.search(("test",))) == ["ever"]
    for wrong in (-1, float("nan"), float("inf"), "5", True):
        with pytest.raises(InvalidInput, match="ttl"):
            store.put(("test",), "k", {}, ttl=wrong)


@pytest.mark.parametrize("read", ["get", "search", "search by meaning", "batch"])
def test_reading_begins_a_lifetime_anew(ways: Ways, time: Clock, letters: Letters, read: str) -> None:
    store = ways.store(ttl={"default_ttl": 10}, index={"embed": letters})
    store.put(("test",), "read", {"text": "a"})
    store.put(("test",), "unread", {"text": "b"})

    def look(refresh: bool | None) -> None:
        if read == "get":
            assert store.get(("test",), "read", refresh_ttl=refresh) is not None
        elif read == "search":
            assert len(store.search(("test",), filter={"text": "a"}, refresh_ttl=refresh)) == 1
        elif read == "batch":
            assert store.batch([GetOp(("test",), "read", refresh_ttl=refresh is not False)])[0] is not None
        else:
            assert keys(store.search(("test",), query="a", limit=1, refresh_ttl=refresh)) == ["read"]

    time.wait(6)
    look(True)
    time.wait(6)
    assert store.sweep_ttl() == 1  # the unread one
    look(None)  # refreshing is the default
    time.wait(6)
    look(False)
    time.wait(5)
    assert store.sweep_ttl() == 1
    assert store.search(()) == []


def test_refreshing_may_be_off_by_default(ways: Ways, time: Clock) -> None:
    store = ways.store(ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(("test",), "k", {})
    time.wait(6)
    assert store.get(("test",), "k") is not None
    assert len(store.search(("test",))) == 1
    time.wait(6)
    assert store.sweep_ttl() == 1


def test_writing_again_sets_the_lifetime_anew(ways: Ways, time: Clock) -> None:
    store = ways.store()
    store.put(("a",), "k", {}, ttl=1)
    store.put(("a",), "k", {})
    time.wait(5)
    assert store.sweep_ttl() == 0
    store.put(("a",), "k", {}, ttl=0.5)
    time.wait(1)
    assert store.sweep_ttl() == 1


def test_expired_items_may_be_left_out(ways: Ways, time: Clock, letters: Letters) -> None:
    store = ways.store(ttl={"default_ttl": 5, "omit_expired": True}, index={"embed": letters, "fields": ["n"]})
    seeing = ways.store(ttl={"default_ttl": 5})
    store.put(("omit", "expired"), "e", {"n": "a"})
    store.put(("omit", "control"), "c", {"n": "b"}, ttl=None)
    time.wait(6)
    assert store.get(("omit", "expired"), "e", refresh_ttl=True) is None
    assert keys(store.search(("omit",))) == ["c"]
    assert keys(store.search(("omit",), query="a")) == ["c"]
    assert keys(store.search(("omit",), filter={"n": {"$ne": "x"}})) == ["c"]
    assert keys(store.search(("omit",), limit=1)) == ["c"]
    assert store.list_namespaces(prefix=("omit",)) == [("omit", "control")]
    assert seeing.list_namespaces() == [("omit", "control"), ("omit", "expired")]
    assert seeing.get(("omit", "expired"), "e", refresh_ttl=False) is not None
    assert store.sweep_ttl() == 1  # nobody brought it back


def test_a_wrong_ttl_configuration_is_refused(ways: Ways) -> None:
    with pytest.raises(InvalidConfig, match="default_tll"):
        ways.store(ttl={"default_tll": 5})
    with pytest.raises(InvalidInput, match="minutes"):
        ways.store(ttl={"default_ttl": "5"})
