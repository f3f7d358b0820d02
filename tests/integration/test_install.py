"""What ``memwarden install`` adds to the files of coding agents, and takes out again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from memwarden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.hooks.install import Commands, apply_changes, plan_changes
from memwarden.surfaces.hooks.session import CodingSession, is_of_interest, read_event

ROOT = Path(__file__).parents[2]
HOOKS = {"SessionStart": [{"hooks": [{"type": "command", "command": "echo memwarden hook"}]}]}
OTHERS = {"mine": {"command": "mine", "args": []}}
# What stands in the files before.
BEFORE = {
    "claude-code": {
        ".claude/settings.json": json.dumps({"model": "opus", "hooks": HOOKS}, indent=2) + "\n",
        ".mcp.json": json.dumps({"mcpServers": OTHERS}, indent=2) + "\n",
    },
    "codex": {
        ".codex/hooks.json": json.dumps({"hooks": HOOKS}, indent=2) + "\n",
        ".codex/config.toml": '# mine\nmodel = "gpt-5"  # the best\n\n[mcp_servers.mine]\ncommand = "mine"\n',
    },
    "cursor": {".cursor/mcp.json": json.dumps({"mcpServers": OTHERS}, indent=2) + "\n"},
    "gemini-cli": {".gemini/settings.json": json.dumps({"mcpServers": OTHERS, "hooks": HOOKS}, indent=2) + "\n"},
    "opencode": {"opencode.json": json.dumps({"mcp": OTHERS, "theme": "dark"}, indent=2) + "\n"},
}


def fill(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def files(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


def install(agent: str, folder: Path, *options: str) -> int:
    return run(["install", agent, "--folder", str(folder), *options])


@pytest.mark.parametrize("agent", BEFORE)
@pytest.mark.parametrize("filled", [True, False])
def test_an_agent_is_given_memory_and_what_was_there_comes_back(
    tmp_path: Path, agent: str, filled: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    before = BEFORE[agent] if filled else {}
    fill(tmp_path, before)
    assert install(agent, tmp_path) == 0
    shown = capsys.readouterr().out
    assert "Nothing is written without --write." in shown
    assert "memwarden" in shown
    assert files(tmp_path) == before
    assert install(agent, tmp_path, "--write", "--user", "ana") == 0
    written = files(tmp_path)
    assert set(before) < set(written) or set(BEFORE[agent]) == set(written)
    assert all(text != before.get(name) for name, text in written.items())
    capsys.readouterr()
    assert install(agent, tmp_path, "--write", "--user", "ana") == 0
    assert capsys.readouterr().out == "Nothing to change.\n"
    assert install(agent, tmp_path, "--write", "--user", "bob") == 0
    assert "ana" not in "".join(files(tmp_path).values())
    assert install(agent, tmp_path, "--undo", "--write") == 0
    assert files(tmp_path) == before
    assert filled or list(tmp_path.iterdir()) == []


def test_the_files_hold_hooks_and_the_server(tmp_path: Path) -> None:
    for agent, texts in BEFORE.items():
        fill(tmp_path / agent, texts)
        assert install(agent, tmp_path / agent, "--write", "--db", "sqlite:////a b.db", "--project", "shop") == 0
    hook, server = (
        "memwarden hook --db 'sqlite:////a b.db' --project shop",
        ["mcp", "--project", "shop", "--db", "sqlite:////a b.db"],
    )
    claude = json.loads((tmp_path / "claude-code/.claude/settings.json").read_text())
    assert claude["model"] == "opus"
    assert [entry["hooks"][0]["command"] for entry in claude["hooks"]["SessionStart"]] == ["echo memwarden hook", hook]
    gemini = json.loads((tmp_path / "gemini-cli/.gemini/settings.json").read_text())
    assert gemini["hooks"]["AfterTool"][0]["matcher"] == "run_shell_command"
    assert gemini["hooks"]["BeforeAgent"][0]["hooks"][0]["timeout"] == 20_000
    codex = tomllib.loads((tmp_path / "codex/.codex/config.toml").read_text())
    assert set(codex["mcp_servers"]) == {"mine", "memwarden"}
    assert "PostToolUseFailure" not in json.loads((tmp_path / "codex/.codex/hooks.json").read_text())["hooks"]
    opencode = json.loads((tmp_path / "opencode/opencode.json").read_text())["mcp"]["memwarden"]
    assert opencode == {"type": "local", "command": ["memwarden", *server], "enabled": True}
    for place in ("claude-code/.mcp.json", "cursor/.cursor/mcp.json", "gemini-cli/.gemini/settings.json"):
        servers = json.loads((tmp_path / place).read_text())["mcpServers"]
        assert servers["memwarden"] == codex["mcp_servers"]["memwarden"] == {"command": "memwarden", "args": server}
        assert servers["mine"] == OTHERS["mine"]


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("claude-code", ".mcp.json", "// mine\n{}"),
        ("claude-code", ".claude/settings.json", '{"hooks": []}'),
        ("cursor", ".cursor/mcp.json", "[]"),
        ("codex", ".codex/config.toml", "model = "),
        ("codex", ".codex/config.toml", '[mcp_servers.memwarden]\ncommand = "mine"\n'),
        ("codex", ".codex/config.toml", 'mcp_servers = { a = { command = "x" } }\n'),
        ("codex", ".codex/config.toml", "mcp_servers = 5\n"),
        ("claude-code", ".mcp.json", "[" * 100_000),
        ("claude-code", ".mcp.json", '{"a": "\\ud800", "b": "\u00e9"}'),
        ("claude-code", ".mcp.json", '{"a": 1, "a": 2}'),
        ("claude-code", ".mcp.json", '{"a": 1e999}'),
        ("claude-code", ".mcp.json", '{"a": 1e9999999999999999999}'),
        ("claude-code", ".mcp.json", '{"a": NaN}'),
        ("claude-code", ".mcp.json", '{"a": 1.0000000000000000001}'),
        ("claude-code", ".mcp.json", '{"mcpServers": {"memwarden": {"command": "mine"}}}'),
        ("claude-code", ".mcp.json", '{"mcpServers": {"memwarden": {"command": "memwarden", "args": ["mcp", 1]}}}'),
        ("claude-code", ".claude/skills/memwarden/SKILL.md", "my own notes"),
        ("opencode", "opencode.json", '{"mcp": {"memwarden": {"type": "remote", "url": "http://x"}}}'),
    ],
)
def test_a_file_that_cannot_be_changed_is_named_and_nothing_is_written(
    tmp_path: Path, agent: str, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, {name: text})
    assert install(agent, tmp_path, "--write") != 0
    assert Path(name).name in capsys.readouterr().err
    assert files(tmp_path) == {name: text}
    install(agent, tmp_path, "--undo", "--write")
    assert files(tmp_path) == {name: text}
    assert install("notepad", tmp_path, "--write") != 0


@pytest.mark.parametrize(
    ("agent", "name", "text", "after"),
    [
        ("cursor", ".cursor/mcp.json", "{}", "{}"),
        ("cursor", ".cursor/mcp.json", "{}\n", "{}\n"),
        ("cursor", ".cursor/mcp.json", "", "{}\n"),
        ("cursor", ".cursor/mcp.json", '{\n  "mcpServers": {}\n}\n', "{}\n"),
        ("cursor", ".cursor/mcp.json", '{"a": [1, 2]}', '{"a": [1, 2]}'),
        ("cursor", ".cursor/mcp.json", '{\r\n\t"a": "\\u00e9"\r\n}', '{\r\n\t"a": "\\u00e9"\r\n}'),
        ("cursor", ".cursor/mcp.json", '{\n    "a": "\u00e9"\n}\n', '{\n    "a": "\u00e9"\n}\n'),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": []}}', '{"hooks": {"Stop": []}}'),
        ("codex", ".codex/config.toml", "", ""),
        ("codex", ".codex/config.toml", '\n\nmodel = "x"\n', '\n\nmodel = "x"\n'),
        ("codex", ".codex/config.toml", 'model = "x"\r\n', 'model = "x"\r\n'),
        ("codex", ".codex/config.toml", 'model = "x"', 'model = "x"\n'),
        (
            "codex",
            ".codex/config.toml",
            'a = """\n# memwarden begin\nx\n# memwarden end\n"""\n',
            'a = """\n# memwarden begin\nx\n# memwarden end\n"""\n',
        ),
    ],
)
def test_a_file_that_was_there_stays_in_its_style(tmp_path: Path, agent: str, name: str, text: str, after: str) -> None:
    path = tmp_path / name
    path.parent.mkdir()
    path.write_bytes(text.encode())
    assert install(agent, tmp_path, "--undo", "--write") == 0
    assert path.read_bytes() == text.encode()
    for user in ("ana", "bob"):
        assert install(agent, tmp_path, "--write", "--user", user) == 0
        assert b"memwarden" in path.read_bytes()
        assert (b"\r\n" in path.read_bytes()) == ("\r\n" in text)
    assert install(agent, tmp_path, "--undo", "--write") == 0
    assert path.read_bytes() == after.encode()


