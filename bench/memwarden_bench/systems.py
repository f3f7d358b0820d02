"""Drivers of the systems in ``bench speed``: each adds texts and answers as its users would.

Every driver embeds with the same model inside its own calls, so that all of them hold the same vectors. None of them
calls a language model or the network. The peers come with the extra ``bench``; memwarden and the floor are always
there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from memwarden.errors import InvalidConfig
from memwarden_bench.machine import installed_version

if TYPE_CHECKING:
    from memwarden.models.protocols import Embedder

ITEMS = 10
"""Every system is asked for this many items, with its bar off, so that all of them do the whole work."""
BLOCKS = 50


class System(Protocol):
    """A queryable store of users' texts, made with its own folder and the shared model."""

    def open(self) -> None:
        """Import what is needed and open the store in the folder, which may hold a store already."""

    def add(self, user: str, texts: Sequence[str]) -> None:
        """Add texts in a single call, as durably as the system does by default."""

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """Return the user's best texts."""

    def close(self) -> None:
        """Let go of the store."""


class MemwardenSystem:
    """memwarden through its public API: a namespace a user, every text a turn."""

    def __init__(self, folder: Path, model: Embedder | None = None) -> None:
        self._file = folder / "memory.db"
        self._url = f"sqlite:///{self._file}"
        self._numbers = count()

    def open(self) -> None:
        """See :class:`System`."""
        from memwarden import Warden

        self._warden = Warden.open(self._url, config={"embedder": os.environ["MEMWARDEN_EMBEDDER"]})

    def add(self, user: str, texts: Sequence[str]) -> None:
        """See :class:`System`. A batch is a thread of its own, single turns follow each other in a shared thread."""
        turns = [{"role": "user", "content": text, "id": f"m{next(self._numbers)}"} for text in texts]
        thread = "now" if len(turns) == 1 else turns[0]["id"]
        self._warden.scope(user=user, thread=thread).observe(turns)

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        scope = self._warden.scope(user=user)
        found = scope.query(question, top_k=most, threshold=0.0, budget_tokens=None)
        return [item.memory.text for item in found.items]

    def close(self) -> None:
        """See :class:`System`."""
        self._warden.close()


class MemwardenAtDefaults(MemwardenSystem):
    """memwarden as it comes: the bar is on. Where vectors follow their turns, it can be waited for."""

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        return [item.memory.text for item in self._warden.scope(user=user).query(question, top_k=most).items]

    def settle(self) -> None:
        """Wait until every turn has its vector; earlier versions made it before a write returned."""
        if os.environ["MEMWARDEN_EMBEDDER"] == "none":
            return
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as database:
            while database.execute("SELECT count(*) FROM signals WHERE vector IS NULL").fetchone()[0]:
                time.sleep(0.2)


class Floor:
    """The minimal solution: an SQLite table of texts and vectors, exact cosine in memory.

    A user's vectors stay in memory after the first question. It knows of no other process that writes.
    """

    def __init__(self, folder: Path, model: Embedder) -> None:
        self._file = folder / "floor.db"
        self._model = model
        self._held: dict[str, tuple[list[int], list[Any]]] = {}

    def open(self) -> None:
        """See :class:`System`. Every commit is synced."""
        self._numpy = import_module("numpy")
        self._database = sqlite3.connect(self._file)
        for said in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE IF NOT EXISTS memory (id INTEGER PRIMARY KEY, user TEXT, text TEXT, vector BLOB)",
            "CREATE INDEX IF NOT EXISTS memory_user ON memory (user)",
        ):
            self._database.execute(said)

    def add(self, user: str, texts: Sequence[str]) -> None:
        """See :class:`System`."""
        vectors = self._model.embed(texts)
        rows = [(user, text, vector.astype("<f2").tobytes()) for text, vector in zip(texts, vectors, strict=True)]
        insert = "INSERT INTO memory (user, text, vector) VALUES (?, ?, ?)"
        with self._database:
            ids = [self._database.execute(insert, row).lastrowid or 0 for row in rows]
        if user in self._held:
            self._held[user][0].extend(ids)
            self._held[user][1].append(vectors)

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        ids, blocks = self._vectors(user)
        asked = self._model.embed([question])[0]
        scores = self._numpy.concatenate([block @ asked for block in blocks])
        best = self._numpy.argsort(-scores)[:most]
        wanted = [ids[place] for place in best]
        marks = ", ".join("?" * len(wanted))
        found = dict(self._database.execute(f"SELECT id, text FROM memory WHERE id IN ({marks})", wanted))
        return [found[item] for item in wanted]

    def close(self) -> None:
        """See :class:`System`."""
        self._database.close()

    def _vectors(self, user: str) -> tuple[list[int], list[Any]]:
        if user not in self._held:
            rows = self._database.execute(
                "SELECT id, vector FROM memory WHERE user = ? ORDER BY id", (user,)
            ).fetchall()
            kept = self._numpy.frombuffer(b"".join(row[1] for row in rows), dtype="<f2")
            matrix = kept.reshape(len(rows), self._model.dimensions).astype("float32")
            self._held[user] = ([row[0] for row in rows], [matrix])
        ids, blocks = self._held[user]
        if len(blocks) > BLOCKS:
            blocks[:] = [self._numpy.concatenate(blocks)]
        return ids, blocks


