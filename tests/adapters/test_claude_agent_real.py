"""The Claude Agent SDK's own suite for session stores. Run by ``make adapters``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk")

from claude_agent_sdk.testing import run_session_store_conformance

from memwarden import MemwardenSessionStore, Warden


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
async def test_the_suite_of_the_sdk_passes(tmp_path: Path, engine: str) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}" if engine == "sqlite" else "memory://"
    users = iter(range(1_000))
    with Warden.open(url, config={"embedder": "none"}) as warden:

        def make_store() -> Any:
            return MemwardenSessionStore(warden.scope(user=f"user{next(users)}"))

        await run_session_store_conformance(make_store)
