"""Commands of Anthropic's memory tool (``memory_20250818``) on a folder of texts, without I/O.

Answers and refusals have the words of the file tool in Anthropic's SDK, which models know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from memwarden.agent.state import StateEdit
from memwarden.checks import quote
from memwarden.errors import InvalidInput

ROOT: Final = "/memories"
MAX_LINES: Final = 999_999
_WIDTH: Final = len(str(MAX_LINES))
# Levels of a folder that a view lists, and lines around a change that an answer shows.
_DEPTH: Final = 2
_AROUND: Final = 2

# Texts by path. A folder is a path that ends with "/", and has no text.
Files = Mapping[str, str]


class CommandRefused(InvalidInput):
    """A command that cannot be done; its text is for the model."""


class CommandOutcome(NamedTuple):
    """What a command answers, and what it changes."""

    answer: str
    edit: StateEdit = StateEdit()


def run_command(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    """Return the outcome of a command, given as the input of the model's tool call.

    files: the whole folder. Raises CommandRefused.
    """
    name = command.get("command")
    if not isinstance(name, str) or name not in _COMMANDS:
        raise CommandRefused(f"Unknown command: {quote(name)}")
    return _COMMANDS[name](command, files)


def changes_files(command: Mapping[str, Any]) -> bool:
    """Whether a command may change the folder."""
    return command.get("command") != "view"


def _view(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given, path = _path(command, "path")
    if _is_folder(path, files):
        return CommandOutcome(_list_folder(given, path, files))
    if path not in files:
        raise CommandRefused(f"The path {given} does not exist. Please provide a valid path.")
    lines = files[path].split("\n")
    if len(lines) > MAX_LINES:
        raise CommandRefused(f"File {given} exceeds maximum line limit of {MAX_LINES:,} lines.")
    start, end = _view_range(command.get("view_range"), len(lines))
    shown = _number(lines[start:end], start + 1)
    return CommandOutcome(f"Here's the content of {given} with line numbers:\n{shown}")


def _create(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given, path = _path(command, "path")
    text = _text(command, "file_text")
    if path in files or _is_folder(path, files):
        raise CommandRefused(f"File {given} already exists")
    return CommandOutcome(
        f"File created successfully at: {given}", StateEdit({**_parents(given, path, files), path: text})
    )


def _str_replace(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given, path, content = _file(command, files)
    old, new = _text(command, "old_str"), _text(command, "new_str")
    count = content.count(old)
    if count == 0:
        raise CommandRefused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {given}.")
    if count > 1:
        numbers = ", ".join(str(content.count("\n", 0, place) + 1) for place in _places(content, old))
        raise CommandRefused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
            "Please ensure it is unique"
        )
    changed, line = content.replace(old, new), content.count("\n", 0, content.find(old))
    start = max(0, line - _AROUND)
    shown = _number(changed.split("\n")[start : line + _AROUND + 1], start + 1)
    answer = f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"
    return CommandOutcome(answer, StateEdit({path: changed}))


def _insert(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given, path, content = _file(command, files)
    lines = content.split("\n")
    if lines[-1] == "":  # what follows the last line break is not a line
        lines.pop()
    number = command.get("insert_line")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= len(lines):
        raise CommandRefused(
            f"Invalid `insert_line` parameter: {number}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(number, _text(command, "insert_text").rstrip("\n"))
    changed = "\n".join(lines)
    changed += "" if changed.endswith("\n") else "\n"
    return CommandOutcome(f"The file {given} has been edited.", StateEdit({path: changed}))


def _delete(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given, path = _path(command, "path")
    if path == ROOT:
        raise CommandRefused(f"Cannot delete the {ROOT} directory itself")
    removed = _below(path, files)
    if not removed:
        raise CommandRefused(f"The path {given} does not exist")
    return CommandOutcome(f"Successfully deleted {given}", StateEdit(cleared=removed))


def _rename(command: Mapping[str, Any], files: Files) -> CommandOutcome:
    given_old, old = _path(command, "old_path")
    given_new, new = _path(command, "new_path")
    if old == ROOT:
        raise CommandRefused(f"Cannot rename the {ROOT} directory itself")
    if new in files or _is_folder(new, files):
        raise CommandRefused(f"The destination {given_new} already exists")
    moved = _below(old, files)
    if not moved:
        raise CommandRefused(f"The path {given_old} does not exist")
    if new.startswith(f"{old}/"):
        raise CommandRefused(f"Cannot rename {given_old} into itself")
    saved = {**_parents(given_new, new, files), **{new + path[len(old) :]: files[path] for path in moved}}
    return CommandOutcome(f"Successfully renamed {given_old} to {given_new}", StateEdit(saved, moved))


_COMMANDS: Final[Mapping[str, Callable[[Mapping[str, Any], Files], CommandOutcome]]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}


def _path(command: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return a path as it was given, and without ``.``, ``..`` and doubled slashes."""
    given = _text(command, name)
    if given != ROOT and not given.startswith(f"{ROOT}/"):
        raise CommandRefused(f"Path must start with {ROOT}, got: {given}")
    parts: list[str] = []
    for part in given.removeprefix(ROOT).split("/"):
        if part == ".." and not parts:
            raise CommandRefused(f"Path {given} would escape {ROOT} directory")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return given, "/".join([ROOT, *parts])


