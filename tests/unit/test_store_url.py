"""From a URL to a store; and a URL as it may be shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memwarden import Warden
from memwarden.errors import InvalidConfig
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.url import store_at, without_login


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("memory://", MemoryStore),
        ("sqlite:///a.db", SqliteStore),
        ("sqlite:////tmp/a.db", SqliteStore),
        ("postgresql://me:secret@host:5433/base?sslmode=require", PostgresStore),
        ("postgres:///base", PostgresStore),
    ],
)
def test_each_engine_has_its_url(url: str, kind: type) -> None:
    assert type(store_at(url)) is kind


def test_where_a_postgres_store_is_tells_no_login() -> None:
    store = PostgresStore("postgresql://me:secret@host:5433/base?sslmode=require")
    assert store.place == "postgresql://host:5433/base"


@pytest.mark.parametrize(
    "url", ["", "oracle://me:secret@host/x", "sqlite://a.db", "sqlite:///", "postgresql:me", "a.db"]
)
def test_what_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(InvalidConfig, match="names no store") as refused:
        store_at(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/base", "postgresql://...@host/base"),
        ("postgresql://me:p@ss:word@host/base", "postgresql://...@host/base"),
        ("postgresql://host/base", "postgresql://host/base"),
        ("sqlite:////home/me@work/a.db", "sqlite:////home/me@work/a.db"),
        ("memory://", "memory://"),
    ],
)
def test_a_url_is_shown_without_its_login(url: str, shown: str) -> None:
    assert without_login(url) == shown


def test_the_command_line_shows_no_password(tmp_path: Path) -> None:
    for command in ("show", "path"):
        done = subprocess.run(
            [sys.executable, "-m", "memwarden", "config", command, "--json", "--db", "postgresql://me:secret@host/base"],
            capture_output=True, text=True, check=True, cwd=tmp_path,
        )  # fmt: skip
        assert json.loads(done.stdout)["db"] == "postgresql://...@host/base"


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [module for module in sys.modules if module.startswith("memwarden.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidConfig, match="memwarden\\[postgres\\]"):
        store_at("postgresql:///x")


@pytest.mark.parametrize("url", ["", "  "])
def test_an_empty_url_is_no_word_for_the_default(url: str) -> None:
    with pytest.raises(InvalidConfig, match="is empty"):
        Warden.open(url)
