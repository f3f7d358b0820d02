"""Files that give a coding agent memory: what is added to them, and how it is taken out again."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.surfaces.hooks.session import agent_settings, gemini_settings

# Name of the MCP server in the files of agents.
SERVER: Final = "memwarden"
_BEGIN, _END = "# memwarden begin", "# memwarden end"
# Our block of a TOML file, with the empty line before it.
_BLOCK: Final = re.compile(
    rf"(?:(?:(?<=\n)|\A)\r?\n)?(?P<block>^{_BEGIN}\r?\n\[mcp_servers\.{SERVER}\]\r?\n"
    rf"command = [^\r\n]*\r?\nargs = [^\r\n]*\r?\n{_END}(?:\r?\n|\Z))",
    re.MULTILINE,
)
_INDENT: Final = re.compile(r"^([ \t]+)\"", re.MULTILINE)

# Gets the text of a file, None for no file, and returns it as it is to be.
Edit = Callable[[str | None, "Commands", bool], str | None]
JsonEdit = Callable[[dict[str, Any], "Commands", bool], dict[str, Any]]
MakeHooks = Callable[[str], Mapping[str, Any]]


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

    Only what differs is listed. Other settings of the files stay. Raises InvalidInput for an unknown agent, for a file
    that cannot be read or that a link leads out of the folder, and for an entry of our name that is not ours.
    """
    if agent not in AGENTS:
        raise InvalidInput(f"an agent is one of {', '.join(AGENTS)}, not {agent!r:.80}")
    changes = []
    for name, edit in AGENTS[agent].items():
        path = folder / PurePosixPath(name)
        before = _read(_find_target(folder, path))
        try:
            after = edit(before, commands, undo)
            (after or "").encode()
        except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise InvalidInput(f"{path} is left as it is: {error}") from None
        if after != before:
            changes.append(Change(path, before, after))
    return changes


def apply_changes(folder: Path, changes: list[Change]) -> None:
    """Write or remove files, and folders below the project's folder that are empty afterwards.

    Links are followed within the folder. Raises InvalidInput, before anything is written, for a link that leads out of
    it and for a file that is no longer as it was. Raises OSError.
    """
    targets = [_find_target(folder, change.path) for change in changes]
    for target, change in zip(targets, changes, strict=True):
        if _read(target) != change.before:
            raise InvalidInput(f"{change.path} was changed meanwhile; nothing is written")
    for target, change in zip(targets, changes, strict=True):
        if change.after is None:
            target.unlink()
            _remove_empty(target.parent, folder.resolve())
        else:
            _write(target, change.after)


def _find_target(folder: Path, path: Path) -> Path:
    """Return the file that a path leads to. Raises InvalidInput if it is not below the folder."""
    try:
        root, target = folder.resolve(), path.resolve()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if not root.is_dir():
        raise InvalidInput(f"{folder} is no folder")
    if root not in target.parents:
        raise InvalidInput(f"{path} leads out of the folder, to {target}; nothing is written")
    return target


