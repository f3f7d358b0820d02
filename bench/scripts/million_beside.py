"""Asks memwarden and mem0 on pgvector in turn, among the same million memories.

python bench/scripts/million_beside.py URL_OF_MEMWARDEN URL_OF_MEM0 [SIZES]    fills both if empty, and asks both

Both use the small embedder of memwarden. mem0's rows are copied into its table as its library writes them, and its
vector index is made afterwards by its own statement, because adding them by its verbs would take hours.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import psycopg
from million_rows import AT_ONCE, FIRST_QUESTION, SETTINGS, SIZES, fill, make_rows, read_sizes, time_query, users

from memwarden import AsyncWarden
from memwarden.models.wordllama import shared_embedder
from memwarden_bench import sentences
from memwarden_bench.metrics import percentile
from memwarden_bench.systems import SameVectors

TABLE = "bench"
QUESTIONS = 40
ITEMS = 10
TIE = 1e-4  # cosines that count as equal: texts repeat, and vectors are stored as float32


class Mem0OnPostgres:
    """mem0's ``Memory`` over its vector store ``pgvector``, with ``infer=False`` and its defaults."""

    def __init__(self, url: str) -> None:
        self._url = url
        unused = {"provider": "openai", "config": {"api_key": "none"}}
        dimensions = shared_embedder().dimensions
        store = {"connection_string": url, "collection_name": TABLE, "embedding_model_dims": dimensions}
        self.memory = import_module("mem0").Memory.from_config(
            {"embedder": unused, "llm": unused, "vector_store": {"provider": "pgvector", "config": store}}
        )
        self.memory.embedding_model = SameVectors(shared_embedder())

    def fill(self, sizes: Mapping[int, int]) -> None:
        """Copy the rows of every namespace, in the form of a row that mem0 wrote."""
        self.memory.add([{"role": "user", "content": FIRST_QUESTION}], user_id="first", infer=False)
        with psycopg.connect(self._url, autocommit=True) as db:
            if (db.execute(f"SELECT count(*) FROM {TABLE}".encode()).fetchone() or (0,))[0] > 1:
                return
            (payload,) = db.execute(f"SELECT payload FROM {TABLE}".encode()).fetchone() or ({},)
            found = db.execute("SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'").fetchall()
            db.execute(f"DROP INDEX {TABLE}_hnsw_idx".encode())
            start = time.perf_counter()
            with db.cursor().copy(f"COPY {TABLE} (id, vector, payload) FROM STDIN".encode()) as copy:
                for row in self._rows(sizes, payload):
                    copy.write_row(row)
            between = time.perf_counter()
            db.execute("SET maintenance_work_mem = '1GB'")
            for (statement,) in found:
                db.execute(statement.encode())
            db.execute(f"ANALYZE {TABLE}".encode())
        print(f"mem0: copied in {between - start:.0f} s, index in {time.perf_counter() - between:.0f} s", flush=True)

    def ask(self, user: str, question: str) -> list[str]:
        found = self.memory.search(question, filters={"user_id": user}, top_k=ITEMS, threshold=0.0)
        return [item["memory"] for item in found["results"]]

    def _rows(self, sizes: Mapping[int, int], payload: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        rows = make_rows(max(sizes))
        vectors = [str(vector.tolist()) for vector in embed([text for text, _ in rows])]
        for user, size in users(sizes):
            for (text, _), vector in zip(rows[:size], vectors, strict=False):
                yield str(uuid.uuid4()), vector, json.dumps({**payload, **self._own(payload, user, text)})

    def _own(self, payload: Mapping[str, Any], user: str, text: str) -> dict[str, str]:
        """Return the fields of a row that differ from those of the first."""
        lemmas = "text_lemmatized"
        return {"data": text, "user_id": user, **({lemmas: text.lower()} if lemmas in payload else {})}


def embed(texts: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return unit vectors of texts."""
    parts = [shared_embedder().embed(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)]
    vectors = np.concatenate([np.asarray(part, np.float32) for part in parts])
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6), np.float32)


def share_of_exact(found: Sequence[str], question: np.ndarray[Any, Any], vectors: np.ndarray[Any, Any]) -> float:
    """Return the share of the ten nearest that were found. Another text of the same cosine counts."""
    bar = float(np.sort(vectors @ question)[-ITEMS])
    return sum(float(vector @ question) >= bar - TIE for vector in embed(found)) / ITEMS if found else 0.0


async def compare(url: str, other: str, sizes: Mapping[int, int]) -> None:
    mem0 = Mem0OnPostgres(other)
    await asyncio.to_thread(mem0.fill, sizes)
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        await fill(warden, sizes)
        vectors = embed([text for text, _ in make_rows(max(sizes))])
        for size in sizes:
            await compare_size(warden, mem0, size, vectors[:size])


async def compare_size(warden: AsyncWarden, mem0: Mem0OnPostgres, size: int, vectors: np.ndarray[Any, Any]) -> None:
    """Print times of both for one namespace, and the share of the nearest ten that mem0 finds."""
    user = f"u{size}-0"
    await time_query(warden, user, FIRST_QUESTION)
    await warden._runtime.services.larges.wait_idle()
    await time_query(warden, user, FIRST_QUESTION)
    mem0.ask(user, FIRST_QUESTION)
    ours, theirs, shares, counts = [], [], [], []
    for question in sentences.questions(QUESTIONS):
        ours.append(await time_query(warden, user, question))
        start = time.perf_counter()
        found = mem0.ask(user, question)
        theirs.append(1e3 * (time.perf_counter() - start))
        shares.append(share_of_exact(found, embed([question])[0], vectors))
        counts.append(len(found))
    ratio = percentile([mine / other for mine, other in zip(ours, theirs, strict=True)], 0.5)
    print(
        f"{size:>8,} rows, load {os.getloadavg()[0]:.1f}: memwarden {percentile(ours, 0.5):.1f} / "
        f"{percentile(ours, 0.95):.1f} ms, mem0 {percentile(theirs, 0.5):.1f} / {percentile(theirs, 0.95):.1f} ms, "
        f"ratio by question {ratio:.2f}; mem0 returns {sum(counts) / QUESTIONS:.1f} items, "
        f"{sum(shares) / QUESTIONS:.2f} of the exact ten",
        flush=True,
    )


def main(url: str, other: str, sizes: str = SIZES) -> None:
    asyncio.run(compare(url, other, read_sizes(sizes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
