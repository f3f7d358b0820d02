"""Nothing that a finished task held is in the bytes of a store, once it was cleared and an erasure rewrote these."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_erase import CONFIG, held_in_files, held_in_tables

from memwarden import AsyncWarden

WORDS = ("quokkareason", "quokkaoutput")


@pytest.mark.parametrize("engine", ["sqlite", "json", "postgres"])
async def test_no_byte_of_a_finished_task_stays(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = {"sqlite": f"sqlite:///{tmp_path / 'm.db'}", "json": f"json:///{tmp_path / 'm'}"}.get(engine)
    url = url or request.getfixturevalue("new_database")()

    def held() -> set[str]:
        if engine == "postgres":
            return held_in_tables(url, WORDS)
        return held_in_files(list(tmp_path.rglob("*")), WORDS)

    async with AsyncWarden.open(url, config=CONFIG) as warden:
        task = warden.tiers.task("t1")
        await task.add_reasoning("The lamp is Quokkareason.", "draft")
        await task.add_tool_output("look", {"found": "Quokkaoutput"})
        await warden.tiers.project("p1").add_decision("Use SQLite.")
        await warden.scope(user="ana").remember("Ana keeps bees.")
        assert held() >= {"quokkareason", "quokkaoutput"}
        await warden.tiers.assembler().cleanup_task("t1")
        await warden.erase(user="ana", confirm="ana")
        assert held() == set()
        assert await warden.tiers.project("p1").count() == 1
    assert held() == set()