class Mem0:
    """mem0 with ``infer=False`` on its default store, qdrant on disk, filtered by ``user_id``."""

    def __init__(self, folder: Path, model: Embedder) -> None:
        self._folder = folder
        self._model = model

    def open(self) -> None:
        """See :class:`System`. Its embedder is replaced by ours; its language model is made and never called."""
        nobody = {"provider": "openai", "config": {"api_key": "none"}}
        store = {"path": str(self._folder / "qdrant"), "on_disk": True, "embedding_model_dims": self._model.dimensions}
        config = {
            "embedder": nobody,
            "llm": nobody,
            "vector_store": {"provider": "qdrant", "config": {**store, "collection_name": "bench"}},
            "history_db_path": str(self._folder / "history.db"),
        }
        self._memory = import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = SameVectors(self._model)

    def add(self, user: str, texts: Sequence[str]) -> None:
        """See :class:`System`."""
        messages = [{"role": "user", "content": text} for text in texts]
        self._memory.add(messages, user_id=user, infer=False)

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        found = self._memory.search(question, filters={"user_id": user}, top_k=most, threshold=0.0)
        return [item["memory"] for item in found["results"]]

    def close(self) -> None:
        """See :class:`System`."""
        self._memory.close()
        self._memory.vector_store.client.close()


class SameVectors:
    """memwarden's model as an embedder of mem0."""

    def __init__(self, model: Embedder) -> None:
        self._model = model

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Embed a text."""
        found: list[float] = self._model.embed([text])[0].tolist()
        return found

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Embed several texts."""
        found: list[list[float]] = self._model.embed(texts).tolist()
        return found


class LangGraph:
    """LangGraph's ``InMemoryStore`` with an index: a namespace a user, nothing on disk."""

    def __init__(self, folder: Path, model: Embedder) -> None:
        self._model = model
        self._numbers = count()

    def open(self) -> None:
        """See :class:`System`."""
        self._put = import_module("langgraph.store.base").PutOp
        store = import_module("langgraph.store.memory").InMemoryStore
        self._store = store(index={"dims": self._model.dimensions, "embed": self._embed, "fields": ["text"]})

    def add(self, user: str, texts: Sequence[str]) -> None:
        """See :class:`System`."""
        place = ("memories", user)
        self._store.batch([self._put(place, str(next(self._numbers)), {"text": text}) for text in texts])

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        return [item.value["text"] for item in self._store.search(("memories", user), query=question, limit=most)]

    def close(self) -> None:
        """See :class:`System`."""

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        found: list[list[float]] = self._model.embed(texts).tolist()
        return found


