"""No page, link, part of a page or error shows anybody's memory to another; no form works for another. Pages are
listed by the application."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any, NamedTuple

import httpx2
import pytest

from http_calls import OPEN, calling, make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.web.app import find_pages
from web_site import EVERYTHING, fill

CONFIG = {"embedder": "none"}
SECRETS = ("walnut", "peanut", "Mira", "cherry", "diary", "Leipzig", "evil.example", "oven", "Graz")
"""Words of Ana's that stand nowhere else."""
LOCKED = ServerOptions()


class Form(NamedTuple):
    """What a route is sent, with ids of Ana's."""

    path: str
    method: str


ROUTES = [Form(route.path, method) for route in find_pages() for method in sorted((route.methods or set()) - {"HEAD"})]
WRITES = {"/import", "/memory/correct", "/memories/act", "/undo", "/thread/forget", "/state/clear"}
DECISIONS = {"/erase", "/inbox/consent", "/inbox/review"}
OPERATIONS = {"/keys", "/keys/make", "/keys/revoke", "/doctor", "/jobs", "/jobs/run"}


@pytest.fixture
async def warden() -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open("memory://", config=CONFIG) as opened:
        yield opened


@asynccontextmanager
async def logged_in(warden: AsyncWarden, **grant: Any) -> AsyncIterator[httpx2.AsyncClient]:
    key = await make_key(warden, **grant)
    async with calling(warden, LOCKED) as client:
        answer = await client.post("/ui/login", data={"key": key})
        assert answer.status_code == 303
        yield client


async def token_of(client: httpx2.AsyncClient) -> str:
    found = re.search(r'name="token" value="(\w+)"', (await client.get("/ui/preview")).text)
    assert found is not None
    return found[1]


def values_for(ids: dict[str, str]) -> dict[str, str]:
    """Whatever any page takes, of Ana's."""
    return {
        "id": ids["walnuts"], "thread": "kitchen", "session": "planning", "key": "oven_plan", "q": "walnuts Mira",
        "message": "What is Ana allergic to? Where does Mira live?", "action": "forget", "sure": "1", "what": "all",
        "job": "clean", "decision": "approve", "change": "1", "text": "Changed.", "version": "1", "operation": "read",
        "threshold": "0", "threshold_a": "0", "threshold_b": "0", "overview": "200",
    }  # fmt: skip


async def call(client: httpx2.AsyncClient, route: Form, values: dict[str, str], token: str = "") -> httpx2.Response:
    url = route.path.replace("{rest:path}", "nothing/there")
    if route.method == "POST":
        whose = {"user": values["user"]} if "user" in values else None
        return await client.post(url, params=whose, data={**values, "token": token})
    return await client.get(url, params=values)


def test_the_pages_are_listed() -> None:
    paths = {route.path for route in ROUTES}
    assert len(ROUTES) > 30
    assert {f"/ui{path}" for path in WRITES | DECISIONS | OPERATIONS} <= paths
    served = {getattr(route, "path", "") for route in create_app(AsyncWarden.open("memory://")).routes}
    assert {path for path in served if path.startswith("/ui")} == paths | {"/ui/login", "/ui/static/{name}"}


