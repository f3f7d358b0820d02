"""What the house promises about itself: light to import, silent on the network, one surface, small to install."""

from __future__ import annotations

import ast
import inspect
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker

import memwarden
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.api.blocking import (
    Backend,
    BoundScope,
    Chat,
    Consents,
    ContextAssembler,
    GlobalMemoryStore,
    Journal,
    ProjectMemoryStore,
    Review,
    Sessions,
    TaskMemoryStore,
    Tiers,
    TierStore,
    Turn,
    Usage,
    Warden,
)
from memwarden.api.consent import AsyncConsent
from memwarden.api.journal import AsyncJournal
from memwarden.api.review import AsyncReview
from memwarden.api.scope import AsyncScope
from memwarden.api.usage import AsyncUsage
from memwarden.api.warden import AsyncWarden
from memwarden.conversation.chat import AsyncChat
from memwarden.conversation.turn import AsyncTurn
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.backend import AsyncBackend
from memwarden.tiers.stores import AsyncGlobalMemoryStore, AsyncProjectMemoryStore, AsyncTaskMemoryStore, AsyncTierStore
from memwarden.tiers.tiers import AsyncTiers

ROOT = Path(__file__).parents[1]
HEAVY = (*"fastapi numpy pydantic structlog tokenizers safetensors wordllama yaml rich typer sqlite3 psycopg".split(),)
FRAMEWORKS = (
    *"ag2 agent_framework agents agno anthropic claude_agent_sdk crewai google httpx2 langchain".split(),
    *"langchain_core langgraph litellm llama_index mem0 openai pydantic_ai strands".split(),
)
MOST_PACKAGES = 48
TIERS = [
    (AsyncTierStore, TierStore),
    (AsyncTaskMemoryStore, TaskMemoryStore),
    (AsyncProjectMemoryStore, ProjectMemoryStore),
    (AsyncGlobalMemoryStore, GlobalMemoryStore),
    (AsyncContextAssembler, ContextAssembler),
    (AsyncSessions, Sessions),
    (AsyncReview, Review),
    (AsyncJournal, Journal),
    (AsyncConsent, Consents),
    (AsyncUsage, Usage),
    (AsyncTurn, Turn),
    (AsyncChat, Chat),
    (AsyncTiers, Tiers),
]
MOST_MEGABYTES = 300

# Prints which packages are loaded and which socket events happened; the code under test stands where {code} is.
WATCHED = """
import json, sys
events = []
sys.addaudithook(lambda event, given: events.append(event) if event.startswith("socket.") else None)
try:
    {code}
except SystemExit as left:
    assert not left.code, left.code
loaded = sorted({{name.partition(".")[0] for name in sys.modules}})
print(json.dumps({{"loaded": loaded, "events": events}}), file=sys.stderr)
"""


