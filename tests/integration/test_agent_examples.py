"""The examples of agents as they are run, with aimock in place of the paid model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from upstream import Upstream

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["pydantic_ai_agent", pytest.param("langchain_agent", marks=pytest.mark.soak)])
def test_the_last_conversation_knows_what_was_said_in_the_first(tmp_path: Path, upstream: Upstream, name: str) -> None:
    upstream.says("Noted.")
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), f"sqlite:///{tmp_path / 'm.db'}"]
    model = {"OPENAI_BASE_URL": upstream.url + "/v1", "OPENAI_API_KEY": "none"}
    run = subprocess.run(command, env=os.environ | model, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("Noted.") == 3
    first, *_, last = map(str, upstream.prompts())
    assert "<memories>" not in first
    assert "I am allergic to peanuts." in last
