"""The documentation works: blocks marked ``run`` run, links resolve, every page can be reached.

A page is played from top to bottom in a folder of its own, which holds ``examples/``:

* ```` ```python run ````: a program.
* ```` ```console run ````: lines that begin with ``$`` are commands, which must succeed; a line below one must occur in
  what it prints, however it is wrapped.
* ```` ```toml file=NAME ````: is written to the file NAME first.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from memwarden.surfaces.cli.main import run as run_command

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """A fenced block: its language, what stands after it, and its text."""

    language: str
    mark: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*(part or "" for part in match.groups())) for match in FENCE.finditer(page.read_text("utf-8"))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


FIRST_PAGE = "README.md"
"""What stands on it runs as a newcomer runs it, each program and command in a process of its own. Elsewhere, programs
and commands without other signs of the shell run in the process of the tests, where the models are loaded once."""
PLAIN_COMMAND = re.compile(
    r"(?:echo '(?P<typed>[^'\n]*)' \| )?(?P<settings>(?:MEMWARDEN_\w+=\w+ )*)"
    r"memwarden (?P<words>(?:[^|&;<>$`*'\"\n]|'[^'\n]*'|\"[^\"$`\\\n]*\")+?)(?: > (?P<file>[\w.]+))?"
)
"""A command, with what is typed into it, settings of the environment, and the file that gets its output."""
RUNNABLE = [page for page in PAGES if any(block.mark == "run" for block in blocks(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=name)
def test_what_is_marked_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for variable in set(os.environ) - newcomers_environment(tmp_path).keys():
        monkeypatch.delenv(variable)
    for variable, value in newcomers_environment(tmp_path).items():
        monkeypatch.setenv(variable, value)
    apart = name(page) == FIRST_PAGE
    for block in blocks(page):
        if block.mark.startswith("file="):
            (tmp_path / block.mark.removeprefix("file=")).write_text(block.text, encoding="utf-8")
        elif block.mark == "run" and block.language == "python":
            if apart:
                run([sys.executable, "-W", "error", "-c", block.text], tmp_path)
            else:
                program = ModuleType("__main__")
                monkeypatch.setitem(sys.modules, "__main__", program)  # where type hints are looked up
                exec(compile(block.text, name(page), "exec"), vars(program))
        elif block.mark == "run":
            for command, shown in commands(block.text):
                plain = None if apart else PLAIN_COMMAND.fullmatch(command)
                shell = ["bash", "-euo", "pipefail", "-c", command]
                printed = flat(run_here(plain) if plain else run(shell, tmp_path))
                for line in shown:
                    assert flat(line) in printed, f"{command!r} does not print {line!r} but:\n{printed}"


def newcomers_environment(folder: Path) -> dict[str, str]:
    """The environment without settings of ours."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MEMWARDEN_")}
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "PYTHONIOENCODING": "utf-8"}
    programs = str(Path(sys.executable).parent)
    if not environment["PATH"].startswith(programs):
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    return environment


def run_here(command: re.Match[str]) -> str:
    """Run a command of ours in this process; return all it prints."""
    with pytest.MonkeyPatch.context() as patch:
        for setting in command["settings"].split():
            patch.setenv(*setting.split("="))
        if command["typed"] is not None:
            patch.setattr(sys, "stdin", TextIOWrapper(BytesIO(f"{command['typed']}\n".encode()), encoding="utf-8"))
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            code = run_command(shlex.split(command["words"], comments=True))
    assert code == 0, f"{command[0]}\n{out.getvalue()}\n{err.getvalue()}"
    if command["file"] is None:
        return out.getvalue() + err.getvalue()
    Path(command["file"]).write_text(out.getvalue(), encoding="utf-8")
    return err.getvalue()


