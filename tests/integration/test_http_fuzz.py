"""Generated calls of every operation, with keys of each kind: the server never fails and answers as it declares."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memwarden import AsyncWarden
from memwarden.surfaces.http.keys import KeyRing
from server_process import ServerProcess

# Some rules stand in no schema, such as "query or queries": what fits the schema may still be refused with 422.
EXCLUDED = "positive_data_acceptance"
ALL = ("read", "write", "decide", "operate")
STREAM = """
[[operations]]
include-path = "/v1/changes"
parameters = { "query.seconds" = 0 }
"""
"""The stream of changes ends when the caller does, or after a while that it names."""
KEYS = {"any": {"operations": ALL}, "reader": {"operations": ["read"]}, "ana": {"user": "ana", "agent": "planner"}}


async def make_keys(url: str) -> dict[str, str]:
    async with AsyncWarden.open(url, config={"embedder": "wordllama"}) as warden:
        ring = KeyRing(warden.store)
        made = {name: await ring.create(**grant) for name, grant in KEYS.items()}  # type: ignore[arg-type]
    return {name: key.text for name, key in made.items()} | {"none": "mw_none"}


def generate(url: str, key: str, folder: Path, *options: str) -> str:
    """Call every operation with generated data; return the report. Fails the test where a check fails."""
    (folder / "schemathesis.toml").write_text(STREAM, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", "--checks", "all"]
    command += ["--exclude-checks", EXCLUDED, "--header", f"Authorization: Bearer {key}", "--seed", "20", "--no-color"]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [*command, *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=3_000, check=False
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    return done.stdout


def count_operations() -> int:
    document = json.loads((Path(__file__).parents[2] / "docs/reference/openapi.json").read_text("utf-8"))
    return sum(len(methods) for methods in document["paths"].values())


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'fuzz.db'}"


async def test_generated_calls_with_keys_of_each_kind(url: str, tmp_path: Path) -> None:
    keys = await make_keys(url)
    with ServerProcess(url, tmp_path, "--rate", "off", "--embedder", "wordllama") as server:
        report = generate(server.url, keys["any"], tmp_path, "--phases", "fuzzing,stateful", "--max-examples", "2")
        tested = re.search(r"Tested: (\d+)", report)
        assert tested is not None
        assert int(tested[1]) == count_operations()
    assert '"status": 5' not in server.log.read_text("utf-8")


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["any", "reader", "ana", "none"])
async def test_many_generated_calls(kind: str, url: str, tmp_path: Path) -> None:
    keys = await make_keys(url)
    with ServerProcess(url, tmp_path, "--rate", "off", "--embedder", "wordllama") as server:
        generate(server.url, keys[kind], tmp_path, "--max-examples", "100")
    assert '"status": 5' not in server.log.read_text("utf-8")
