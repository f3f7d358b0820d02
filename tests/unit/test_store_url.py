"""From a URL to a store; and a URL as it may be shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import run_here
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


def test_the_command_line_shows_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("show", "path"):
        done = run_here("config", command, "--json", "--db", "postgresql://me:secret@host/base")
        assert json.loads(done.stdout)["db"] == "postgresql://...@host/base"


@pytest.mark.parametrize("url", ["", "  "])
def test_an_empty_url_is_no_word_for_the_default(url: str) -> None:
    with pytest.raises(InvalidConfig, match="is empty"):
        Warden.open(url)


@pytest.mark.parametrize(
    ("package", "extra", "opens"),
    [
        ("psycopg", "postgres", lambda: Warden.open("postgresql://localhost/x")),
        ("httpx2", "client", lambda: Warden.open("http://127.0.0.1:1", key="k")),
        ("openai", "openai", lambda: Warden.open("memory://", config={"chat_model": "m"})),
    ],
)
def test_a_missing_extra_is_named_with_both_ways_to_install_it(
    monkeypatch: pytest.MonkeyPatch, package: str, extra: str, opens: Callable[[], object]
) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("memwarden.stores.postgres", "memwarden.models.openai"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidConfig) as caught:
        opens()
    assert f"pip install '.[{extra}]'" in str(caught.value)
    assert f"pip install 'memwarden[{extra}]'" in str(caught.value)


def test_a_json_store_is_not_served_and_moves_to_a_file_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here("add", "Ana lives in Leipzig.", "--db", "json:///told").returncode == 0
    refused = run_here("serve", "--db", "json:///told", "--port", "0")
    assert refused.returncode == 2
    assert "use memory://, SQLite or PostgreSQL" in refused.stderr
    assert run_here("migrate", "--from", "json:///told", "--to", "sqlite:///told.db").returncode == 0
    assert "Leipzig" in run_here("query", "Where does Ana live?", "--db", "sqlite:///told.db").stdout