def run(command: list[str], folder: Path) -> str:
    """Run a command as a newcomer would, with no settings of ours; return all it prints."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.strip().splitlines()
        yield command, [line for line in shown if line.strip()]


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if not target.startswith(("https://", "http://", "mailto:", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_can_be_reached() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [
            (page.parent / target.partition("#")[0]).resolve()
            for target in LINK.findall(page.read_text("utf-8"))
            if "://" not in target and not target.startswith("#")
        ]
    assert set(PAGES) <= reached


def test_pages_install_from_a_clone_until_a_release_is_on_an_index() -> None:
    from_index = re.compile(r"(?:pip install|uv add) '?memwarden")
    examples = (ROOT / "examples").glob("*.py")
    said = [name(page) for page in [*PAGES, *examples] if from_index.search(page.read_text("utf-8"))]
    assert said == ["docs/howto/install.md"]


def test_every_setting_and_filter_field_is_documented() -> None:
    from dataclasses import fields

    from memwarden.filters import ALIASES, FIELDS
    from memwarden.settings import Settings

    reference = ROOT / "docs/reference"
    for setting in fields(Settings):
        assert f"`{setting.name}`" in (reference / "configuration.md").read_text("utf-8")
    for field in {*FIELDS, *ALIASES} - {"context_item_id"}:
        assert f"`{field}`" in (reference / "filters.md").read_text("utf-8")


def test_every_field_of_an_answer_is_documented() -> None:
    from dataclasses import fields

    from memwarden.records import ContextBlock, QueryResult

    reference = ROOT / "docs/reference"
    for answer, page in ((QueryResult, "python.md"), (ContextBlock, "context-block.md")):
        text = (reference / page).read_text("utf-8")
        assert not [field.name for field in fields(answer) if f"`{field.name}`" not in text]


def test_every_command_and_verb_is_documented() -> None:
    from memwarden.api.consent import AsyncConsent
    from memwarden.api.journal import AsyncJournal
    from memwarden.api.review import AsyncReview
    from memwarden.api.scope import AsyncScope
    from memwarden.api.usage import AsyncUsage
    from memwarden.surfaces.cli.main import COMMANDS

    cli, python = ((ROOT / "docs/reference" / page).read_text("utf-8") for page in ("cli.md", "python.md"))
    assert all(f"`{command}" in cli for command in COMMANDS)
    handles = {"": AsyncScope, "review.": AsyncReview, "journal.": AsyncJournal, "consent.": AsyncConsent}
    handles["usage."] = AsyncUsage
    for handle, cls in handles.items():
        verbs = {name for name, value in vars(cls).items() if callable(value) and not name.startswith("_")}
        assert not [verb for verb in verbs if f"`{handle}{verb}(" not in python]


# --- the plan of the code

PLAN_PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.py)(?::([A-Za-z_][\w.]*))?`")
MODULE = re.compile(r"`(memwarden(?:_bench)?(?:\.\w+)+)")
NO_MODULES = {"memwarden.toml", "memwarden.channel5", "memwarden.gather_statistics"}
"""A settings file, a logger and a function of SQL."""
ROWS = {"A": 8, "B": 16, "C": 10, "D": 7, "E": 12, "F": 30}


def files_below(start: Path, path: str) -> bool:
    return (start / path).is_dir() if path.endswith("/") else (start / path).is_file()


@pytest.mark.parametrize("page", PLAN_PAGES, ids=name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    """Paths of the repository, or below ``src/memwarden``; ``path.py:name`` is a name that the file defines."""
    for path, defined in PATH.findall(FENCE.sub("", page.read_text("utf-8"))):
        if not re.search(r"\.(py|toml|sql|md)$|/$", path) or path.startswith(
            ("user/", "project/", "task/", "import/", "tool/", "web/", "document/", "global/")
        ):
            continue
        starts = [start for start in (ROOT, ROOT / "src/memwarden", page.parent) if files_below(start, path)]
        assert starts, f"{name(page)} names {path}, which is not there"
        if defined:
            words = (starts[0] / path).read_text("utf-8")
            for part in defined.split("."):
                assert re.search(rf"^\s*(async def|def|class) {part}\b|^{part}\b", words, re.MULTILINE), (path, defined)


@pytest.mark.parametrize("page", PLAN_PAGES, ids=name)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    names = set(MODULE.findall(page.read_text("utf-8"))) - NO_MODULES
    for dotted in sorted(names):
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            try:
                found: object = import_module(".".join(parts[:end]))
            except ImportError:
                continue
            for part in parts[end:]:
                assert hasattr(found, part) or part in getattr(found, "__annotations__", {}), f"{name(page)}: {dotted}"
                found = getattr(found, part, None)
            break


def test_the_import_order_is_the_same_in_all_three_places() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    checked = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    (drawn,) = (block.text for block in blocks(ROOT / "ARCHITECTURE.md") if block.mark == "layers")
    assert [re.split(r"\s{2,}", line)[0] for line in drawn.strip().splitlines()] == checked
    told = re.search(
        r"^`(surfaces \| testing \| compat .+)`\.$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE
    )
    assert told
    assert told[1].split(" > ") == checked


def test_the_page_of_the_designs_has_every_row_once() -> None:
    ids = re.findall(r"^\| ([A-F][\d.]+) \|", (ROOT / "docs/designs.md").read_text("utf-8"), re.MULTILINE)
    expected = {f"{letter}{number}" for letter, last in ROWS.items() for number in range(1, last + 1)} | {"B6.1"}
    assert sorted(ids) == sorted(expected)


def test_user_pages_and_code_do_without_the_ids_of_the_designs() -> None:
    code = re.compile(r"\b[A-F]\d{1,2}(?:\.\d)?\b(?! )|\b[Dd]esign [A-E]\b")
    # D30:5 is a turn of LoCoMo, F1 a figure.
    allowed = {"designs.md", "CHANGELOG.md", "bench.md", "bench-results.md", "time.md"}
    for page in PAGES:
        if page.name not in allowed:
            assert not code.findall(FENCE.sub("", page.read_text("utf-8"))), name(page)
