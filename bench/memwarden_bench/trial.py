"""Runs a trial of ``bench speed`` in its own process: ``python -m memwarden_bench.trial '<JSON>'``.

The process prints a line of JSON. Memory is that of this process only, and a fresh process is really fresh.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memwarden_bench.machine import memory_peak

WARM_UP = 5
THREAD = 10
"""Turns of a conversation."""
USER = "bench"


def ask_once(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """Open and ask a single question, as a command line does.

    The parent's clock has run since the process began.
    """
    from memwarden import Warden

    start = time.perf_counter()
    with Warden.open(order["url"], config={"embedder": order["embedder"]}) as warden:
        opened = time.perf_counter()
        found = warden.scope(user=USER).query(order["question"], top_k=10)
        answered = time.perf_counter()
        print(json.dumps({"answered": True, "items": len(found.items)}), flush=True)
    return {"open_ms": 1_000 * (opened - start), "query_ms": 1_000 * (answered - opened)}


def fill(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write the rows in threads of 20 turns a call, then single turns."""
    from memwarden import Warden
    from memwarden_bench import metrics, sentences

    data = Path(order["data"]) if order["data"] else None
    made = sentences.threads(rows_of(data, order["rows"]))
    calls: list[float] = []
    with Warden.open(order["url"], config={"embedder": order["embedder"]}) as warden:
        for thread, messages in made:
            scope = warden.scope(user=USER, thread=thread)
            start = time.perf_counter()
            scope.observe(messages)
            calls.append(time.perf_counter() - start)
        single = []
        scope = warden.scope(user="single", thread="single")
        for message in sentences.turns(order["singles"], seed=7):
            start = time.perf_counter()
            scope.observe(message)
            single.append(1_000 * (time.perf_counter() - start))
    return {
        "turns_per_second": order["rows"] / sum(calls),
        "call_p50_ms": 1_000 * metrics.percentile(calls, 0.5),
        "single_p50_ms": metrics.percentile(single, 0.5),
        "single_p95_ms": metrics.percentile(single, 0.95),
        "rss_mb": memory_peak(),
    }


def ask(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask many questions hot, then each of a few on a fresh warden with a cold namespace."""
    from memwarden import Warden
    from memwarden_bench import metrics, sentences

    config = {"embedder": order["embedder"]}
    questions = order["questions"] or sentences.questions(order["queries"])
    asked = [questions[number % len(questions)] for number in range(order["queries"])]
    with Warden.open(order["url"], config=config) as warden:
        me = warden.scope(user=USER)
        for question in questions[:WARM_UP]:
            me.query(question, top_k=10)
        hot = [_time_query(me, question) for question in asked]
        rss = memory_peak()
    cold = []
    for question in asked[: order["colds"]]:
        with Warden.open(order["url"], config=config) as warden:
            me = warden.scope(user=USER)
            cold.append(_time_query(me, question))
    return {
        "hot_p50_ms": metrics.percentile(hot, 0.5),
        "hot_p95_ms": metrics.percentile(hot, 0.95),
        "cold_p50_ms": metrics.percentile(cold, 0.5),
        "cold_p95_ms": metrics.percentile(cold, 0.95),
        "rss_mb": rss,
    }


def turns(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run whole turns with an instant model: what memory adds to them."""
    from memwarden import Warden
    from memwarden_bench import metrics, sentences

    questions = order["questions"] or sentences.questions(order["queries"])
    found: dict[str, float] = {}
    with Warden.open(order["url"], config={"embedder": order["embedder"]}) as warden:
        for name, mode in (("turn", "llm_triggered"), ("looked", "every_turn")):
            taken = [
                _turn(warden, f"{name} {number // THREAD}", f"{questions[number % len(questions)]} ({number})", mode)
                for number in range(WARM_UP + order["queries"])
            ][WARM_UP:]
            found |= {
                f"{name}_p50_ms": metrics.percentile(taken, 0.5),
                f"{name}_p95_ms": metrics.percentile(taken, 0.95),
            }
    return found


def _turn(warden: Any, thread: str, question: str, mode: str) -> float:
    """Return milliseconds before the model's call and after its answer. mode: the extraction setting."""
    from memwarden.conversation.settings import ChatSettings

    settings = ChatSettings(use_memory=True, memory_extraction_mode=mode)
    turn = warden.scope(user=USER, thread=thread).turn([{"role": "user", "content": question}], settings)
    start = time.perf_counter()
    with turn:
        entered = time.perf_counter()
        turn.record_response(f"That is a good question. Here is what I know of it: {question}")
        said = time.perf_counter()
    return 1_000 * (entered - start + time.perf_counter() - said)


def rows_of(data: Path | None, rows: int) -> Iterator[Mapping[str, Any]]:
    """Return this many turns, generated or from a file."""
    from memwarden.surfaces.conversation_files import read_conversations
    from memwarden_bench import sentences

    if data is None:
        return sentences.turns(rows)
    talks = read_conversations(data)
    messages = [message for talk in talks for session in talk.sessions for message in session.messages]
    return sentences.vary(messages, rows)


def _time_query(me: Any, question: str) -> float:
    start = time.perf_counter()
    me.query(question, top_k=10)
    return 1_000 * (time.perf_counter() - start)


TRIALS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "ask_once": ask_once,
    "fill": fill,
    "ask": ask,
    "turns": turns,
}

if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(TRIALS[given["trial"]](given)))
