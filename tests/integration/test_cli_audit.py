"""``memwarden audit``: what it prints, that its commands mend what they stand by, and its exit codes."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.records import Fix
from memwarden.surfaces.cli.admin.audit import command_of
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.cli.options import Options
from memwarden.testing import run_on_loop


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in which a fact stands twice and another one has two values."""
    monkeypatch.setenv("COLUMNS", "100")
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, config={"merging": "off"}) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana keeps bees.", created_at="2026-05-01")
        me.remember("Ana keeps bees!", created_at="2026-05-02")
        me.remember("Ana lives in Berlin now.", created_at="2026-05-03")
        me.remember("Ana lives in Lisbon now.", created_at="2026-05-04")
    return url


def memwarden(*words: str, code: int = 0) -> str:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    assert err.getvalue() == ""
    return out.getvalue()


def test_a_real_process_shows_findings_and_their_commands_mend_them(db: str) -> None:
    def process(*words: str) -> str:
        program = Path(sys.executable).with_name("memwarden")
        done = subprocess.run([str(program), *words], capture_output=True, text=True, timeout=600, check=True)
        assert done.stderr == ""
        return done.stdout

    audit = ("audit", "--db", db, "--user", "ana")
    shown = process(*audit)
    assert "contradiction: the newer fact gives a new value" in shown
    assert "Ana lives in Lisbon now." in shown
    assert "Looked at 4 memories: 1 contradiction, 1 duplicate." in shown
    commands = [line.removeprefix("  fix: ") for line in shown.splitlines() if line.startswith("  fix: ")]
    assert len(commands) == 2
    for command in commands:
        memwarden(*shlex.split(command)[1:])
    mended = memwarden(*audit)
    assert "Looked at 3 memories: nothing is wrong." in mended
    assert "1 soft deleted, the oldest of 20" in mended


def test_json_and_strict(db: str) -> None:
    found: dict[str, Any] = json.loads(memwarden("audit", "--db", db, "--user", "ana", "--json", "--strict", code=1))
    assert [item["kind"] for item in found["findings"]] == ["contradiction", "duplicate"]
    assert found["looked_at"] == 4
    assert found["counts"][0] == {"state": "active", "count": 4, "oldest": found["counts"][0]["oldest"]}
    older = found["findings"][0]["fix"]
    assert older["verb"] == "update"
    assert older["arguments"] == {"valid_to": "2026-05-04T00:00:00+00:00"}
    assert shlex.split(found["findings"][0]["command"])[:2] == ["memwarden", "edit"]
    assert json.loads(memwarden("audit", "--db", db, "--user", "nobody", "--json", "--strict"))["findings"] == []


def test_a_limit_is_told(db: str) -> None:
    shown = memwarden("audit", "--db", db, "--user", "ana", "--limit", "2")
    assert "Looked at the newest 2 of 4 memories: 1 contradiction." in shown


def test_a_secret_is_not_shown_again(tmp_path: Path) -> None:
    from memwarden.records import Batch, Put, Signals
    from memwarden.testing.examples import NAMESPACE, START, a_memory

    url, key = f"sqlite:///{tmp_path / 'm.db'}", "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with Warden.open(url, config={"embedder": "none"}) as warden:
        memory = a_memory("one", text=f"-- the key is {key}.")
        run_on_loop(warden, warden.store.apply(Batch(NAMESPACE, (Put(memory, Signals()),), START)))
    there = ("--db", url, "--user", "ann", "--tenant", "test", "--embedder", "none")
    shown = memwarden("audit", *there)
    assert key not in shown
    assert "[redacted:github-pat]" in shown
    (command,) = [line.removeprefix("  fix: ") for line in shown.splitlines() if line.startswith("  fix: ")]
    memwarden(*shlex.split(command)[1:])
    assert json.loads(memwarden("get", "one", *there, "--json"))["text"] == "-- the key is [redacted:github-pat]."


def test_commands_name_the_store_and_the_scope_but_no_password() -> None:
    options = Options(db="postgresql://ana:hush@host/db", user="a b", agent="planner", tenant="t", embedder="none")
    fix = Fix("update", "x", {"valid_to": datetime(2026, 5, 2, tzinfo=UTC)})
    command = command_of(fix, options)
    assert "hush" not in command
    assert command == (
        "memwarden edit --db postgresql://...@host/db --user 'a b' --agent planner --embedder none --tenant t "
        "--valid-to 2026-05-02T00:00:00+00:00 x"
    )
    assert command_of(Fix("forget", "-x"), Options()) == "memwarden forget -- -x"
    assert command_of(Fix("update", "x", {"text": "two\nlines"}), Options()) == "memwarden edit x 'two\nlines'"
