"""The examples of frameworks run as programs: what was said in the first conversation is in the prompt of the last."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from upstream import Upstream

EXAMPLES = Path(__file__).parents[2] / "examples"
# Example, the packages that it needs, and the number of conversations.
PROGRAMS = (
    ("adk_memory.py", ("google.adk",), 2),
    ("ag2_agent.py", ("ag2", "openai"), 3),
    ("agent_framework_agent.py", ("agent_framework_openai",), 3),
    ("agno_agent.py", ("agno", "openai"), 3),
    ("langchain_agent.py", ("langchain", "langchain_openai"), 3),
    ("litellm_router.py", ("litellm",), 3),
    ("llama_index_agent.py", ("llama_index.llms.openai",), 3),
    ("openai_agents_session.py", ("agents",), 3),
    ("pydantic_ai_agent.py", ("pydantic_ai", "openai"), 3),
    ("strands_agent.py", ("strands", "openai"), 3),
)


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.soak
@pytest.mark.parametrize(("example", "packages", "number"), PROGRAMS, ids=[program[0] for program in PROGRAMS])
def test_the_last_prompt_holds_what_was_said_in_the_first(
    example: str, packages: tuple[str, ...], number: int, tmp_path: Path, upstream: Upstream
) -> None:
    if missing := [package for package in packages if not is_installed(package)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    upstream.says("Noted.")
    environment = os.environ | {
        "OPENAI_BASE_URL": f"{upstream.url}/v1", "OPENAI_API_BASE": f"{upstream.url}/v1", "OPENAI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": upstream.url, "GOOGLE_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, EXAMPLES / example, f"sqlite:///{tmp_path / 'm.db'}"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert done.stdout.count("Noted.") == number
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert len(prompts) == number
    assert "peanuts" in prompts[-1]
