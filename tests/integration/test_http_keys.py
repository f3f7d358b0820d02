"""Keys: hashed in the store, bound to tenant, user, agent and operations, expiring, revocable."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from http_calls import calling, make_key, said
from memwarden import AsyncWarden, clock
from memwarden.errors import InvalidInput, KeyRefused, NotFound
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.http.keys import KeyRing

CONFIG = {"embedder": "none"}


@pytest.fixture
def url(items_url: str) -> str:
    return items_url


async def test_a_key_is_made_checked_listed_and_revoked(async_warden: AsyncWarden) -> None:
    ring = KeyRing(async_warden.store)
    assert not await ring.has_keys()
    made = await ring.create(tenant="acme", user="ana", agent="planner", operations=["read"], name="phone")
    assert made.text.startswith("mw_")
    assert len(made.text) == 63
    known = await ring.check(made.text)
    assert known == made.key
    assert (known.grant.tenant, known.grant.user, known.grant.agent, known.grant.operations) == (
        "acme", "ana", "planner", ("read",),
    )  # fmt: skip
    wrong = made.text[:-1] + ("A" if made.text[-1] != "A" else "B")
    for text in ("", "mw_", wrong, "mw_0000000000000000_" + made.text[-43:], made.text + "\n", made.text.upper()):
        with pytest.raises(KeyRefused):
            await ring.check(text)
    await ring.revoke(known.id)
    with pytest.raises(KeyRefused, match="revoked"):
        await ring.check(made.text)
    assert [(key.id, key.revoked_at is not None) for key in await ring.find()] == [(known.id, True)]
    assert await ring.has_keys()
    with pytest.raises(NotFound):
        await ring.revoke("0000000000000000")


async def test_a_key_ends_by_itself(async_warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = KeyRing(async_warden.store)
    made = await ring.create(lifetime=timedelta(hours=12))
    await ring.check(made.text)
    later = datetime.now(UTC) + timedelta(hours=12, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    with pytest.raises(KeyRefused, match="expired"):
        await ring.check(made.text)


@pytest.mark.parametrize(
    "wrong", [{"operations": []}, {"operations": ["root"]}, {"user": ""}, {"lifetime": timedelta()}, {"tenant": "a\n"}]
)
async def test_a_wrong_grant_is_refused(async_warden: AsyncWarden, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await KeyRing(async_warden.store).create(**wrong)
    assert not await KeyRing(async_warden.store).has_keys()


async def test_the_store_holds_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    async with AsyncWarden.open(f"sqlite:///{file}", config=CONFIG) as warden:
        text = await make_key(warden)
    held = file.read_bytes()
    assert text.split("_")[1].encode() in held
    assert text[-43:].encode() not in held


async def test_keys_are_no_memory_and_no_namespace_of_anybody(async_warden: AsyncWarden) -> None:
    await make_key(async_warden)
    assert await async_warden.users() == []
    assert await async_warden.store.namespaces() == []


async def test_a_grant_may_be_narrowed_and_nothing_else(async_warden: AsyncWarden) -> None:
    bound = await make_key(async_warden, user="ana", operations=["read", "write"])
    wide = await make_key(async_warden)
    planner = await make_key(async_warden, user="ana", agent="planner")
    body = {"messages": [said("I am allergic to peanuts.")]}
    async with calling(async_warden, key=bound) as client:
        assert (await client.post("/v1/memory/observe", json=body)).status_code == 200
        assert (await client.post("/v1/memory/observe", json={**body, "user_id": "ana"})).status_code == 200
        assert (await client.post("/v1/memory/observe", json={**body, "user_id": "tom"})).status_code == 403
        asked = {"query": "peanuts?", "filters": {"user_id": "tom"}}
        assert (await client.post("/v1/memory/query", json=asked)).status_code == 403
        assert (await client.get("/v1/memories", params={"user_id": "tom"})).status_code == 403
        assert len((await client.get("/v1/memories")).json()["items"]) == 1
    async with calling(async_warden, key=wide) as client:
        assert len((await client.get("/v1/memories", params={"user_id": "ana"})).json()["items"]) == 1
        assert (await client.get("/v1/memories", params={"user_id": "tom"})).json()["items"] == []
    async with calling(async_warden, key=planner) as client:
        assert (await client.get("/v1/memories", params={"agent": "stylist"})).status_code == 403
        assert (await client.get("/v1/memories", params={"agent": "planner"})).status_code == 200
    refusals = await async_warden.scope(user="ana").journal.events(status="error")
    assert len(refusals) == 4
    assert {event.reason for event in refusals} == {"key"}
    assert await async_warden.scope(user="tom").journal.events(status="error") == []


async def test_a_tenant_sees_nothing_of_another(async_warden: AsyncWarden) -> None:
    here, there = await make_key(async_warden, tenant="one"), await make_key(async_warden, tenant="two")
    async with calling(async_warden, key=here) as client:
        made = await client.post("/v1/memories", json={"user_id": "ana", "text": "Ana likes tea."})
    async with calling(async_warden, key=there) as client:
        assert (await client.get("/v1/memories", params={"user_id": "ana"})).json()["items"] == []
        place = f"/v1/memories/{made.json()['results'][0]['id']}"
        assert (await client.get(place, params={"user_id": "ana"})).status_code == 404


async def test_with_a_key_in_the_store_nobody_comes_in_without(async_warden: AsyncWarden) -> None:
    async with calling(async_warden) as client:
        assert (await client.get("/v1/memories")).status_code == 200
        ring = KeyRing(async_warden.store)
        made = await ring.create()
        refused = await client.get("/v1/memories")
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        await ring.revoke(made.key.id)
        assert (await client.get("/v1/memories")).status_code == 401
        basic = await client.get("/v1/memories", headers={"Authorization": "Basic YTpi"})
        assert basic.status_code == 401


def test_the_command_line_makes_lists_and_revokes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", f"sqlite:///{tmp_path / 'keys.db'}", "--embedder", "none"]
    assert run(["key", "create", "--user", "ana", "--operation", "read", "--expires-in", "2d", "--json", *db]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {name: made[name] for name in ("user", "agent", "tenant", "operations", "alive")} == {
        "user": "ana", "agent": None, "tenant": "default", "operations": ["read"], "alive": True,
    }  # fmt: skip
    assert made["key"].startswith(f"mw_{made['id']}_")
    lifetime = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert lifetime == timedelta(days=2)
    assert run(["key", "list", *db]) == 0
    listed = capsys.readouterr().out
    assert made["id"] in listed
    assert f"until {datetime.fromisoformat(made['expires_at']):%d %b %Y}" in listed
    assert made["key"] not in listed
    assert run(["key", "revoke", made["id"], "--json", *db]) == 0
    assert json.loads(capsys.readouterr().out)["alive"] is False
    assert run(["key", "revoke", "0000000000000000", *db]) == 3
    assert run(["key", "create", "--expires-in", "soon", *db]) == 2
    assert "12h or 90d" in capsys.readouterr().err


def test_another_address_takes_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", f"sqlite:///{tmp_path / 'keys.db'}", "--embedder", "none"]
    assert run(["serve", "--host", "0.0.0.0", "--port", "0", *db]) == 2
    assert "memwarden key create" in capsys.readouterr().err
