"""Categories and allowlists are changed over HTTP, hold at once, outlive the server and reach every process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http import categories

CONFIG = {"embedder": "none"}
CONTENT = {
    "categories": [
        {"name": "activity", "context": "all"},
        {"name": "style", "rag_length": 5, "expire_days": 9, "half_life_days": 30},
    ],
    "allowlists": {"gardener": ["activity"]},
}


POLICY = {"expire_days": None, "expire_below": None, "half_life_days": None, "never_expires": False}


async def test_a_policy_of_expiry_is_put_and_kept() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as client:
        content = {"categories": [{"name": "health", "expire_days": "never", "expire_below": 0.2}], "allowlists": {}}
        assert (await client.put("/v1/config/categories", json=content)).status_code == 200
        await client.put("/v1/agents/planner/allowlist", json={"categories": ["health"]})
        (shown, *_) = (await client.get("/v1/config/categories")).json()["categories"]
        assert (shown["name"], shown["never_expires"], shown["expire_below"]) == ("health", True, 0.2)
        assert warden.settings.categories.declared["health"].never_expires


async def test_an_allowlist_holds_from_the_next_call_on() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as client:
        await client.post("/v1/memories", json={"user_id": "ana", "text": "Ana hums.", "category": "tone"})
        seen = {"user_id": "ana", "agent": "planner"}
        assert (await client.get("/v1/memories", params=seen)).json()["items"] == []
        put = await client.put("/v1/agents/planner/allowlist", json={"categories": ["tone"]})
        # What it works with goes with the whole configuration alone.
        assert put.json() == {"agent": "planner", "categories": ["tone", "state", "procedural", "agent:planner"]}
        assert [item["text"] for item in (await client.get("/v1/memories", params=seen)).json()["items"]] == [
            "Ana hums."
        ]
        assert (await client.get("/v1/agents/stylist/allowlist")).json()["categories"][:2] == ["preferences", "tone"]
        await client.put("/v1/agents/planner/allowlist", json={"categories": []})
        assert (await client.get("/v1/memories", params=seen)).json()["items"] == []


async def test_categories_take_the_place_of_all_earlier_ones() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as client:
        put = (await client.put("/v1/config/categories", json=CONTENT)).json()
        assert put == (await client.get("/v1/config/categories")).json()
        assert put["allowlists"] == {"gardener": ["activity", "agent:gardener"]}
        assert put["categories"][:2] == [
            {**POLICY, "name": "activity", "always": True, "rag_length": None},
            {**POLICY, "name": "style", "always": False, "rag_length": 5, "expire_days": 9, "half_life_days": 30.0},
        ]
        unknown = await client.get("/v1/memories", params={"agent": "planner"})
        assert (unknown.status_code, unknown.json()["error"]) == (403, "UnknownAgent")


@pytest.mark.parametrize(
    "wrong",
    [
        {"categories": [{"name": "a"}, {"name": "a"}], "allowlists": {}},
        {"categories": [{"name": "a", "context": "all", "rag_length": 3}], "allowlists": {}},
        {"categories": [{"name": "agent:a"}], "allowlists": {}},
        {"categories": [{"name": "a"}], "allowlists": {"planner": [""]}},
    ],
)
async def test_wrong_categories_change_nothing(wrong: dict[str, object]) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as client:
        before = (await client.get("/v1/config/categories")).json()
        refused = await client.put("/v1/config/categories", json=wrong)
        assert (refused.status_code, refused.json()["error"]) == (422, "InvalidInput")
        assert (await client.get("/v1/config/categories")).json() == before


async def test_they_outlive_the_server_and_reach_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(categories, "FOLLOW_SECONDS", 0.0)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    async with AsyncWarden.open(url, config=CONFIG) as other, calling(other) as beside:
        assert (await beside.get("/v1/agents/gardener/allowlist")).status_code == 404
        async with AsyncWarden.open(url, config=CONFIG) as warden, calling(warden) as client:
            assert (await client.put("/v1/config/categories", json=CONTENT)).status_code == 200
        assert (await beside.get("/v1/agents/gardener/allowlist")).json()["categories"][0] == "activity"
    async with AsyncWarden.open(url, config=CONFIG) as again, calling(again) as client:
        assert (await client.get("/v1/agents/gardener/allowlist")).status_code == 200


async def test_allowlists_that_are_put_at_once_are_all_kept(tmp_path: Path) -> None:
    """In one process and in two; none that was acknowledged goes."""
    url, agents = f"sqlite:///{tmp_path / 'store.db'}", [f"agent-{number}" for number in range(8)]
    async with (
        AsyncWarden.open(url, config=CONFIG) as one,
        AsyncWarden.open(url, config=CONFIG) as two,
        calling(one) as first,
        calling(two) as second,
    ):
        calls = [
            (first, second)[number % 2].put(f"/v1/agents/{agent}/allowlist", json={"categories": ["tone"]})
            for number, agent in enumerate(agents)
        ]
        assert [answer.status_code for answer in await asyncio.gather(*calls)] == [200] * len(agents)
    async with AsyncWarden.open(url, config=CONFIG) as again, calling(again) as client:
        kept = (await client.get("/v1/config/categories")).json()["allowlists"]
        assert kept.keys() >= set(agents)
        await client.put("/v1/config/categories", json=CONTENT)
        assert (await client.get("/v1/config/categories")).json()["allowlists"].keys() == {"gardener"}


async def test_only_operators_of_the_whole_store_change_them() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        for grant in ({"user": "ana"}, {"agent": "planner"}, {"tenant": "acme"}):
            key = await make_key(warden, operations=["operate"], **grant)
            async with calling(warden, key=key) as client:
                for path, body in (("config/categories", CONTENT), ("agents/planner/allowlist", {"categories": []})):
                    assert (await client.put(f"/v1/{path}", json=body)).status_code == 403, (grant, path)