def test_undo_leaves_what_was_changed_by_hand(tmp_path: Path) -> None:
    fill(tmp_path, BEFORE["codex"])
    assert install("codex", tmp_path, "--write") == 0
    config, hooks = tmp_path / ".codex/config.toml", tmp_path / ".codex/hooks.json"
    config.write_text(config.read_text() + 'env = { A = "b" }\n')
    hooks.write_text(hooks.read_text().replace('"memwarden hook"', '"memwarden hook; mine"'))
    before = files(tmp_path)
    assert install("codex", tmp_path, "--undo", "--write") == 0
    assert files(tmp_path) == before


def test_links_are_followed_within_the_folder_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    fill(tmp_path, {"outside/settings.json": "{}", "outside/victim": "precious", "project/real.json": '{"a": 1}'})
    (project / ".claude").symlink_to(outside)
    assert install("claude-code", project, "--write") != 0
    assert "leads out of the folder" in capsys.readouterr().err
    (project / ".claude").unlink()
    (project / ".mcp.json").symlink_to(outside / "new.json")
    assert install("claude-code", project, "--write") != 0
    assert not (outside / "new.json").exists()
    (project / ".mcp.json").unlink()
    (project / ".mcp.json").symlink_to("real.json")
    (project / "real.json").chmod(0o600)
    (project / ".mcp.json.memwarden").symlink_to(outside / "victim")
    assert install("claude-code", project, "--write") == 0
    assert (project / ".mcp.json").is_symlink()
    assert "memwarden" in (project / "real.json").read_text()
    assert (project / "real.json").stat().st_mode & 0o777 == 0o600
    assert files(outside) == {"settings.json": "{}", "victim": "precious"}
    assert not list(project.rglob(".memwarden-*"))
    (project / "loop").symlink_to("loop")
    for place in ("loop", "none"):
        assert install("claude-code", project / place, "--write") != 0
    assert not (project / "none").exists()