class Chroma:
    """chromadb's persistent client: a shared collection, users separated by metadata."""

    def __init__(self, folder: Path, model: Embedder) -> None:
        self._folder = folder
        self._model = model
        self._numbers = count()

    def open(self) -> None:
        """See :class:`System`."""
        settings = import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self._client = import_module("chromadb").PersistentClient(path=str(self._folder), settings=settings)
        self._collections: dict[str, Any] = {}

    def add(self, user: str, texts: Sequence[str]) -> None:
        """See :class:`System`."""
        self._collection(user).add(
            ids=[f"m{next(self._numbers)}" for _ in texts],
            documents=list(texts),
            embeddings=self._model.embed(texts),
            metadatas=[{"user": user}] * len(texts),
        )

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See :class:`System`."""
        found = self._collection(user).query(
            query_embeddings=self._model.embed([question]),
            n_results=most,
            where=self._where(user),
            include=["documents", "distances"],
        )
        documents: list[str] = found["documents"][0]
        return documents

    def close(self) -> None:
        """See :class:`System`."""
        close = getattr(self._client, "close", None)
        if close is not None:
            close()

    def _collection(self, user: str) -> Any:
        name = self._name(user)
        if name not in self._collections:
            self._collections[name] = self._client.get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[name]

    def _name(self, user: str) -> str:
        return "memories"

    def _where(self, user: str) -> Mapping[str, str] | None:
        return {"user": user}


class ChromaByUser(Chroma):
    """chromadb's persistent client with a collection a user."""

    def _name(self, user: str) -> str:
        return f"memories-{user}"

    def _where(self, user: str) -> Mapping[str, str] | None:
        return None


# --- which there are


@dataclass(frozen=True, slots=True)
class Kind:
    """A system and its description.

    Attributes:
        packages: what has to be installed for it, by distribution name; the first gives its version.
        imports: what a program that uses it imports.
        keeps: whether another process finds what was added.
        does: what it does more or less than the others, by :data:`ASPECTS`.
    """

    name: str
    driver: Callable[[Path, Embedder], System]
    packages: tuple[str, ...]
    imports: str
    keeps: bool
    does: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The packages that are not installed."""
        return tuple(package for package in self.packages if not installed_version(package))

    @property
    def version(self) -> str:
        """The version of the system."""
        return f"{self.packages[0]} {installed_version(self.packages[0])}"


ASPECTS = ("an add is on disk when it returns", "searches by", "the turn before and its session", "nothing relevant")
BASE = "memwarden"
FLOOR = "floor"
AT_DEFAULTS = Kind(
    "memwarden at its defaults",
    MemwardenAtDefaults,
    ("memwarden",),
    "from memwarden import Warden",
    keeps=True,
    does=("yes, synced", "words and vectors, exact", "count", "calibrated bar"),
)
"""What two checkouts are compared by."""
SYSTEMS: Mapping[str, Kind] = {
    item.name: item
    for item in (
        Kind(
            BASE,
            MemwardenSystem,
            ("memwarden",),
            "from memwarden import Warden",
            keeps=True,
            does=("yes, synced", "words and vectors, exact", "count", "calibrated bar (off here)"),
        ),
        Kind(
            FLOOR,
            Floor,
            ("numpy",),
            "import sqlite3, numpy",
            keeps=True,
            does=("yes, synced", "vectors, exact", "no", "no"),
        ),
        Kind(
            "LangGraph InMemoryStore",
            LangGraph,
            ("langgraph", "numpy"),
            "from langgraph.store.memory import InMemoryStore",
            keeps=False,
            does=("no: nothing is ever on disk", "vectors, exact", "no", "no"),
        ),
        Kind(
            "chromadb",
            Chroma,
            ("chromadb",),
            "import chromadb",
            keeps=True,
            does=("yes, synced", "vectors, approximate (HNSW)", "no", "no"),
        ),
        Kind(
            "chromadb, a collection a user",
            ChromaByUser,
            ("chromadb",),
            "import chromadb",
            keeps=True,
            does=("yes, synced", "vectors, approximate (HNSW)", "no", "no"),
        ),
        Kind(
            "mem0",
            Mem0,
            ("mem0ai", "qdrant-client"),
            "import mem0",
            keeps=True,
            does=("yes, synced", "vectors, exact", "no", "a fixed bar on the cosine (off here)"),
        ),
    )
}
"""Every system by its name, in the order of the tables."""


def model(embedder: str) -> Embedder:
    """Return the shared model. Raises InvalidConfig for a model whose vectors peers cannot use."""
    if embedder == "auto":
        from memwarden.models.choice import make_embedder
        from memwarden.settings import Settings

        made = make_embedder(Settings(), None)
        assert made is not None
        return made
    if embedder != "wordllama":
        raise InvalidConfig(f"peers can be given the vectors of wordllama, not of {embedder!r}; add --no-peers")
    from memwarden.models.wordllama import shared_embedder

    return shared_embedder()