def _file(command: Mapping[str, Any], files: Files) -> tuple[str, str, str]:
    """Return the path of a file as given, its path, and its text."""
    given, path = _path(command, "path")
    if _is_folder(path, files):
        raise CommandRefused(f"The path {given} is not a file.")
    if path not in files:
        raise CommandRefused(f"The path {given} does not exist. Please provide a valid path.")
    return given, path, files[path]


def _text(command: Mapping[str, Any], name: str) -> str:
    value = command.get(name)
    if not isinstance(value, str):
        raise CommandRefused(f"Invalid `{name}` parameter: {quote(value)}. It should be a text.")
    return value


def _is_folder(path: str, files: Files) -> bool:
    return path == ROOT or f"{path}/" in files


def _below(path: str, files: Files) -> list[str]:
    """Return the paths of a file, or of a folder with everything in it."""
    return [item for item in files if item == path or item.startswith(f"{path}/")]


def _parents(given: str, path: str, files: Files) -> dict[str, str]:
    """Return the folders that a new path needs."""
    names = path.split("/")[2:-1]
    folders = ["/".join([ROOT, *names[:depth]]) for depth in range(1, len(names) + 1)]
    if any(folder in files for folder in folders):
        raise CommandRefused(f"The path {given} is below a file.")
    return {f"{folder}/": "" for folder in folders if f"{folder}/" not in files}


def _list_folder(given: str, path: str, files: Files) -> str:
    header = f"Here're the files and directories up to 2 levels deep in {given}, excluding hidden items:"
    lines = [f"{_size(path, files)}\t{given}"]
    lines += [f"{_size(item, files)}\t{given}{item[len(path) :]}" for item in _list_children(path, files, _DEPTH)]
    return "\n".join([header, *lines])


def _list_children(path: str, files: Files, depth: int) -> list[str]:
    """Return the paths in a folder, sorted by name, each folder before its own; folders end with a slash."""
    start = len(path) + 1
    names = {item[start:].partition("/")[0] for item in files if item.startswith(f"{path}/") and len(item) > start}
    found = []
    for name in sorted(name for name in names if not name.startswith(".")):
        child = f"{path}/{name}"
        if not _is_folder(child, files):
            found.append(child)
            continue
        found.append(f"{child}/")
        if depth > 1:
            found += _list_children(child, files, depth - 1)
    return found


def _size(path: str, files: Files) -> str:
    """Return the size of a file, or of all files in a folder, as people write it."""
    size: float = sum(len(files[item].encode("utf-8", "surrogatepass")) for item in _below(path.rstrip("/"), files))
    unit = 0
    while size >= 1024 and unit < 3:
        size, unit = size / 1024, unit + 1
    whole = size == int(size)
    return f"{int(size) if whole else format(size, '.1f')}{'BKMG'[unit]}"


def _view_range(given: Any, lines: int) -> tuple[int, int]:
    """Return the first line, counted from 0, and the line after the last."""
    if given is None:
        return 0, lines
    if not isinstance(given, Sequence) or len(given) != 2 or not all(isinstance(number, int) for number in given):
        raise CommandRefused(f"Invalid `view_range` parameter: {quote(given)}. It should be two numbers of lines.")
    start, end = given
    return max(1, start) - 1, lines if end == -1 else end


def _number(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _places(content: str, part: str) -> list[int]:
    places, place = [], content.find(part)
    while place != -1:
        places.append(place)
        place = content.find(part, place + 1)
    return places