def test_a_file_that_was_changed_meanwhile_is_left(tmp_path: Path) -> None:
    changes = plan_changes("cursor", tmp_path, Commands("memwarden hook", ("memwarden", "mcp")))
    fill(tmp_path, {".cursor/mcp.json": '{"mine": 1}'})
    with pytest.raises(InvalidInput, match="changed meanwhile"):
        apply_changes(tmp_path, changes)
    assert files(tmp_path) == {".cursor/mcp.json": '{"mine": 1}'}


@pytest.mark.parametrize(
    "url", ["postgresql://bob:hunter2@db/mem", "postgresql://bob:hun/ter2@db/mem", "postgresql://db/m?password=hunter2"]
)
def test_no_password_gets_into_a_project(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert install("claude-code", tmp_path, "--write", "--db", url) != 0
    said = capsys.readouterr()
    assert "ter2" not in said.out + said.err
    assert files(tmp_path) == {}


def test_a_file_of_a_store_is_named_from_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert install("claude-code", tmp_path, "--write", "--db", "sqlite:///x.db") == 0
    for name in (".mcp.json", ".claude/settings.json"):
        assert f"sqlite:///{tmp_path.as_posix()}/x.db" in files(tmp_path)[name]


def test_the_plugin_is_what_the_command_writes(tmp_path: Path) -> None:
    assert install("claude-code", tmp_path, "--write") == 0
    plugin = ROOT / "plugins/claude-code"
    for name, place in (
        ("hooks/hooks.json", ".claude/settings.json"),
        (".mcp.json", ".mcp.json"),
        ("skills/memwarden/SKILL.md", ".claude/skills/memwarden/SKILL.md"),
    ):
        assert (plugin / name).read_text("utf-8") == (tmp_path / place).read_text("utf-8")
    (listed,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text("utf-8"))["plugins"]
    manifest = json.loads((ROOT / listed["source"] / ".claude-plugin/plugin.json").read_text("utf-8"))
    assert manifest["name"] == listed["name"]


async def test_events_of_gemini_cli_are_answered_by_its_names() -> None:
    async def tell(session: CodingSession, name: str, **fields: object) -> dict[str, object]:
        event = read_event(json.dumps({"hook_event_name": name, "session_id": "s", **fields}))
        return await session.answer(event) if is_of_interest(event) else {}

    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        session = CodingSession(warden, "shop")
        assert await tell(session, "BeforeAgent", prompt="We decided to keep sessions in PostgreSQL.") == {}
        ran = {"llmContent": "Command: pytest -q\nOutput: No module named psycopg\nExit Code: 1", "returnDisplay": ""}
        await tell(session, "AfterTool", tool_input={"command": "pytest -q"}, tool_response=ran)
        (told,) = (await tell(session, "SessionStart")).values()
        assert isinstance(told, dict)
        assert told["hookEventName"] == "SessionStart"
        assert "PostgreSQL" in told["additionalContext"]
        assert "No module named psycopg" in told["additionalContext"]
