"""Data in and out over HTTP, and out for good: with progress, by keys of owners alone."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden
from memwarden.errors import Conflict, InvalidInput
from memwarden.remember.imports.source import ImportOptions
from server_process import ServerProcess

CONFIG = {"embedder": "none", "extraction": "off"}
OPERATIONS = ["read", "write", "decide", "operate"]
CHAT = "31/12/2023, 22:05 - Ana: I bake rye bread\n31/12/2023, 22:06 - Bo: <Media omitted>\n"
MEM0 = json.dumps({"results": [{"id": "1", "memory": "Ana keeps bees", "user_id": "ana", "created_at": "2024-01-01"}]})


@pytest.fixture
async def warden() -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open("memory://", config=CONFIG) as opened:
        yield opened


async def test_a_file_is_imported_and_its_progress_told(warden: AsyncWarden) -> None:
    key = await make_key(warden, user="ana", operations=["write"])
    asked = {"name": "WhatsApp Chat with Bo.txt", "zone": "Europe/Lisbon"}
    async with calling(warden, key=key) as client:
        planned = await client.post("/v1/import", content=CHAT.encode(), params={**asked, "dry_run": True})
        assert (planned.json()["stored"], await warden.users()) == (1, [])
        lines = await client.post(
            "/v1/import", content=CHAT.encode(), params=asked, headers={"Accept": "application/x-ndjson"}
        )
        told = [json.loads(line) for line in lines.text.splitlines()]
        assert told[-1]["summary"]["skipped"] == {"messages without words": 1}
        assert told[0] == {"done": 1, "total": 1}
        again = (await client.post("/v1/import", content=CHAT.encode(), params=asked)).json()
        assert (again["stored"], again["known"], again["formats"]) == (0, 1, ["whatsapp"])
        broken = await client.post("/v1/import", content=b'[{"role": "user",\n"content": }]')
        assert broken.status_code == 422
        assert "'import', line 2: no valid JSON" in broken.json()["detail"]
        failed = await client.post("/v1/import", content=b"{", headers={"Accept": "application/x-ndjson"})
        assert json.loads(failed.text.splitlines()[-1])["error"] == "InvalidInput"
        assert (await client.post("/v1/import")).status_code == 422
    (turn,) = await warden.scope(user="ana").find({"thread_id": "WhatsApp Chat with Bo"})
    assert turn.created_at.isoformat() == "2023-12-31T22:05:00+00:00"


async def test_a_small_body_that_unpacks_to_much_is_refused(warden: AsyncWarden) -> None:
    key = await make_key(warden, user="ana", operations=["write"])
    alias = "---\na: &a [x, x]\nb: [*a, *a]\n---\nBees\n"
    bodies = {"long.md: over 16,777,216 bytes": {"long.md": "x\n" * 8_388_609}, "a YAML alias": {"n.md": alias}}
    value = json.dumps({"results": [{"id": "1", "memory": "x" * 68_000_000}]})
    bodies["unpacks to more than 67,108,864 bytes"] = {"conversations.json": value}
    bodies["_chat.txt, line 2: over 16,777,216 bytes"] = {"_chat.txt": CHAT.split("\n")[0] + "\n" + "x" * 16_777_217}
    async with calling(warden, key=key) as client:
        for said, notes in bodies.items():
            body = io.BytesIO()
            with ZipFile(body, "w", ZIP_DEFLATED) as archive:
                for name, text in notes.items():
                    archive.writestr(name, text)
            answer = await client.post("/v1/import", content=body.getvalue(), params={"name": "a.zip"})
            assert (answer.status_code, said in answer.json()["detail"]) == (422, True)
    assert await warden.users() == []


@pytest.mark.parametrize("name", ["a\0b", "\u00e9" * 200])
async def test_a_name_that_no_file_can_have_is_refused(warden: AsyncWarden, name: str) -> None:
    async with calling(warden, key=await make_key(warden, user="ana", operations=["write"])) as client:
        answer = await client.post("/v1/import", content=MEM0.encode(), params={"name": name})
        assert (answer.status_code, "name must be" in answer.json()["detail"]) == (422, True)


async def test_the_key_decides_whose_it_is_and_who_vouches(warden: AsyncWarden) -> None:
    async with calling(warden, key=await make_key(warden, user="bo", operations=["write"])) as client:
        assert (await client.post("/v1/import", content=MEM0.encode())).json()["users"] == ["bo"]
        vouched = await client.post("/v1/import", content=MEM0.encode(), params={"trust": "person"})
        assert vouched.status_code == 403
    async with calling(warden, key=await make_key(warden, operations=["write", "decide"])) as client:
        assert (await client.post("/v1/import", content=MEM0.encode(), params={"trust": "person"})).status_code == 200
    assert await warden.users() == ["ana", "bo"]
    (item,) = await warden.scope(user="ana").find({})
    assert item.trust == "person"


async def test_no_agent_and_no_stranger_takes_a_persons_memory(warden: AsyncWarden, tmp_path: Path) -> None:
    await warden.scope(user="ana").remember("Ana keeps bees.")
    await warden.export(tmp_path / "ana.zip", user="ana")
    agent = await make_key(warden, agent="planner", operations=OPERATIONS)
    stranger = await make_key(warden, user="bo", operations=OPERATIONS)
    writer = await make_key(warden, user="ana", operations=["read", "write"])
    erased = {"confirm": "ana"}
    async with calling(warden, key=agent) as client:
        assert (await client.get("/v1/export", params={"user_id": "ana"})).status_code == 403
        assert (await client.post("/v1/import", content=MEM0.encode())).status_code == 403
        assert (await client.delete("/v1/users/ana", params=erased)).status_code == 403
    async with calling(warden, key=stranger) as client:
        assert (await client.get("/v1/export", params={"user_id": "ana"})).status_code == 403
        assert (await client.delete("/v1/users/ana", params=erased)).status_code == 403
        bundle = await client.post("/v1/import", content=(tmp_path / "ana.zip").read_bytes())
        assert (bundle.status_code, "where the store is" in bundle.json()["detail"]) == (422, True)
    async with calling(warden, key=writer) as client:
        assert (await client.delete("/v1/users/ana", params=erased)).status_code == 403
    assert len(await warden.scope(user="ana").find({})) == 1


async def test_a_zip_of_notes_has_to_be_named(warden: AsyncWarden) -> None:
    """Two vaults without a name would be taken for the same, and the second end what the first said."""
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("bees.md", "# Bees\n\nAna keeps bees.\n")
    key = await make_key(warden, user="ana", operations=OPERATIONS)
    async with calling(warden, key=key) as client:
        unnamed = await client.post("/v1/import", content=packed.getvalue())
        assert (unnamed.status_code, "name=notes.zip" in unnamed.json()["detail"]) == (422, True)
        named = await client.post("/v1/import", content=packed.getvalue(), params={"name": "notes.zip"})
        assert named.status_code == 200


async def test_a_person_is_exported_and_erased_in_parts_and_whole(warden: AsyncWarden) -> None:
    trip = warden.scope(user="ana", thread="trip")
    await trip.observe([{"role": "user", "content": "The cabin is by the lake.", "id": "m1"}])
    kept = (await warden.scope(user="ana").remember("Ana keeps bees.")).results[0]
    async with calling(warden, key=await make_key(warden, user="ana", operations=["read", "decide"])) as client:
        bundle = await client.get("/v1/export")
        with ZipFile(io.BytesIO(bundle.content)) as archive:
            assert b"The cabin is by the lake." in archive.read("memories.jsonl")
        mem0 = await client.get("/v1/export", params={"format": "mem0"})
        assert [row["memory"] for row in mem0.json()["results"]] == ["Ana keeps bees."]
        assert json.loads(mem0.headers["x-memory-left-out"])["turns"] == 1
        planned = await client.delete("/v1/users/ana/threads/trip", params={"dry_run": True})
        assert (planned.json()["finished_at"], planned.json()["kinds"]) == (None, {"turn": 1})
        assert (await client.delete("/v1/users/ana/threads/trip")).status_code == 422
        thread = await client.delete("/v1/users/ana/threads/trip", params={"confirm": "ana"})
        assert (thread.json()["thread"], thread.json()["finished_at"] is not None) == ("trip", True)
        memory = await client.delete(f"/v1/users/ana/memories/{kept.id}", params={"confirm": "ana"})
        assert memory.json()["counts"]["memories"] == 1
        await warden.scope(user="ana").remember("Ana is back.")
        whole = (await client.delete("/v1/users/ana", params={"confirm": "ana"})).json()
        assert (whole["path"], whole["thread"], whole["memory"]) == ("user/ana", None, None)
    assert await warden.users() == []


async def test_an_erasure_is_ended_and_proved_over_http(warden: AsyncWarden) -> None:
    me = warden.scope(user="ana")
    await me.remember("Ana keeps bees.")
    key = await make_key(warden, user="ana", operations=["read", "decide"])
    async with calling(warden, key=key) as client:
        begun = (await client.delete("/v1/users/ana", params={"dry_run": True})).json()
        unfinished = (await client.post("/v1/users/ana/erasures/verify", json=begun)).json()
        assert unfinished == {"absent": False, "found": ["the erasure was not finished; repeat it"]}
        slip = await client.post("/v1/users/ana/erasures", json={"begun": begun, "confirm": "anna"})
        assert (slip.status_code, len(await me.find({}))) == (422, 1)
        receipt = (await client.post("/v1/users/ana/erasures", json={"begun": begun, "confirm": "ana"})).json()
        assert (receipt["started_at"], receipt["counts"]["memories"]) == (begun["started_at"], 1)
        assert (await client.post("/v1/users/ana/erasures/verify", json=receipt)).json() == {
            "absent": True,
            "found": [],
        }
        await me.remember("Ana is back.")
        found = (await client.post("/v1/users/ana/erasures/verify", json={"format": 1, **receipt})).json()
        assert (found["absent"], "1 rows in memories" in found["found"]) == (False, True)
        forged = {**receipt, "counts": {}}
        assert "changed" in (await client.post("/v1/users/ana/erasures/verify", json=forged)).json()["detail"]
        assert (await client.post("/v1/users/ana/erasures/verify", json={**receipt, "path": 7})).status_code == 422
        other = await client.post("/v1/users/bo/erasures/verify", json=receipt)
        assert other.status_code == 403


async def test_a_receipt_opens_nobody_elses_erasure(warden: AsyncWarden) -> None:
    for user in ("ana", "bo"):
        await warden.scope(user=user).remember(f"{user} keeps bees.")
    begun = json.loads((await warden.erase(user="bo", dry_run=True)).to_json())
    other = json.loads((await warden.erase(user="bo", tenant="other", dry_run=True)).to_json())
    call = {"begun": begun, "confirm": "bo"}
    for grant in ({"user": "ana"}, {"agent": "planner"}):
        async with calling(warden, key=await make_key(warden, operations=OPERATIONS, **grant)) as client:
            assert (await client.post("/v1/users/bo/erasures", json=call)).status_code == 403
            assert (await client.post("/v1/users/bo/erasures/verify", json=begun)).status_code == 403
    async with calling(warden, key=await make_key(warden, user="bo", operations=["read", "write"])) as client:
        assert (await client.post("/v1/users/bo/erasures", json=call)).status_code == 403
    async with calling(warden, key=await make_key(warden, operations=OPERATIONS)) as client:
        assert (await client.post("/v1/users/bo/erasures", json={**call, "begun": other})).status_code == 403
        named = await client.post("/v1/users/ana/erasures", json=call)
        assert "is of the user 'bo'" in named.json()["detail"]
    assert await warden.users() == ["ana", "bo"]


async def test_a_program_over_http_has_the_same_verbs(tmp_path: Path) -> None:
    chat = tmp_path / "chat.txt"
    chat.write_text(CHAT)
    with ServerProcess(f"sqlite:///{tmp_path / 'm.db'}", tmp_path, "--embedder", "none") as server:
        async with AsyncWarden.open(server.url) as remote:
            done = await remote.import_files(chat, user="ana", options=ImportOptions(zone="Europe/Lisbon"))
            assert (done.formats, done.stored, done.skipped) == (("whatsapp",), 1, {"messages without words": 1})
            written = await remote.export(tmp_path / "ana.zip", user="ana")
            assert (written.manifest.namespace.path, written.manifest.memories >= 1) == ("user/ana", True)
            with pytest.raises(Conflict):
                await remote.export(tmp_path / "ana.zip", user="ana")
            mem0 = await remote.export_format(tmp_path / "ana.jsonl", "graph", user="ana")
            assert mem0.left_out["turns"] == 1
            with pytest.raises(InvalidInput, match="would erase the user 'ana'"):
                await remote.erase(user="ana")
            receipt = await remote.erase(user="ana", thread="chat", confirm="ana")
            assert (receipt.thread, receipt.kinds["turn"]) == ("chat", 1)
            assert await remote.verify_erased(receipt) == []
            begun = await remote.erase(user="ana", dry_run=True)
            with pytest.raises(InvalidInput, match="which is something else"):
                await remote.erase(user="bo", confirm="bo", begun=begun)
            with pytest.raises(InvalidInput, match="would erase the user 'ana'"):
                await remote.erase(user="ana", begun=begun)
            ended = await remote.erase(user="ana", confirm="ana", begun=begun)
            assert (ended.started_at, await remote.verify_erased(ended)) == (begun.started_at, [])
            seen: list[tuple[int, int]] = []
            again = await remote.import_files(chat, user="ana", progress=lambda done, total: seen.append((done, total)))
            assert (again.stored, seen[-1:]) == (1, [(1, 1)])
            (tmp_path / "bad.json").write_text('[{"role": "user",\n"content": }]')
            with pytest.raises(InvalidInput, match="line 2"):
                await remote.import_files(tmp_path / "bad.json", user="ana")
            with pytest.raises(InvalidInput, match="a database is read where the store is"):
                await remote.import_files("postgresql://ana:secret@db/app")