def watch(code: str) -> dict[str, list[str]]:
    """Run code in a fresh Python and tell what it loaded and which socket events it raised."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(code=code)], capture_output=True, text=True, check=True, timeout=600
    )
    answer: dict[str, list[str]] = json.loads(done.stderr.splitlines()[-1])
    return answer


def test_importing_is_light_and_opens_no_socket() -> None:
    seen = watch("import memwarden")
    assert not {*HEAVY, *FRAMEWORKS} & set(seen["loaded"])
    assert seen["events"] == []


def test_calls_of_mem0_and_the_catalogue_need_no_framework() -> None:
    seen = watch("import memwarden.compat.mem0, memwarden.surfaces.integrations.catalogue")
    assert not set(FRAMEWORKS) & set(seen["loaded"])


def test_help_loads_no_command() -> None:
    seen = watch("from memwarden.surfaces.cli.main import main; main(['--help'])")
    assert not (set(HEAVY) - {"typer"}) & set(seen["loaded"])
    assert seen["events"] == []


def test_keys_are_managed_without_a_web_framework() -> None:
    seen = watch("import memwarden.surfaces.http.keys")
    assert not {"fastapi", "pydantic", "uvicorn"} & set(seen["loaded"])


def test_the_whole_demo_reaches_no_network(tmp_path: Path) -> None:
    seen = watch(f"from memwarden.surfaces.cli.main import main; main(['demo', '--db', 'sqlite:///{tmp_path}/d.db'])")
    # asyncio wakes its own loop through a pair of sockets of this process; that pair is bound to nothing.
    assert set(seen["events"]) <= {"socket.__new__"}


def test_the_public_surface_is_short_and_lazy() -> None:
    seen = watch("import memwarden; print(memwarden.__version__)")
    assert "asyncio" not in seen["loaded"]
    assert len(memwarden.__all__) <= 40
    assert all(getattr(memwarden, name) is not None and name in dir(memwarden) for name in memwarden.__all__)


def test_type_checkers_see_the_public_names_where_they_are_found() -> None:
    tree = ast.parse(Path(memwarden.__file__).read_text("utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "importlib", "typing", "memwarden")
        for alias in node.names
    }
    assert seen == {name: f"memwarden.{module}" for name, module in memwarden.LAZY_NAMES.items()}
    assert set(memwarden.__all__) - {"__version__"} <= set(seen)


def public_functions(cls: type) -> dict[str, Callable[..., Any]]:
    """The functions of a class that users call, class methods too."""
    found: dict[str, Callable[..., Any]] = {}
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        function = value.__func__ if isinstance(value, classmethod) else value
        if not name.startswith("_") and inspect.isfunction(function):
            found[name] = function
    return found


def parameters(function: Callable[..., Any]) -> list[tuple[str, object, object]]:
    """Names, kinds and defaults, without self."""
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in list(inspect.signature(function).parameters.values())[1:]
    ]


@pytest.mark.parametrize(
    ("calling", "blocking"), [(AsyncScope, BoundScope), (AsyncWarden, Warden), (AsyncBackend, Backend), *TIERS]
)
def test_every_async_method_has_its_blocking_twin(calling: type, blocking: type) -> None:
    ours, twins = public_functions(calling), public_functions(blocking)
    assert set(ours) - {"start"} == set(twins)  # start is what opening a blocking warden does
    for name, twin in twins.items():
        assert parameters(twin) == parameters(ours[name]), name
        assert inspect.getdoc(twin), name


async def test_every_public_name_has_its_blocking_twin() -> None:
    """Attributes and properties too, which only an object shows."""
    with Warden.open("memory://", config={"embedder": "none"}) as blocking:
        async with AsyncWarden.open("memory://", config={"embedder": "none"}) as calling:
            pairs: list[tuple[object, object]] = [
                (calling, blocking),
                (calling.scope(), blocking.scope()),
                (calling.backend("global"), blocking.backend("global")),
                (calling.sessions, blocking.sessions),
                (calling.scope().review, blocking.scope().review),
                (calling.scope().journal, blocking.scope().journal),
                (calling.scope().consent, blocking.scope().consent),
                (calling.scope().usage, blocking.scope().usage),
                (calling.tiers, blocking.tiers),
                (calling.tiers.task("k"), blocking.tiers.task("k")),
                (calling.tiers.project(), blocking.tiers.project()),
                (calling.tiers.global_store(), blocking.tiers.global_store()),
                (calling.tiers.assembler(), blocking.tiers.assembler()),
            ]
            for ours, twin in pairs:
                assert public_names(twin) == public_names(ours) - {"start"}


def public_names(something: object) -> set[str]:
    return {name for name in dir(something) if not name.startswith("_")}


@pytest.mark.parametrize(("calling", "blocking"), [(AsyncScope, BoundScope), (AsyncBackend, Backend), *TIERS[:-1]])
def test_blocking_verbs_are_documented_as_the_async_ones(calling: type, blocking: type) -> None:
    for name, function in public_functions(calling).items():
        assert inspect.getdoc(getattr(blocking, name)) == inspect.getdoc(function)


def base_packages() -> list[str]:
    """What `pip install memwarden` installs on this platform, out of the lock file."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    needs = {package["name"]: package.get("dependencies", []) for package in packages}
    extras = {package["name"]: package.get("optional-dependencies", {}) for package in packages}
    found: set[str] = set()
    waiting = [{"name": "memwarden"}]
    while waiting:
        item = waiting.pop()
        wanted = [*needs[item["name"]]] if item["name"] not in found else []
        wanted += [more for extra in item.get("extra", ()) for more in extras[item["name"]].get(extra, ())]
        found.add(item["name"])
        waiting += [more for more in wanted if more["name"] not in found and applies(more.get("marker"))]
    return sorted(found)


def applies(marker: str | None) -> bool:
    return marker is None or Marker(marker).evaluate()


def test_the_base_install_has_few_packages() -> None:
    names = base_packages()
    assert {"numpy", "tokenizers", "wordllama"} <= set(names)
    assert len(names) <= MOST_PACKAGES, names


def test_the_base_install_is_small() -> None:
    """The folders that the base packages take in this environment."""
    from importlib.metadata import PackageNotFoundError, distribution

    total = 0
    for name in base_packages():
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is in the lock file for {platform.system()}, but not installed; run make setup")
        paths = [Path(str(file.locate())) for file in files if not str(file).endswith(".pyc")]
        total += sum(path.stat().st_size for path in paths if path.is_file())
    assert total / 1e6 <= MOST_MEGABYTES


@pytest.mark.slow
def test_a_real_install_is_small(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    site = next((tmp_path / "venv/lib").glob("python*/site-packages"))
    before = megabytes(site)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", str(ROOT)], check=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], check=True, capture_output=True, text=True
    ).stdout
    # A new environment holds pip, and before Python 3.12 setuptools.
    assert len({each["name"] for each in json.loads(listed)} - {"pip", "setuptools"}) <= MOST_PACKAGES
    assert megabytes(site) - before <= MOST_MEGABYTES
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [tmp_path / "venv/bin/memwarden", "demo", "--json"], check=True, stdout=subprocess.DEVNULL, env=environment
    )


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def test_modules_have_plain_names() -> None:
    vague = re.compile(r"(core|engine|service|manager|helpers?|utils?|common|handlers?|impl|v\d+)")
    assert not [path for path in (ROOT / "src").rglob("*.py") if vague.fullmatch(path.stem)]
