"""``memwarden state``, run as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def cli(db: str, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "memwarden", "state", *arguments, "--db", db, "--user", "ana"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout or done.stderr


def test_state_by_hand(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'm.db'}"
    assert "Saved kudos_1 (7 bytes)." in cli(db, "set", "kudos_1", '["Ben"]', "--description", "who gave kudos")
    cli(db, "set", "route", "river loop", "--expires-in", "3600")
    assert json.loads(cli(db, "get", "kudos_1")) == ["Ben"]
    assert json.loads(cli(db, "get", "route", "--json")) == {"key": "route", "value": "river loop"}
    assert "no state is saved under" in cli(db, "get", "none", code=3)
    listed = json.loads(cli(db, "list", "--json"))
    assert [(item["key"], item["preview"]) for item in listed] == [("kudos_1", '["Ben"]'), ("route", '"river loop"')]
    assert "river loop" in cli(db, "list", "r*")
    assert "kudos_1" in cli(db, "clear", "kudos*", "--dry-run")
    assert json.loads(cli(db, "clear", "kudos*", "--json")) == {"cleared": ["kudos_1"], "dry_run": False}
    assert [load["key"] for load in json.loads(cli(db, "list", "--json"))] == ["route"]
    assert "No state" in cli(db, "list", "kudos*")