def _write(target: Path, text: str) -> None:
    """Replace a file at once, with the permissions that it had."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o644
    number, name = tempfile.mkstemp(prefix=".memwarden-", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_skill() -> str:
    """Return the skill that tells a model when to use its memory."""
    return files("memwarden.surfaces.hooks").joinpath("skill.md").read_text("utf-8")


def make_server(commands: Commands) -> dict[str, Any]:
    """Return the entry of an MCP server, as most agents take it."""
    program, *arguments = commands.server
    return {"command": program, "args": arguments}


def _read(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file():
            raise InvalidInput(f"{path} is no file; it is left as it is")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read, and is left as it is: {error}") from None


def _remove_empty(place: Path, folder: Path) -> None:
    while place != folder and not any(place.iterdir()):
        place.rmdir()
        place = place.parent


def _claude_hooks(command: str) -> Mapping[str, Any]:
    return dict(agent_settings(command)["hooks"])


def _codex_hooks(command: str) -> Mapping[str, Any]:
    hooks = dict(agent_settings(command)["hooks"])
    hooks.pop("PostToolUseFailure")  # Codex has no such event
    return hooks


def _gemini_hooks(command: str) -> Mapping[str, Any]:
    return dict(gemini_settings(command)["hooks"])


def _set_hooks(settings: dict[str, Any], make: MakeHooks, commands: Commands, undo: bool) -> dict[str, Any]:
    """Return settings with our hooks in place of our earlier ones."""
    present = settings.get("hooks", {})
    if not isinstance(present, dict) or not all(isinstance(entries, list) for entries in present.values()):
        raise ValueError("'hooks' is not an object of lists")
    kept: dict[str, list[Any]] = {}
    for name, entries in present.items():
        left = [entry for entry in entries if not _is_own_hook(name, entry, make)]
        if left or not entries:
            kept[name] = left
    for name, entries in ({} if undo else make(commands.hook)).items():
        kept[name] = [*kept.get(name, []), *entries]
    return _put(settings, "hooks", kept)


def _is_own_hook(name: str, entry: Any, make: MakeHooks) -> bool:
    """Whether an entry is what is made for its command, and the command is nothing but ours."""
    try:
        command = entry["hooks"][0]["command"]
        words = shlex.split(command)
        return words[:2] == ["memwarden", "hook"] and shlex.join(words) == command and entry in make(command)[name]
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return False


def _set_server(
    settings: dict[str, Any], place: str, server: Mapping[str, Any], commands: Commands, undo: bool
) -> dict[str, Any]:
    """Return settings with our MCP server in place of our earlier one."""
    servers = settings.get(place, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{place!r} is not an object")
    others = {name: entry for name, entry in servers.items() if name != SERVER}
    if SERVER in servers and not _is_own_server(servers[SERVER], server, commands):
        if undo:
            return settings
        raise ValueError(_foreign(place))
    return _put(settings, place, others if undo else {**others, SERVER: dict(server)})


def _is_own_server(entry: Any, server: Mapping[str, Any], commands: Commands) -> bool:
    """Whether an entry differs from ours by the options of the command only."""
    if not isinstance(entry, dict) or entry.keys() != server.keys():
        return False
    line: list[Any] = []
    for name, value in server.items():
        if name not in ("command", "args"):
            if entry[name] != value:
                return False
        elif type(entry[name]) is not type(value):
            return False
        else:
            line += entry[name] if isinstance(value, list) else [entry[name]]
    return line[:2] == list(commands.server[:2]) and all(isinstance(part, str) for part in line)


def _foreign(place: str) -> str:
    return f"it has an entry {SERVER!r} in {place!r} that this command did not make; rename or remove it first"


def _put(settings: dict[str, Any], place: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with a value at its place; without the place when nothing is left in it."""
    if value or (place in settings and not settings[place]):
        return {**settings, place: dict(value)}
    return {name: held for name, held in settings.items() if name != place}


def _edit_json(edit: JsonEdit) -> Edit:
    """Return what edits a JSON file: it is written again, with the indentation and the ends of lines that it had."""

    def change(text: str | None, commands: Commands, undo: bool) -> str | None:
        settings = _load(text or "")
        changed = edit(settings, commands, undo)
        if changed == settings:
            return text
        if not changed and text == _dump(settings, None, {}):
            return None  # made by this command, and nothing was added
        made = _dump(changed, text, settings)
        if _load(made) != changed:
            raise ValueError("it cannot be written again without a loss")
        return made

    return change


def _load(text: str) -> dict[str, Any]:
    """Return the settings in a text. Raises ValueError for what would not come out as it went in."""
    if not text.strip():
        return {}
    settings = json.loads(text, object_pairs_hook=_check_names, parse_float=_check_number, parse_constant=_check_number)
    if not isinstance(settings, dict):
        raise ValueError("it is not a JSON object")
    return settings


def _check_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name is in it twice")
    return made


def _check_number(text: str) -> float:
    number = float(text)
    if not Decimal(text).is_finite() or Decimal(repr(number)) != Decimal(text):
        raise ValueError(f"the number {text:.40} cannot be written again")
    return number


def _dump(changed: Mapping[str, Any], text: str | None, before: Mapping[str, Any]) -> str:
    """Return settings as JSON in the style of a text; None: of a new file.

    A file that was there and held nothing is not indented as a new one: it stays when our entries go.
    """
    if text is None:
        return json.dumps(changed, indent=2, ensure_ascii=False) + "\n"
    found = _INDENT.search(text)
    indent: str | int | None = 4 if found is None or not any(before.values()) else found[1]
    if any(before.values()) and "\n" not in text.strip():
        indent = None
    made = json.dumps(changed, indent=indent, ensure_ascii=text.isascii() and "\\u" in text)
    made += text[len(text.rstrip()) :] or ("\n" if not text else "")
    return made.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else made


