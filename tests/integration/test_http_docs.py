"""The page about the server is played against a running server, and the OpenAPI document is that of the app."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
                    cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert "cello" in done.stdout, done.stderr
            if block.language != "console":
                continue
            for command, shown in commands(block.text):
                there = command.replace("http://127.0.0.1:8765", server.url)
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", there],
                    cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
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
