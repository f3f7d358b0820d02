"""The page about the server is played against a running server, and the OpenAPI document is that of the app."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2

from memwarden import AsyncWarden
from memwarden.surfaces.http.app import create_app, describe
from server_process import ServerProcess
from test_docs import ROOT, blocks, commands, flat

PAGE = ROOT / "docs/howto/serve-over-http.md"


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    environment = {**os.environ, "MEMWARDEN_DB": db, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    played = 0
    with ServerProcess(db, tmp_path) as server:
        for block in blocks(PAGE):
            if block.language == "python":
                program = block.text.replace("http://127.0.0.1:8765", server.url)
                done = subprocess.run(
                    [sys.executable, "-W", "error", "-c", program],
                    cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False,
                )  # fmt: skip
                assert "cello" in done.stdout, done.stderr
            if block.language != "console":
                continue
            for command, shown in commands(block.text):
                there = command.replace("http://127.0.0.1:8765", server.url)
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", there],
                    cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False,
                )  # fmt: skip
                printed = flat(done.stdout + done.stderr)
                assert done.returncode == 0, printed
                for line in shown:
                    assert flat(line) in printed, f"{there} does not print {line!r} but: {printed}"
                played += 1
    assert played >= 9


def test_the_committed_document_is_that_of_the_application() -> None:
    committed = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))
    made = json.loads(json.dumps(describe(create_app(AsyncWarden.open("memory://")))))
    assert made == committed, "run: memwarden serve --openapi > docs/reference/openapi.json"
    assert committed["openapi"].startswith("3.1")


def test_make_serve_answers_from_the_history_of_the_demo(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ready.touch()  # the interpreter of this test stands for .venv
    question = "What did the allergy clinic find out about Tomas?"
    command = ["make", "serve", f"BIN={Path(sys.executable).parent}", f"READY={ready}", "PORT=0", "EXTRACTION=off"]
    process = subprocess.Popen(
        [*command, f"DEMO_DB=sqlite:///{tmp_path / 'demo.db'}"],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = ""
        while (serving := re.search(r"serves at (\S+)", said)) is None:
            line = process.stderr.readline()
            assert line, said
            said += line
        answer = httpx2.post(f"{serving[1]}/v1/memory/query", json={"query": question, "user_id": "ines"}, timeout=300)
        names = ("inbox", "state", "trash", "shown", "session")
        pages = {
            name: httpx2.get(f"{serving[1]}/ui/{name}?user=ines&session=planning", timeout=300).text for name in names
        }
        assert f"{serving[1]}/ui/" in process.stderr.readline()
        page = httpx2.get(f"{serving[1]}/ui/", follow_redirects=True, timeout=300).text
    finally:
        os.killpg(process.pid, signal.SIGINT)
        _, last = process.communicate(timeout=300)
    assert "Error" not in last, "Ctrl-C is no failure"
    assert question in said, "it tells what to ask"
    assert "ONLY hazelnuts" in answer.json()["text"]
    assert "What is known of" in page
    assert "now bottle green" in page
    shown = {
        "inbox": "reviews.example", "state": "saturday_bake", "trash": "The flour order is on Tuesdays.",
        "shown": "What did the allergy clinic find out about Tomas?", "session": "The oven is free on Friday.",
    }  # fmt: skip
    assert [name for name, words in shown.items() if words not in pages[name]] == []


def test_the_first_page_names_every_way_in() -> None:
    page = (ROOT / "README.md").read_text("utf-8")
    first = page.partition("## Quick start")[0]
    assert [word for word in ("HTTP", "`make serve`", "Model\n  Context Protocol", "hooks") if word not in first] == []
    missing = page.partition("## What it does not do yet")[2].partition("##")[0]
    assert not re.search(r"HTTP|MCP|hook", missing)
    for target in re.findall(r"^\$ make (\w+)", page, re.MULTILINE):
        assert re.search(rf"^{target}:.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), target


PROMISED = """
POST /v1/memory/query
POST /v1/memory/observe
POST /v1/memory/context
GET|POST /v1/memories
GET|PATCH|DELETE /v1/memories/{id}
POST /v1/memories/{id}/restore
POST /v1/memories/{id}/promote
GET /v1/memories/{id}/history
GET /v1/memories/{id}/relations
GET /v1/threads/{id}/delta
GET|DELETE /v1/threads/{id}
GET /v1/state
GET|PUT|DELETE /v1/state/{key}
GET /v1/consents
POST /v1/consents/{id}/decision
GET|PATCH /v1/users/{id}/context
GET|PUT /v1/config/categories
GET|PUT /v1/agents/{name}/allowlist
GET|PUT /v1/checkpoints/{thread}
GET /v1/users
GET /v1/users/{id}/overview
GET /v1/review
POST /v1/review/{id}/decision
POST /v1/journal/{rev}/undo
GET|POST /v1/sessions
GET|DELETE /v1/sessions/{id}
POST /v1/tool-cache/lookup
POST /v1/tool-cache/store
GET|POST|DELETE /v1/tiers/{tier}/{id}
POST /v1/assemble
GET /v1/audit
POST /v1/backup
GET /v1/changes
GET /v1/events
GET /healthz
GET /readyz
GET /metrics
"""
"""The names of the routes are public, and stay."""


def test_every_promised_route_is_there() -> None:
    document = describe(create_app(AsyncWarden.open("memory://")))
    there = {
        (re.sub(r"{\w+}", "{}", path), method.upper()) for path, known in document["paths"].items() for method in known
    }
    for line in PROMISED.split("\n")[1:-1]:
        methods, _, path = line.partition(" ")
        for method in methods.split("|"):
            assert (re.sub(r"{\w+}", "{}", path), method) in there, line
