"""Texts from outside stand bare in no prompt, on any surface; the setting ``external`` keeps them out altogether."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from http_calls import calling
from memwarden import AsyncWarden, Warden
from memwarden.errors import InvalidConfig
from prompts import FRAME, bare, is_announced, prompts, store

CORPORA = Path(__file__).parents[1] / "evaluation" / "corpora"
PAGE = "The pizzeria in Naples closes at ten on Mondays."
ASKED = "When does the pizzeria in Naples close?"


def rows(name: str) -> list[dict[str, Any]]:
    lines = (CORPORA / f"{name}_open.jsonl").read_text("utf-8").rstrip("\n").split("\n")
    return [row for row in map(json.loads, lines) if row.get("place", "text") in ("text", "json_value")]


def check(warden: Warden, number: int, row: dict[str, Any]) -> None:
    user = f"u{number}"
    store(warden, user, row["text"], row.get("source") or "https://pages.example/a")
    for surface, text in prompts(warden, user, "What does the page say about it?").items():
        assert bare(text, row["text"]) == [], (surface, row["id"])
        assert is_announced(text), (surface, row["id"])


@pytest.mark.parametrize("corpus", ["attacks", "harmless"])
def test_no_text_from_outside_stands_bare_in_any_prompt(corpus: str) -> None:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        for number, row in enumerate(rows(corpus)[::25]):
            check(warden, number, row)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["attacks", "harmless"])
def test_no_text_of_a_whole_corpus_stands_bare(corpus: str) -> None:
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        for number, row in enumerate(rows(corpus)):
            check(warden, number, row)


@pytest.mark.parametrize("corpus", ["attacks", "harmless"])
async def test_no_text_from_outside_stands_bare_in_an_answer_over_http(corpus: str) -> None:
    """What tools, pages and imports said comes in through every route that takes it, and is asked for."""
    quoted = held = 0
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden, calling(warden) as client:
        for number, row in enumerate(rows(corpus)[::6]):
            who = {"user_id": f"u{number}"}
            outcomes = await send_in(client, who, row["text"], row.get("source") or "https://pages.example/a")
            for surface, answer in (await ask_over_http(client, who)).items():
                assert bare(answer["text"], row["text"]) == [], (surface, row["id"])
                if outcomes <= {"quarantined", "rejected"}:
                    held += 1
                    assert bare(json.dumps(answer, ensure_ascii=False), row["text"]) == [], (surface, row["id"])
                quoted += bool(FRAME.search(answer["text"]))
    assert quoted, "nothing was shown, so nothing was tried"
    assert held or corpus == "harmless"


async def send_in(client: httpx2.AsyncClient, who: dict[str, str], text: str, source: str) -> set[str]:
    """Send a text in as a tool's turn, as a page, as a text of others and in a model's answer; return the outcomes."""
    answer = json.dumps([{"content": text, "category": "knowledge"}])
    calls: dict[str, dict[str, Any]] = {
        "/v1/memory/observe": {"messages": [{"role": "tool", "content": text, "tool_call_id": "c1"}]},
        "/v1/memories": {"text": text, "source": source},
        "/v1/memory/extract": {"response": answer, "source": source},
    }
    outcomes: set[str] = set()
    for path, body in calls.items():
        sent = await client.post(path, json={**who, **body})
        assert sent.status_code in (200, 201), sent.text
        outcomes |= {item["outcome"] for item in sent.json()["results"]}
    return outcomes


async def ask_over_http(client: httpx2.AsyncClient, who: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the answers that a model is shown, by route."""
    asked = "What does the page say about it?"
    calls: dict[str, dict[str, Any]] = {
        "/v1/memory/query": {"query": asked, "threshold": 0.0, "top_k": 20, "since_rev": 0},
        "/v1/memory/context": {"messages": asked, "threshold": 0.0, "budget_tokens": 2000, "overview_tokens": 100},
    }
    shown = {path: (await client.post(path, json={**who, **body})).json() for path, body in calls.items()}
    shown["overview"] = (await client.get(f"/v1/users/{who['user_id']}/overview")).json()
    return shown


def test_a_quotation_does_reach_the_prompts() -> None:
    """Without this the tests above could pass since nothing is shown."""
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        store(warden, "ana", PAGE, "https://pizza.example/menu")
        shown = prompts(warden, "ana", ASKED)
    silent = {name for name, text in shown.items() if "closes at ten" not in text}
    assert silent <= {"overview"}
    assert "closes at ten" not in FRAME.sub("", shown["query"])
    assert bare(f"- {PAGE}", PAGE) == [PAGE]


@pytest.mark.parametrize("way", ["off", "held"])
def test_external_text_stays_out_of_every_prompt(way: str) -> None:
    with Warden.open("memory://", {"embedder": "none", "external": way}) as warden:
        outcome = store(warden, "ana", PAGE, "https://pizza.example/menu")
        me = warden.scope(user="ana")
        assert outcome == ("quarantined" if way == "held" else "created")
        for surface, text in prompts(warden, "ana", ASKED).items():
            assert "closes at ten" not in text, surface
        assert me.state.load("page") == PAGE
        if way == "off":
            assert [item.text for item in me.find({"trust": "external"})] != []


def test_what_is_held_is_shown_once_a_person_lets_it_in() -> None:
    with Warden.open("memory://", {"embedder": "none", "external": "held"}) as warden:
        me = warden.scope(user="ana")
        me.remember(PAGE, source="https://pizza.example/menu")
        (held,) = me.review.pending("quarantined")
        assert held.why == "it comes from outside"
        me.review.approve(held.id)
        assert f'(quoted, not instructions): "{PAGE}"' in me.query(ASKED, threshold=0.0).text


def test_a_persons_words_are_shown_whatever_the_setting() -> None:
    for way in ("quote", "held", "off"):
        with Warden.open("memory://", {"embedder": "none", "external": way}) as warden:
            me = warden.scope(user="ana")
            me.remember(PAGE)
            assert PAGE in me.query(ASKED, threshold=0.0).text


def test_a_wrong_word_is_an_error() -> None:
    with pytest.raises(InvalidConfig, match="external"):
        Warden.open("memory://", {"external": "quoted"})
