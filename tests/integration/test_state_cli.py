"""``memwarden state``: the first commands as processes, the rest in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from memwarden.surfaces.cli.main import run


def process(db: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "memwarden", "state", *arguments, "--db", db, "--user", "ana"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def cli(db: str, *arguments: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        assert run(["state", *arguments, "--db", db, "--user", "ana"]) == code
    return out.getvalue() or err.getvalue()


def test_state_by_hand(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'm.db'}"
    assert "Saved kudos_1 (7 bytes)." in process(db, "set", "kudos_1", '["Ben"]', "--description", "who gave kudos")
    cli(db, "set", "route", "river loop", "--expires-in", "3600")
    assert json.loads(process(db, "get", "kudos_1")) == ["Ben"]
    assert json.loads(cli(db, "get", "route", "--json")) == {"key": "route", "value": "river loop"}
    assert "no state is saved under" in cli(db, "get", "none", code=3)
    listed = json.loads(cli(db, "list", "--json"))
    assert [(item["key"], item["preview"]) for item in listed] == [("kudos_1", '["Ben"]'), ("route", '"river loop"')]
    assert "river loop" in cli(db, "list", "r*")
    assert "kudos_1" in cli(db, "clear", "kudos*", "--dry-run")
    assert json.loads(cli(db, "clear", "kudos*", "--json")) == {"cleared": ["kudos_1"], "dry_run": False}
    assert [load["key"] for load in json.loads(cli(db, "list", "--json"))] == ["route"]
    assert "No state" in cli(db, "list", "kudos*")
