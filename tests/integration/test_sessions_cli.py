"""``memwarden sessions``, run as processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from memwarden import Warden


def cli(db: str, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "memwarden", "sessions", *arguments, "--db", db, "--user", "ana"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done.stdout or done.stderr


def test_sessions_are_listed_and_shown_as_they_are(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(db) as warden:
        sessions = warden.scope(user="ana").sessions
        sessions.finalize_current_cycle("ABC123", "Where is it?", "In \x1b[31mGdynia.")
        sessions.add_tool_to_cache("ABC123", "weather", {"city": "Gdynia"}, "rain", 3)
        before = sessions.load("ABC123")
    assert cli(db, "list") == "ABC123\n"
    shown = cli(db, "show", "ABC123", "--message", "And now?")
    assert "Session: ABC123 | Exchanges: 1 | Summary: 0 bytes | LLM compressions: 0" in shown
    assert "  • weather({'city': 'Gdynia'}): 3/3 exchanges remaining" in shown
    assert "=== AGENT RECEIVES (4 messages) ===" in shown
    assert "[4] USER: And now?" in shown
    assert "\x1b" not in shown
    told = json.loads(cli(db, "show", "ABC123", "--json"))
    assert [item["role"] for item in told["agent_receives"]] == ["system", "user", "assistant"]
    assert "no session is stored under" in cli(db, "show", "none", code=3)
    with Warden.open(db) as warden:
        assert warden.scope(user="ana").sessions.load("ABC123") == before
