"""The programs of the frameworks' pages and examples run against the scripted provider."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from upstream import Upstream

ROOT = Path(__file__).parents[2]
# Page, example, the packages that both need, and the number of conversations of the example.
PROGRAMS = (
    ("use-with-google-adk.md", "adk_memory.py", ("google.adk",), 2),
    ("use-with-ag2.md", "ag2_agent.py", ("ag2", "openai"), 3),
    ("use-with-agent-framework.md", "agent_framework_agent.py", ("agent_framework_openai",), 3),
    ("use-with-agno.md", "agno_agent.py", ("agno", "openai"), 3),
    ("use-with-crewai.md", "crewai_crew.py", ("crewai",), 3),
    ("use-with-langchain.md", "langchain_agent.py", ("langchain", "langchain_openai"), 3),
    ("use-with-litellm.md", "litellm_router.py", ("litellm",), 3),
    ("use-with-llama-index.md", "llama_index_agent.py", ("llama_index.llms.openai",), 3),
    ("use-with-openai-agents.md", "openai_agents_session.py", ("agents",), 3),
    ("use-with-pydantic-ai.md", "pydantic_ai_agent.py", ("pydantic_ai", "openai"), 3),
    ("use-with-strands.md", "strands_agent.py", ("strands", "openai"), 3),
)
of_each_framework = pytest.mark.parametrize(
    ("page", "example", "packages", "number"), PROGRAMS, ids=[program[1] for program in PROGRAMS]
)


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def run_program(upstream: Upstream, folder: Path, packages: Sequence[str], *command: str | Path) -> str:
    """Run a program of Python with the scripted provider as its provider. Returns what it prints."""
    if missing := [package for package in packages if not is_installed(package)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    upstream.says("Noted.")
    environment = os.environ | {
        "OPENAI_BASE_URL": f"{upstream.url}/v1", "OPENAI_API_BASE": f"{upstream.url}/v1", "OPENAI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": upstream.url, "GOOGLE_API_KEY": "none", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "XDG_DATA_HOME": str(folder),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *command],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


@pytest.mark.soak
@of_each_framework
def test_the_last_prompt_of_an_example_holds_what_was_said_in_the_first_conversation(
    page: str, example: str, packages: tuple[str, ...], number: int, tmp_path: Path, upstream: Upstream
) -> None:
    store = f"sqlite:///{tmp_path / 'm.db'}"
    assert run_program(upstream, tmp_path, packages, ROOT / "examples" / example, store).count("Noted.") == number
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert len(prompts) == number
    assert "peanuts" in prompts[-1]


@pytest.mark.soak
@of_each_framework
def test_the_first_program_of_a_page_runs(
    page: str, example: str, packages: tuple[str, ...], number: int, tmp_path: Path, upstream: Upstream
) -> None:
    found = re.search(r"^```python\n(.*?)^```$", (ROOT / "docs/howto" / page).read_text("utf-8"), re.M | re.S)
    assert found
    program = found[1]
    if "await " in program:  # pages show it as in a notebook
        program = f"import asyncio\nasync def main():\n{textwrap.indent(program, '    ')}\nasyncio.run(main())\n"
    run_program(upstream, tmp_path, packages, "-c", program)
    assert upstream.prompts()
