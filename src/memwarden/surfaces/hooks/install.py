"""Files that give a coding agent memory: what is added to them, and how it is taken out again."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.surfaces.hooks.session import agent_settings, gemini_settings

# Name of the MCP server in the files of agents.
SERVER: Final = "memwarden"
_OURS: Final = re.compile(r"(?:\S*/)?memwarden(?:\.exe)? hook\b")
_BEGIN, _END = "# memwarden begin", "# memwarden end"
_BLOCK: Final = re.compile(rf"\n*^{_BEGIN}\n.*?^{_END}\n", re.MULTILINE | re.DOTALL)

Edit = Callable[[str, "Commands", bool], str]


class Commands(NamedTuple):
    """Command lines that an agent's program starts. hook: for a shell. server: program and arguments."""

    hook: str
    server: tuple[str, ...]


class Change(NamedTuple):
    """A file before and after. None: there is no such file."""

    path: Path
    before: str | None
    after: str | None


def plan_changes(agent: str, folder: Path, commands: Commands, *, undo: bool = False) -> list[Change]:
    """Return the changes of an agent's files below a project's folder that add memory, or take it out.

    Only what differs is listed. Other settings of the files stay. Raises InvalidInput for an unknown agent and for a
    file that cannot be read.
    """
    if agent not in AGENTS:
        raise InvalidInput(f"an agent is one of {', '.join(AGENTS)}, not {agent!r:.80}")
    changes = []
    for name, edit in AGENTS[agent].items():
        path = folder / PurePosixPath(name)
        before = _read(path)
        try:
            after = edit(before or "", commands, undo) or None
        except ValueError as error:
            raise InvalidInput(f"{path} is left as it is, because it cannot be read: {error}") from None
        if after != before:
            changes.append(Change(path, before, after))
    return changes


def apply_changes(folder: Path, changes: list[Change]) -> None:
    """Write or remove files, and folders below the project's folder that are empty afterwards. Raises OSError."""
    for path, _, after in changes:
        if after is None:
            path.unlink()
            _remove_empty(path.parent, folder)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.memwarden")
        draft.write_text(after, "utf-8")
        draft.replace(path)


def read_skill() -> str:
    """Return the skill that tells a model when to use its memory."""
    return files("memwarden.surfaces.hooks").joinpath("skill.md").read_text("utf-8")


def make_server(commands: Commands) -> dict[str, Any]:
    """Return the entry of an MCP server, as most agents take it."""
    program, *arguments = commands.server
    return {"command": program, "args": arguments}


def _read(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None


def _remove_empty(place: Path, folder: Path) -> None:
    while place != folder and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


def _edit_claude_settings(text: str, commands: Commands, undo: bool) -> str:
    return _edit_hooks(text, {} if undo else agent_settings(commands.hook)["hooks"])


def _edit_codex_hooks(text: str, commands: Commands, undo: bool) -> str:
    hooks = agent_settings(commands.hook)["hooks"]
    hooks.pop("PostToolUseFailure")  # Codex has no such event
    return _edit_hooks(text, {} if undo else hooks)


def _edit_gemini_settings(text: str, commands: Commands, undo: bool) -> str:
    text = _edit_hooks(text, {} if undo else gemini_settings(commands.hook)["hooks"])
    return _edit_json_servers(text, commands, undo)


def _edit_hooks(text: str, hooks: Mapping[str, Any]) -> str:
    """Return settings with these hooks in place of our earlier ones."""
    settings = _load(text)
    present = settings.get("hooks", {})
    if not isinstance(present, dict) or not all(isinstance(entries, list) for entries in present.values()):
        raise ValueError("'hooks' is not an object of lists")
    kept = {name: [entry for entry in entries if not _is_ours(entry)] for name, entries in present.items()}
    for name, entries in hooks.items():
        kept[name] = [*kept.get(name, []), *entries]
    return _dump(text, "hooks", {name: entries for name, entries in kept.items() if entries})


def _is_ours(entry: Any) -> bool:
    commands = entry.get("hooks", []) if isinstance(entry, dict) else []
    return bool(commands) and all(
        isinstance(command, dict) and _OURS.match(str(command.get("command", ""))) for command in commands
    )


def _edit_json_servers(text: str, commands: Commands, undo: bool) -> str:
    return _edit_servers(text, "mcpServers", None if undo else make_server(commands))


def _edit_opencode(text: str, commands: Commands, undo: bool) -> str:
    server = {"type": "local", "command": list(commands.server), "enabled": True}
    return _edit_servers(text, "mcp", None if undo else server)


def _edit_servers(text: str, place: str, server: Mapping[str, Any] | None) -> str:
    settings = _load(text)
    servers = settings.get(place, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{place!r} is not an object")
    others = {name: entry for name, entry in servers.items() if name != SERVER}
    return _dump(text, place, others if server is None else {**others, SERVER: dict(server)})


def _load(text: str) -> dict[str, Any]:
    settings = json.loads(text) if text.strip() else {}
    if not isinstance(settings, dict):
        raise ValueError("it is not a JSON object")
    return settings


def _dump(text: str, place: str, value: Mapping[str, Any]) -> str:
    """Return settings with a value at its place as JSON, as they are if that changes nothing; empty for nothing."""
    settings = _load(text)
    changed = {**settings, place: dict(value)}
    if not value:
        del changed[place]
    if changed == settings:
        return text
    return json.dumps(changed, indent=2, ensure_ascii=False) + "\n" if changed else ""


def _edit_codex_config(text: str, commands: Commands, undo: bool) -> str:
    """Return a TOML file with our block at its end. Comments and order of the rest stay."""
    rest = _BLOCK.sub("\n", text).lstrip("\n") if _BEGIN in text else text
    if SERVER in tomllib.loads(rest).get("mcp_servers", {}):
        raise ValueError(f"it has a server {SERVER!r} of its own")
    if undo:
        return rest
    program, *arguments = commands.server
    lines = [
        _BEGIN,
        f"[mcp_servers.{SERVER}]",
        f"command = {json.dumps(program, ensure_ascii=False)}",
        f"args = {json.dumps(arguments, ensure_ascii=False)}",
        _END,
    ]
    gap = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    return rest + gap + "\n".join(lines) + "\n"


def _edit_skill(text: str, commands: Commands, undo: bool) -> str:
    if undo:
        return "" if text == read_skill() else text
    return read_skill()


# Files of each agent below a project's folder.
AGENTS: Final[Mapping[str, Mapping[str, Edit]]] = {
    "claude-code": {
        ".claude/settings.json": _edit_claude_settings,
        ".mcp.json": _edit_json_servers,
        ".claude/skills/memwarden/SKILL.md": _edit_skill,
    },
    "codex": {".codex/hooks.json": _edit_codex_hooks, ".codex/config.toml": _edit_codex_config},
    "cursor": {".cursor/mcp.json": _edit_json_servers},
    "gemini-cli": {".gemini/settings.json": _edit_gemini_settings},
    "opencode": {"opencode.json": _edit_opencode},
}
