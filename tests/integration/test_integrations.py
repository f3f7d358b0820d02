"""The catalogue of adapters names every adapter, truly."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import memwarden
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.integrations.catalogue import ADAPTERS, Adapter

ROOT = Path(__file__).parents[2]
HERE = ROOT / "src/memwarden"


def test_every_adapter_is_in_the_catalogue() -> None:
    folders = [*(HERE / "surfaces/integrations").iterdir(), *(HERE / "compat").iterdir()]
    there = {folder.name for folder in folders if (folder / "__init__.py").is_file()}
    offers = {(adapter.module, name) for adapter in ADAPTERS for name in adapter.offers}
    # A framework that is not installed cannot be imported: its adapter is known by the lazy names.
    modules = {memwarden.LAZY_NAMES[name] if module == "memwarden" else module for module, name in offers}
    assert {module.split(".")[-1] for module in modules} == there
    assert all(hasattr(import_module(module), name) for module, name in offers if module != "memwarden")


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.framework)
def test_an_adapter_has_a_page_that_says_how_to_install_it(adapter: Adapter) -> None:
    page = (ROOT / "docs/howto" / adapter.page).read_text("utf-8")
    assert f"pip install {adapter.install}" in page
    assert all(name in page for name in adapter.offers)
    assert not adapter.packages or re.search(r"\bis \d+ packages,\s\d+ MB\b", page), "how large it is"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    extra = adapter.install.strip("'.[]")
    if "[" in adapter.install:
        assert {line.split(">")[0] for line in extras[extra]} == set(adapter.packages)


def test_the_command_names_what_to_install(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Adapter("Nothing", "memwarden", ("Warden",), ("no-such-package", "numpy"), "'.[nothing]'", "none.md")
    assert lacking.missing() == ("no-such-package",)
    monkeypatch.setattr("memwarden.surfaces.cli.commands.integrations.ADAPTERS", (lacking, ADAPTERS[-1]))
    assert run(["integrations"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Nothing: pip install '.[nothing]'",
        "  from memwarden import Warden",
        "  docs/howto/none.md",
        "mem0: installed",
        "  from memwarden.compat.mem0 import Memory, AsyncMemory",
        "  docs/howto/use-mem0-calls.md",
    ]