async def test_a_stranger_sees_nothing_and_is_led_to_the_login(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    await make_key(warden, user="ana")
    async with calling(warden, LOCKED) as client:
        for route in ROUTES:
            answer = await call(client, route, {**values_for(ids), "user": "ana"})
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login"), route
            part = await client.request(route.method, route.path, headers={"HX-Request": "true"})
            assert (part.status_code, part.text, part.headers["hx-redirect"]) == (401, "", "/ui/login"), route


async def test_two_people_never_meet_through_any_page_part_or_error(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    before = await warden.scope(user="ana").journal.history(limit=1_000)
    async with logged_in(warden, user="tom", operations=EVERYTHING) as client:
        token = await token_of(client)
        for route in ROUTES:
            if route.path == "/ui/logout":
                continue
            for id in (ids["walnuts"], ids["leipzig"], ids["held"], ids["m1"]):
                values = {**values_for(ids), "id": id}
                for headers in ({}, {"HX-Request": "true"}):
                    client.headers.update(headers)
                    own = await call(client, route, values, token)
                    named = await call(client, route, {**values, "user": "ana"}, token)
                    client.headers.pop("HX-Request", None)
                    shown = [word for word in SECRETS if word in told_by_others(own.text, values)]
                    assert (route, shown) == (route, [])
                    shown = [word for word in SECRETS if word in told_by_others(named.text, values)]
                    assert (route, shown) == (route, [])
                    assert own.status_code in (200, 303, 403, 404, 409, 422), (route, own.text)
                    if named.status_code == 200:  # of nobody in particular: people, agents
                        assert route.path in ("/ui/people", "/ui/agents"), route
    assert await warden.scope(user="ana").journal.history(limit=1_000) == before


def told_by_others(text: str, values: dict[str, str]) -> str:
    """A page without what its visitor typed, which forms and errors repeat."""
    for value in sorted(values.values(), key=len, reverse=True):
        text = text.replace(value, "").replace(value.replace(" ", "+"), "") if len(value) > 3 else text
    return text


async def test_each_page_takes_a_key_that_may_do_what_it_does(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    for name, own in (("write", WRITES), ("decide", DECISIONS), ("operate", OPERATIONS)):
        async with logged_in(warden, operations=[name]) as weak:
            session = weak.cookies["memwarden_session"]
            token = hashlib.sha256(f"form {session}".encode()).hexdigest()
            for route in ROUTES:
                answer = await call(weak, route, {**values_for(ids), "user": "tom", "operation": name}, token)
                let_in = answer.status_code != 403
                assert let_in == (route.path.removeprefix("/ui") in own), (name, route, answer.status_code)


async def test_a_reader_is_shown_no_button_that_changes_anything(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    async with logged_in(warden, user="ana", operations=["read"]) as client:
        for route in ROUTES:
            if route.method == "GET":
                forms = re.findall(r'method="post" action="([^"?]+)', (await call(client, route, values_for(ids))).text)
                assert set(forms) <= {"/ui/logout", "/ui/preview", "/ui/compare"}, route


async def test_no_form_works_without_its_token_or_with_that_of_another(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    async with logged_in(warden, user="ana", operations=EVERYTHING) as ana:
        async with logged_in(warden, user="tom", operations=EVERYTHING) as tom:
            foreign = await token_of(tom)
        before = await warden.scope(user="ana").journal.history(limit=1_000)
        for route in ROUTES:
            if route.method == "POST":
                for token in ("", "é", foreign):
                    refused = await call(ana, route, values_for(ids), token)
                    assert refused.status_code == 403, route
                    assert "out of date or came from another page" in refused.text
        assert await warden.scope(user="ana").journal.history(limit=1_000) == before


class InlineFinder(HTMLParser):
    """Finds what a page would run or style by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attrs}
        self.found += [f"{tag} {name}" for name in names if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(tag)


def find_inline(text: str) -> list[str]:
    finder = InlineFinder()
    finder.feed(text)
    return finder.found


async def test_every_answer_forbids_scripts_of_others_and_frames(warden: AsyncWarden) -> None:
    ids = await fill(warden)
    async with calling(warden, OPEN) as client:
        for route in [*ROUTES, Form("/ui/login", "GET"), Form("/ui/static/style.css", "GET")]:
            answer = await call(client, route, {**values_for(ids), "user": "ana"})
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert find_inline(answer.text) == [], route


async def test_a_megabyte_of_text_is_cut_in_lists_and_shown_whole_when_asked() -> None:
    long = "ש" * 524_288 + "<b>end"
    async with AsyncWarden.open("memory://", config={**CONFIG, "max_text_bytes": 2_000_000}) as large:
        id = str((await large.scope(user="ana").remember(long)).results[0].id)
        async with logged_in(large, user="ana") as client:
            listed = await client.get("/ui/memories")
            page = await client.get("/ui/memory", params={"id": id})
            whole = await client.get("/ui/memory", params={"id": id, "whole": "1"})
    assert len(listed.text) < 20_000
    assert page.text.count("ש") < 530_000  # the form to correct it holds it
    assert "Show all 524,294 characters" in page.text
    assert "<b>end" not in whole.text
    assert "&lt;b&gt;end" in whole.text


async def test_a_session_ends_with_its_key_and_is_not_the_key(warden: AsyncWarden) -> None:
    made = await KeyRing(warden.store).create(user="ana")
    async with calling(warden, LOCKED) as client:
        await client.post("/ui/login", data={"key": made.text})
        assert (await client.get("/ui/memories")).status_code == 200
        await KeyRing(warden.store).revoke(made.key.id)
        assert (await client.get("/ui/memories")).headers["location"] == "/ui/login"


async def test_a_login_reads_no_more_than_a_key(warden: AsyncWarden) -> None:
    async with calling(warden, LOCKED) as client:
        assert (await client.post("/ui/login", data={"key": "a" * 5_000})).status_code == 413
        for key in ("", "mw_x", "é" * 40):
            assert (await client.post("/ui/login", data={"key": key})).status_code == 401


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
async def test_a_failure_of_the_server_is_a_page_without_what_anybody_said(
    warden: AsyncWarden, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("heliotrope")

    async with logged_in(warden, user="ana") as client:
        monkeypatch.setattr(AsyncWarden, "users", fail)
        failed = await client.get("/ui/people", headers=headers)
    assert (failed.status_code, failed.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "script-src 'self';" in failed.headers["content-security-policy"]
    assert failed.headers["x-request-id"] in failed.text
    assert "heliotrope" not in failed.text
    assert ("<html" in failed.text) == (headers == {})


async def test_jobs_are_tried_by_operators_run_by_who_decides_and_never_for_an_agent(warden: AsyncWarden) -> None:
    await warden.scope(user="ana").remember("Ana keeps bees.")
    answers = {}
    for name, operations in (("operator", ["operate", "read"]), ("both", EVERYTHING)):
        async with logged_in(warden, user="ana", operations=operations) as client:
            page = (await client.get("/ui/jobs")).text
            assert ('value="run"' in page) == (name == "both")
            for sent in ({"action": "try"}, {"action": "run"}, {"action": "try", "agent": "planner"}):
                values = {"job": "expire", "token": await token_of(client), **sent}
                answers[name, *sent.values()] = (await client.post("/ui/jobs/run", data=values)).status_code
    assert answers == {
        ("operator", "try"): 200, ("operator", "run"): 403, ("operator", "try", "planner"): 403,
        ("both", "try"): 200, ("both", "run"): 200, ("both", "try", "planner"): 403,
    }  # fmt: skip


async def test_no_limit_is_said_of_what_is_kept_for_ever_alone() -> None:
    async with (
        AsyncWarden.open("memory://", config={**CONFIG, "upkeep_tokens": 0}) as opened,
        logged_in(opened, user="ana", operations=EVERYTHING) as client,
    ):
        page = (await client.get("/ui/jobs")).text
    assert "<dd>0 tokens a day for a tenant" in page
    assert re.findall(r'no limit <code class="dim small">(\w+)', page) == ["turn_days", "version_days"]
