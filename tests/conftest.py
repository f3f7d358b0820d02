"""Fixtures that more than one test file uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwarden import Warden


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def warden(url: str) -> Iterator[Warden]:
    """An open warden with default settings on an empty store of each kind."""
    with Warden.open(url, config={}) as opened:
        yield opened