def _edit_codex_config(text: str | None, commands: Commands, undo: bool) -> str | None:
    """Return a TOML file with our block in it, at its end if it is new. Every other line stays."""
    given = text or ""
    before = tomllib.loads(given)
    others = _without_server(before)
    program, *arguments = commands.server
    server = {"command": program, "args": arguments}
    found = None
    if SERVER in before.get("mcp_servers", {}):
        found = _find_block(given, others)
        if found is None or not _is_own_server(before["mcp_servers"][SERVER], server, commands):
            if undo:
                return text
            raise ValueError(_foreign("mcp_servers"))
    if undo:
        if found is None:
            return text
        rest = given[: found.start()] + given[found.end() :]
        return None if not rest and found.start("block") == 0 else rest
    end = "\r\n" if "\r\n" in given else "\n"
    lines = [
        _BEGIN,
        f"[mcp_servers.{SERVER}]",
        f"command = {json.dumps(program, ensure_ascii=False)}",
        f"args = {json.dumps(arguments, ensure_ascii=False)}",
        _END,
    ]
    block = "".join(line + end for line in lines)
    if found is not None:
        made = given[: found.start("block")] + block + given[found.end() :]
    else:
        gap = "" if text is None else end if not given or given.endswith("\n") else end * 2
        made = given + gap + block
    expected = {**others, "mcp_servers": {**others.get("mcp_servers", {}), SERVER: server}}
    if tomllib.loads(made) != expected:
        raise ValueError("the server cannot be added at its end; add it by hand")
    return made


def _find_block(text: str, others: Mapping[str, Any]) -> re.Match[str] | None:
    """Return our block of a TOML file: without it, the file says what others says."""
    for found in _BLOCK.finditer(text):
        try:
            rest = tomllib.loads(text[: found.start()] + text[found.end() :])
        except tomllib.TOMLDecodeError:
            continue
        if _without_server(rest) == others and SERVER not in rest.get("mcp_servers", {}):
            return found
    return None


def _without_server(settings: Mapping[str, Any]) -> dict[str, Any]:
    servers = settings.get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise ValueError("'mcp_servers' is not a table")
    left = {name: entry for name, entry in servers.items() if name != SERVER}
    rest = {name: value for name, value in settings.items() if name != "mcp_servers"}
    return {**rest, "mcp_servers": left} if left else rest


def _edit_skill(text: str | None, commands: Commands, undo: bool) -> str | None:
    is_ours = text is not None and text.replace("\r\n", "\n") == read_skill()
    if undo:
        return None if is_ours else text
    if text is None or is_ours:
        return text or read_skill()
    raise ValueError("it is a skill that this command did not make; rename or remove it first")


def _json_servers(settings: dict[str, Any], commands: Commands, undo: bool) -> dict[str, Any]:
    return _set_server(settings, "mcpServers", make_server(commands), commands, undo)


def _opencode(settings: dict[str, Any], commands: Commands, undo: bool) -> dict[str, Any]:
    server = {"type": "local", "command": list(commands.server), "enabled": True}
    return _set_server(settings, "mcp", server, commands, undo)


def _claude_settings(settings: dict[str, Any], commands: Commands, undo: bool) -> dict[str, Any]:
    return _set_hooks(settings, _claude_hooks, commands, undo)


def _codex_settings(settings: dict[str, Any], commands: Commands, undo: bool) -> dict[str, Any]:
    return _set_hooks(settings, _codex_hooks, commands, undo)


def _gemini_settings(settings: dict[str, Any], commands: Commands, undo: bool) -> dict[str, Any]:
    return _json_servers(_set_hooks(settings, _gemini_hooks, commands, undo), commands, undo)


# Files of each agent below a project's folder.
AGENTS: Final[Mapping[str, Mapping[str, Edit]]] = {
    "claude-code": {
        ".claude/settings.json": _edit_json(_claude_settings),
        ".mcp.json": _edit_json(_json_servers),
        ".claude/skills/memwarden/SKILL.md": _edit_skill,
    },
    "codex": {".codex/hooks.json": _edit_json(_codex_settings), ".codex/config.toml": _edit_codex_config},
    "cursor": {".cursor/mcp.json": _edit_json(_json_servers)},
    "gemini-cli": {".gemini/settings.json": _edit_json(_gemini_settings)},
    "opencode": {"opencode.json": _edit_json(_opencode)},
}
