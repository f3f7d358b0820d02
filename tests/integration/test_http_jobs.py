"""Jobs over HTTP: listed in pages, run for a person who is named, by a key that may decide."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden

PEOPLE = ("ana", "ben", "cleo")
JOBS = {"expire", "retain", "consolidate", "insights", "weigh", "clean"}
RUN = "/v1/jobs/expire/run"


@pytest.fixture
async def warden() -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as opened:
        for user in PEOPLE:
            await opened.scope(user=user).remember("The key lies under the stone.")
        yield opened


@pytest.mark.parametrize("limit", [1, 4, 6, 7, 1_000])
async def test_pages_hold_each_job_of_each_person_once(warden: AsyncWarden, limit: int) -> None:
    found: list[dict[str, Any]] = []
    async with calling(warden) as client:
        cursor = None
        while True:
            params = {"limit": limit} if cursor is None else {"limit": limit, "cursor": cursor}
            page = (await client.get("/v1/jobs", params=params)).json()
            assert 0 < len(page["items"]) <= limit
            found += page["items"]
            cursor = page["cursor"]
            if cursor is None:
                break
        refused = await client.get("/v1/jobs", params={"cursor": "WzFd"})
    told = [(item["namespace"]["path"], item["job"]) for item in found]
    assert [path for path, _ in told] == [f"user/{user}" for user in PEOPLE for _ in JOBS]
    assert {(f"user/{user}", job) for user in PEOPLE for job in JOBS} == set(told)
    assert (refused.status_code, refused.json()["error"]) == (422, "InvalidInput")


async def test_a_key_of_a_person_lists_their_jobs_alone(warden: AsyncWarden) -> None:
    key = await make_key(warden, user="ben", operations=["operate"])
    async with calling(warden, key=key) as client:
        page = (await client.get("/v1/jobs")).json()
    assert {item["namespace"]["path"] for item in page["items"]} == {"user/ben"}


async def test_a_run_names_whose_memory_it_works_on(warden: AsyncWarden) -> None:
    async with calling(warden) as client:
        refused = await client.post(RUN, json={"dry_run": True})
        (run,) = (await client.post(RUN, json={"user_id": "ana"})).json()
    assert (refused.status_code, refused.json()["error"]) == (422, "InvalidInput")
    assert "user_id has to say whose memory" in refused.json()["detail"]
    assert run["namespace"]["path"] == "user/ana"


async def test_a_key_for_metrics_tries_jobs_and_runs_none(warden: AsyncWarden) -> None:
    answers = {}
    for operations in (("operate",), ("operate", "decide"), ("decide",)):
        key = await make_key(warden, user="ana", operations=operations)
        async with calling(warden, key=key) as client:
            answers[operations] = [(await client.post(RUN, json={"dry_run": dry})).status_code for dry in (True, False)]
    assert answers == {("operate",): [200, 403], ("operate", "decide"): [200, 200], ("decide",): [403, 403]}
    refusals = [item for item in await warden.scope(user="ana").journal.events() if item.reason == "key"]
    assert len(refusals) == 3
