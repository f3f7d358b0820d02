"""mem0 itself and our client of its calls, side by side: the same calls, the same answers.

Run by ``make adapters``, in an environment that has mem0. Its embedder and its chat model are remote and stand in here.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

mem0 = pytest.importorskip("mem0")

from memwarden.compat.mem0 import AsyncMemory, AsyncMemoryClient, Memory, MemoryClient  # noqa: E402

CALLS = ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset")
USERS, RUNS, TOPICS = ("ana", "bob"), ("r1", "r2", None), ("zebra", "lion")
STEPS = 400


class Letters:
    """Vectors of a text by its letters."""

    def __init__(self, *_: Any) -> None:
        pass

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [1.0 + text.count(letter) for letter in "abcdefgh"]


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from mem0.memory import main

    monkeypatch.setattr(main, "MEM0_TELEMETRY", False, raising=False)
    monkeypatch.setattr(main, "capture_event", lambda *_, **__: None)
    monkeypatch.setattr(main.EmbedderFactory, "create", lambda *_: Letters())
    monkeypatch.setattr(main.LlmFactory, "create", lambda *_: None)
    place = {"collection_name": "m", "path": str(tmp_path / "qdrant"), "embedding_model_dims": 8, "on_disk": True}
    config = {
        "vector_store": {"provider": "qdrant", "config": place},
        "history_db_path": str(tmp_path / "history.db"),
    }
    memory = mem0.Memory.from_config(config)
    yield memory
    memory.close()


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def ours(engine_url: str) -> Iterator[Memory]:
    # Two texts that say the same are two memories in mem0.
    with Memory({"memwarden": {"url": engine_url, "embedder": "none", "merging": "off"}}) as memory:
        yield memory


def test_the_calls_take_the_same_arguments() -> None:
    for name in CALLS:
        for their_class, our_class in ((mem0.Memory, Memory), (mem0.AsyncMemory, AsyncMemory)):
            wanted = dict(inspect.signature(getattr(their_class, name)).parameters)
            wanted.pop("llm", None)  # a LangChain model for procedures, which are not supported
            given = inspect.signature(getattr(our_class, name)).parameters
            missing = [key for key in wanted if key not in given and key not in ("self", "kwargs")]
            assert not missing, (name, missing)
            plain = [key for key in wanted if isinstance(wanted[key].default, str | int | float | bool | None)]
            assert {key: wanted[key].default for key in plain} == {key: given[key].default for key in plain}, name


HOSTED_CALLS = (*CALLS, "users", "delete_users", "batch_update", "batch_delete")


def test_the_hosted_calls_take_the_same_arguments() -> None:
    pairs = ((mem0.MemoryClient, MemoryClient), (mem0.AsyncMemoryClient, AsyncMemoryClient))
    for name in HOSTED_CALLS:
        for their_class, our_class in pairs:
            wanted = inspect.signature(getattr(their_class, name)).parameters
            given = inspect.signature(getattr(our_class, name)).parameters
            shape = [(key, item.default) for key, item in given.items() if item.kind is not item.VAR_KEYWORD]
            assert shape == [(key, item.default) for key, item in wanted.items() if item.kind is not item.VAR_KEYWORD]
            assert any(item.kind is item.VAR_KEYWORD for item in wanted.values()) == any(
                item.kind is item.VAR_KEYWORD for item in given.values()
            )


class Pair:
    """Makes each call of both, and names memories by the order in which they were added."""

    def __init__(self, theirs: Any, ours: Memory) -> None:
        self.memories = (theirs, ours)
        self.ids: list[tuple[str, str]] = []

    def add(self, text: str, **given: Any) -> None:
        rows = [memory.add(text, infer=False, **given)["results"] for memory in self.memories]
        assert [self._plain(row) for row in rows[0]] == [self._plain(row) for row in rows[1]]
        self.ids.append((rows[0][0]["id"], rows[1][0]["id"]))

    def by_id(self, call: str, number: int, *given: Any, **named: Any) -> None:
        answers = []
        for memory, item_id in zip(self.memories, self.ids[number], strict=True):
            try:
                answers.append(getattr(memory, call)(item_id, *given, **named))
            except ValueError:
                answers.append("refused")
        assert self._plain(answers[0]) == self._plain(answers[1]), (call, number)

    def listed(self, filters: dict[str, Any]) -> None:
        theirs, ours = (memory.get_all(filters=filters, top_k=10_000)["results"] for memory in self.memories)
        texts = [sorted(map(repr, map(self._plain, rows))) for rows in (theirs, ours)]
        assert texts[0] == texts[1], filters

    def _plain(self, answer: Any) -> Any:
        """An answer without ids and times, and without empty fields."""
        if isinstance(answer, list):
            return [self._plain(item) for item in answer]
        if not isinstance(answer, dict):
            return answer
        left_out = ("id", "memory_id", "created_at", "updated_at")
        return {key: self._plain(answer[key]) for key in sorted(answer) if key not in left_out and answer[key]}


@pytest.mark.parametrize(
    ("engine", "seed"), [*(("sqlite", seed) for seed in range(5)), ("memory", 5), ("postgresql", 6)]
)
def test_random_calls_have_the_same_answers(theirs: Any, ours: Memory, seed: int) -> None:
    chance = random.Random(seed)
    pair = Pair(theirs, ours)
    for step in range(STEPS):
        user, run, topic = chance.choice(USERS), chance.choice(RUNS), chance.choice(TOPICS)
        number = chance.randrange(len(pair.ids)) if pair.ids else None
        call = chance.choices(("add", "update", "delete", "get", "history", "list", "clear"), (6, 3, 2, 3, 2, 3, 0.2))[
            0
        ]
        if call == "add" or number is None:
            pair.add(f"The {topic} ate {step} apples.", user_id=user, run_id=run, metadata={"topic": topic, "n": step})
        elif call == "update":
            pair.by_id("update", number, f"The {topic} slept {step} hours.", metadata={"updated": step})
        elif call == "list":
            pair.listed({"user_id": user, **({"run_id": run} if run else {})})
            pair.listed({"user_id": user, "topic": topic})
            pair.listed({"user_id": user, "n": {"gte": step // 2}})
        elif call == "clear":
            for memory in pair.memories:
                memory.delete_all(user_id=user, run_id=run)
        else:
            pair.by_id(call, number)


def test_what_mem0_refuses_is_refused_with_the_same_kind_of_error(theirs: Any, ours: Memory) -> None:
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda memory: memory.search("x", user_id="a"),
        lambda memory: memory.search(" ", filters={"user_id": "a"}),
        lambda memory: memory.search("x", filters={}),
        lambda memory: memory.search("x", filters={"user_id": "a"}, top_k=-1),
        lambda memory: memory.search("x", filters={"user_id": "a"}, threshold=2),
        lambda memory: memory.search("x", filters={"user_id": "a", "OR": []}),
        lambda memory: memory.search("x", filters={"user_id": "a", "n": {"eq": 1, "like": 1}}),
        lambda memory: memory.get_all(filters={"topic": "x"}),
        lambda memory: memory.update("1"),
        lambda memory: memory.delete_all(),
        lambda memory: memory.add("x", user_id="a b"),
    )
    for call in calls:
        for memory in (theirs, ours):
            with pytest.raises(ValueError):  # noqa: PT011  # the words differ
                call(memory)
