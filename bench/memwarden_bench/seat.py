"""Runs a system in its own process, driven over a pipe: ``python -m memwarden_bench.seat '<JSON>'``.

Orders come as lines of JSON on stdin, answers go as lines of JSON to what was stdout; whatever the system prints
goes to stderr. Only the system's own calls are timed. A connection to another machine is an error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO, Any

from memwarden_bench.machine import memory_now, memory_peak
from memwarden_bench.systems import AT_DEFAULTS, ITEMS, SYSTEMS, Kind, MemwardenAtDefaults, System, model

MIN_QUESTIONS = 3
"""So many questions are asked, however long they take."""

Order = Mapping[str, Any]


def open_store(system: System, order: Order) -> Order:
    """Open the store."""
    return {"ms": _time_call(system.open)}


def add(system: System, order: Order) -> Order:
    """Add texts, all in a single call."""
    cpu = time.process_time()
    took = _time_call(partial(system.add, order["user"], order["texts"]))
    return {"ms": took, "cpu": 1_000 * (time.process_time() - cpu)}


def ask(system: System, order: Order) -> Order:
    """Ask questions in sequence until they or the seconds are spent.

    With ``own`` the model alone embeds each question after it was answered: what it takes then, it took in the answer.
    """
    times: list[float] = []
    spent: list[float] = []
    own: list[float] = []
    own_spent: list[float] = []
    embed = embed_alone(order["own"]) if order.get("own", "none") != "none" else None
    found: list[list[str]] = []
    end = time.perf_counter() + order["seconds"]
    for question in order["questions"]:
        cpu = time.process_time()
        times.append(_time_call(partial(_answer, found, system, order["user"], question, order.get("most", ITEMS))))
        spent.append(1_000 * (time.process_time() - cpu))
        if embed is not None:
            cpu = time.process_time()
            own.append(_time_call(partial(embed, question)))
            own_spent.append(1_000 * (time.process_time() - cpu))
        if len(times) >= MIN_QUESTIONS and time.perf_counter() > end:
            break
    return {"times": times, "cpu": spent, "found": found, "own": own, "own_cpu": own_spent}


def embed_alone(embedder: str) -> Callable[[str], object]:
    """Return what embeds a question as a query does, and nothing else: two models side by side."""
    from memwarden.models.side_by_side import SideBySidePieceEmbedder  # other checkouts may not have it

    made = model(embedder)
    if not isinstance(made, SideBySidePieceEmbedder):
        return lambda question: made.embed([question])
    pool = ThreadPoolExecutor(1)

    def both(question: str) -> object:
        other = pool.submit(made.read_whole, question)
        return made.join(made.read_pieces(question), other.result())

    return both


def add_and_ask(system: System, order: Order) -> Order:
    """Add single texts, with a question after each."""
    adds, asks = [], []
    for text, question in zip(order["texts"], order["questions"], strict=True):
        adds.append(_time_call(partial(system.add, order["user"], [text])))
        asks.append(_time_call(partial(system.ask, order["user"], question)))
    return {"adds": adds, "asks": asks}


def memory(system: System, order: Order) -> Order:
    """Return the memory of this process."""
    return {"now_mb": memory_now(), "peak_mb": memory_peak()}


def close_store(system: System, order: Order) -> Order:
    """Close the store."""
    return {"ms": _time_call(system.close)}


def settle(system: System, order: Order) -> Order:
    """Wait until everything that was added can be found."""
    return {"ms": _time_call(getattr(system, "settle", lambda: None))}


ORDERS: Mapping[str, Callable[[System, Order], Order]] = {
    "open": open_store,
    "add": add,
    "ask": ask,
    "add and ask": add_and_ask,
    "memory": memory,
    "close": close_store,
    "settle": settle,
}


def _kind(name: str) -> Kind:
    if name in SYSTEMS:
        return SYSTEMS[name]
    if name == AT_DEFAULTS.name:
        return AT_DEFAULTS
    from memwarden_bench.tier_systems import TIER_SYSTEMS  # what others need not hold in memory

    return TIER_SYSTEMS[name]


def serve(setting: Mapping[str, str], orders: IO[str], answers: IO[str]) -> None:
    """Execute orders until they end."""
    kind, folder = _kind(setting["system"]), Path(setting["folder"])
    if kind is AT_DEFAULTS:
        sys.modules["threadpoolctl"] = None  # type: ignore[assignment]  # it comes with packages of the tests alone
    system = MemwardenAtDefaults(folder) if kind is AT_DEFAULTS else kind.driver(folder, model(setting["embedder"]))
    for line in orders:
        order = json.loads(line)
        try:
            answer = ORDERS[order["do"]](system, order)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def refuse_connections(event: str, details: tuple[Any, ...]) -> None:
    """Audit hook that refuses connections to other machines."""
    if event == "socket.connect" and isinstance(details[1], tuple):
        raise ConnectionRefusedError("a benchmark of local stores tried to connect to another machine")


def _answer(found: list[list[str]], system: System, user: str, question: str, most: int) -> None:
    found.append(system.ask(user, question, most))


def _time_call(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - start)


def main() -> None:
    """Keep stdout for the answers and serve."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.addaudithook(refuse_connections)
    serve(json.loads(sys.argv[1]), sys.stdin, answers)


if __name__ == "__main__":
    main()
