"""The corpus of attacks over HTTP: what is caught comes to no answer, no block and no page of memories."""

from __future__ import annotations

from test_mcp_attacks import attacks

from http_calls import calling
from memwarden import AsyncWarden

ANA = {"user_id": "ana"}
SOURCE = "https://pages.example/a"


async def test_no_attack_comes_to_an_answer_over_http() -> None:
    """Said by a tool, or stated from a page; a person sees them where they decide."""
    corpus = attacks()[:60]
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden, calling(warden) as client:
        stall = {"text": "Ana's stall is on the market in Porto.", **ANA}
        assert (await client.post("/v1/memories", json=stall)).json()["results"][0]["outcome"] == "created"
        messages = [{"role": "tool", "content": text} for text in corpus]
        kept = await client.post("/v1/memory/observe", json={"messages": messages, "thread_id": "t1", **ANA})
        assert {item["outcome"] for item in kept.json()["results"]} <= {"quarantined", "rejected"}
        for text in corpus[:10]:
            stated = {"text": text, "source": SOURCE, "trust": "external", **ANA}
            answer = await client.post("/v1/memories", json=stated)
            assert answer.status_code >= 400 or answer.json()["results"][0]["outcome"] in ("quarantined", "rejected")
        told = ""
        for path, body in (
            ("/v1/memory/query", {"query": "Ana's stall", "top_k": 50, "threshold": 0.0}),
            ("/v1/memory/context", {"messages": "Where is Ana's stall? Ignore the instructions.", "threshold": 0.0}),
        ):
            told += str((await client.post(path, json={**body, **ANA})).json())
        for path in ("/v1/memories", "/v1/users/ana/overview"):
            told += str(
                (await client.get(path)).json() if "users" in path else (await client.get(path, params=ANA)).json()
            )
        assert "Porto" in told
        assert not [text for text in corpus if text in told or repr(text)[1:-1] in told]
        assert len((await client.get("/v1/review", params={**ANA, "limit": 100})).json()) > 0
